//go:build lapi_inject

package main

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"lapi/invariant"
)

// entries counts the entries into contexts, and those into uDAPL, since LAPI_INJECT is set.
var entries [2]atomic.Int64

// inject breaks an invariant as LAPI_INJECT says: the kind, a colon, at which entry. The kinds are
// index (an index out of range), nil (a nil pointer), goroutine, and throw, a fault that cannot be
// recovered.
func inject(dat bool) {
	value, ok := getenv("LAPI_INJECT")
	if !ok {
		return
	}
	kind, number, _ := strings.Cut(value, ":")
	at, err := strconv.ParseInt(number, 10, 64)
	counter := &entries[0]
	if dat {
		counter = &entries[1]
	}
	if n := counter.Add(1); err != nil || n != at {
		return
	}
	switch kind {
	case "index":
		_ = []int{}[counter.Load()-at]
	case "nil":
		var p *atomic.Int64
		p.Add(1)
	case "throw":
		new(sync.Mutex).Unlock()
	case "goroutine":
		invariant.Go(func() { panic("injected") })
	}
}
