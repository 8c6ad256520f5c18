package main

// #include <stdio.h>
// #include <stdlib.h>
// #include "dat/calls.h"
//
// static void dat_print(const char *text) { fputs(text, stdout); fflush(stdout); }
import "C"

import (
	"fmt"
	"os"
	"unsafe"

	"lapi/core/dat"
	"lapi/core/dat/codes"
)

// counterNames are those of the counters of each kind of handle, in order.
func counterNames(o dat.Object) []string {
	switch o.(type) {
	case *dat.IA:
		return dat.IACounters
	case *dat.EP:
		return dat.EPCounters
	case *dat.EVD:
		return dat.EVDCounters
	}
	return nil
}

// counted finds the object of a counters call, and which counter is meant; all: every one.
func counted(c *datCall) (o dat.Object, names []string, r codes.Return) {
	o, r = dat.Find[dat.Object](udapl.lib, c.h(0), codes.InvalidHandle1)
	if r != codes.Success {
		return nil, nil, r
	}
	if names = counterNames(o); names == nil {
		return nil, nil, codes.BadHandle(codes.InvalidHandle1)
	}
	if c.i(1) < 0 || c.i(1) > len(names) {
		return nil, nil, codes.Arg(2)
	}
	return o, names, codes.Success
}

func queryCounters(c *datCall) codes.Return {
	o, names, r := counted(c)
	switch {
	case r != codes.Success:
		return r
	case c.needs(2):
		return codes.Arg(3)
	}
	at, n := uint64(c.i(1)), uint64(1)
	if c.i(1) == len(names) {
		at, n = 0, uint64(len(names))
	}
	if !c.writable(2, 8*at, 8*n) {
		return codes.Arg(3)
	}
	values := dat.Counters(o, c.i(1), c.u(3) != 0)
	to := list[uint64](c, 2, max(len(names), c.i(1)+1))
	if c.i(1) == len(names) {
		copy(to, values)
	} else {
		to[c.i(1)] = values[c.i(1)]
	}
	return codes.Success
}

func printCounters(c *datCall) codes.Return {
	o, names, r := counted(c)
	if r != codes.Success {
		return r
	}
	values := dat.Counters(o, c.i(1), c.u(2) != 0)
	hostname, _ := os.Hostname()
	for i, name := range names {
		if c.i(1) == len(names) || c.i(1) == i {
			line := C.CString(fmt.Sprintf("%s:%d:\t%s = %d\n", hostname, os.Getpid(), name,
				values[i]))
			C.dat_print(line)
			C.free(unsafe.Pointer(line))
		}
	}
	return codes.Success
}
