package dat

import (
	"errors"
	"syscall"

	"lapi/core/dat/codes"
)

// refusedBy is the result of a call that the kernel has refused. What it says of no known kind is
// otherwise.
func refusedBy(err error, otherwise codes.Return) codes.Return {
	is := func(list ...syscall.Errno) bool {
		for _, e := range list {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	switch {
	case is(syscall.EMFILE, syscall.ENFILE):
		return codes.InsufficientResources.With(codes.ResourceDevice)
	case is(syscall.ENOMEM, syscall.ENOBUFS, syscall.EAGAIN, syscall.ENOSPC):
		return codes.InsufficientResources.With(codes.ResourceMemory)
	case is(syscall.EACCES, syscall.EPERM):
		return codes.PrivilegesViolation.With(codes.NoSubtype)
	}
	return otherwise
}

// notListening is why a qualifier cannot be listened at.
func notListening(err error) codes.Return {
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EBUSY) {
		return codes.ConnQualInUse.With(codes.NoSubtype)
	}
	return refusedBy(err, codes.InsufficientResources.With(codes.ResourceDevice))
}
