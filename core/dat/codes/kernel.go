package codes

import (
	"errors"
	"syscall"
)

// RefusedBy is the result of a call that the kernel has refused. For an error of no known
// kind it is otherwise.
func RefusedBy(err error, otherwise Return) Return {
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
		return InsufficientResources.With(ResourceDevice)
	case is(syscall.ENOMEM, syscall.ENOBUFS, syscall.EAGAIN, syscall.ENOSPC):
		return InsufficientResources.With(ResourceMemory)
	case is(syscall.EACCES, syscall.EPERM):
		return PrivilegesViolation.With(NoSubtype)
	}
	return otherwise
}

// NotListening is why a qualifier cannot be listened at.
func NotListening(err error) Return {
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EBUSY) {
		return ConnQualInUse.With(NoSubtype)
	}
	return RefusedBy(err, InsufficientResources.With(ResourceDevice))
}

// Unreachable: no way leads to an address.
var Unreachable = InvalidAddress.With(InvalidAddressUnreachable)
