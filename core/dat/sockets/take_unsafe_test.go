package sockets

import (
	"unsafe"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/cshim/ctest/evd"
)

// take is dat_evd_dequeue.
func take(e *dat.EVD) (ev dat.Event, r codes.Return) {
	r = codes.Return(evd.Take(uint64(e.Handle()), unsafe.Pointer(&ev)))
	return ev, r
}
