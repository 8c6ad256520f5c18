package main

// #include <stdlib.h>
// #include <stdio.h>
// #include <unistd.h>
// #include "dat/godat.h"
// #include "dat/calls.h"
// #include <dat2/udat.h>
// #include <dat2/dat_registry.h>
// #include <dat2/dat_ib_extensions.h>
import "C"

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unsafe"

	"lapi/core/dat"
	"lapi/core/dat/codes"
	"lapi/core/dat/sockets"
	"lapi/core/job"
	"lapi/core/progress"
	"lapi/core/wireup"
	reductions "lapi/cshim/coll"
	"lapi/cshim/dat/evd"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
	"lapi/transport/self"
	"lapi/transport/shm"
	"lapi/transport/udp"
)

// udapl is the state of uDAPL in this process. All of it is guarded by the lock of its block.
var udapl struct {
	lib   *dat.Library
	words *layout.Progress
	lane  *layout.DatLane // nil: there is none
	block progress.Block
	due   uint32             // of the block: no thread waits for it
	names map[string]*C.char // strings that were given to programs
	files watched
	start time.Time
	turns uint // progress calls
	// it is not entered again (guard.go), and C knows
	broken, closed bool
}

// datHost is the functions of C that the library calls (dat.Host).
type datHost struct{}

func (datHost) Changed() { udapl.block.Changed() }

func (datHost) Message(text string) {
	if level, _ := getenv("MP_INFOLEVEL"); level != "" && level != "0" {
		say("uDAPL: " + text)
	}
}

func datClock() int64 { return int64(time.Since(udapl.start)) + 1 }

func datRandom() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// datTimeout is how long a peer may not respond before it counts as gone, unless LAPI_DAT_TIMEOUT
// is set (seconds).
const datTimeout = 10 * time.Second

// datNoShm: LAPI_USE_SHM says that data between processes of a node goes over UDP.
func datNoShm() bool {
	v, _ := getenv("LAPI_USE_SHM")
	return strings.EqualFold(v, "no")
}

// datLoss drops packets of the data that goes over UDP, as LAPI_UDP_LOSS says; nil: none.
func datLoss() (func([]byte) bool, error) {
	v, ok := getenv("LAPI_UDP_LOSS")
	if !ok {
		return nil, nil
	}
	loss, err := job.ParseLoss(v)
	if err != nil || loss.Percent == 0 {
		return nil, err
	}
	say(fmt.Sprintf("uDAPL: LAPI_UDP_LOSS is set: %v %% of this process's data are lost on purpose",
		loss.Percent))
	return udp.Losing(loss.Percent, loss.Seed, 0), nil
}

// datRoute is the route that LAPI_ROUTE forces.
func datRoute() shm.Route {
	v, _ := getenv("LAPI_ROUTE")
	return shm.RouteNamed(v)
}

// datLane is the fast lane that C and the library share; nil: it is not wanted, or cannot be.
func datLane(lane unsafe.Pointer) *layout.DatLane {
	l := (*layout.DatLane)(lane)
	v, _ := getenv("LAPI_FASTLANE")
	switch {
	case strings.EqualFold(v, "off") || !shm.CanBeFast():
		return nil
	case strings.EqualFold(v, "random"):
		l.Random = uint32(datRandom()) | 1
	}
	return l
}

//export godat_block
func godat_block(block, lane unsafe.Pointer) {
	defer datBroke("godat_block", 0)
	udapl.start = time.Now()
	udapl.words = (*layout.Progress)(block)
	udapl.block = progress.NewBlock(udapl.words, &udapl.due)
	udapl.names = map[string]*C.char{}
	for _, text := range badSettings() {
		datHost{}.Message(text)
	}
	timeout := datTimeout
	if v, ok := getenv("LAPI_DAT_TIMEOUT"); ok {
		if d, err := time.ParseDuration(v + "s"); err == nil && d > 0 {
			timeout = d
		}
	}
	udapl.lane = datLane(lane)
	udapl.lib = dat.New(dat.Config{Host: datHost{}, Random: datRandom, Clock: datClock,
		Timeout: int64(timeout),
		Network: func() (dat.Network, error) {
			drop, err := datLoss()
			if err != nil {
				return nil, err
			}
			return sockets.Open(sockets.Config{Clock: datClock, Timeout: timeout, NoShm: datNoShm(),
				Drop: drop, Route: datRoute()})
		},
		Attention:  func(text string) { say("uDAPL: " + text) },
		Debug:      datDebug(getenv),
		Lane:       udapl.lane,
		Offload:    udapl.lane != nil,
		Adapters:   rdmaAdapters{},
		Kernel:     kernel{},
		Processors: wireup.ProcessorsNumber,
		LongDouble: reductions.LongDoubleBits,
		Interfaces: sockets.Interfaces, LinkErrors: sockets.LinkErrors,
		Self: func() (transport.Link, error) { return self.New(datClock) }})
}

//export godat_adapters
func godat_adapters() (rc C.int) {
	defer datBroke("godat_adapters", 0)
	return C.int(udapl.lib.Adapters())
}

// How long threads wait before they sleep, in turns. Those of a group whose members share
// processors do not spin.
const datSpin, datYield = 100, 100

// verifyTurns is the number of progress calls for one look at the descriptors.
const verifyTurns = 1024

//export godat_begin
func godat_begin() {
	defer datBroke("godat_begin", 0)
	files := append(udapl.lib.Descriptors(), udapl.files.descriptor())
	if err := udapl.block.Open(datSpin, datYield, files); err != nil {
		datHost{}.Message(err.Error())
	}
	udapl.block.Keep(files)
	udapl.block.SetInterrupt(true)
}

//export godat_end
func godat_end() {
	defer datBroke("godat_end", 0)
	udapl.lib.Shut()
	udapl.block.Close()
	udapl.files.close()
}

//export godat_progress
func godat_progress() (flags C.uint32_t) {
	defer datBroke("godat_progress", 0)
	datEntered()
	if udapl.turns++; udapl.turns%verifyTurns == 0 {
		udapl.block.Verify()
	}
	datAwake()
	n := udapl.lib.Progress()
	datEnd()
	if n > 0 {
		flags |= layout.ProgressMade
	}
	return flags
}

// datEnd ends every entry: it wakes threads that wait for a change, and shortens the sleep if
// something is due sooner.
func datEnd() {
	udapl.lib.TellLane()
	spin := datSpin
	if udapl.lib.Crowded() || udapl.lib.Adapted() && !udapl.lib.Near() {
		spin = 0
	}
	udapl.block.SetSpin(spin)
	udapl.block.Publish()
	if udapl.block.Armed() {
		udapl.block.Sooner(udapl.lib.NextTimeout())
	}
}

//export godat_arm
func godat_arm(timeout *C.int64_t) (work C.int) {
	*timeout = brokenSleep
	defer datBroke("godat_arm", 0)
	datEntered()
	memory.Guard()
	udapl.block.Verify()
	datAwake()
	until, ok := udapl.lib.Arm()
	if !ok {
		return 1
	}
	udapl.block.Arm(until)
	left := int64(-1)
	if until != 0 {
		left = max(until-datClock(), 0)
	}
	*timeout = C.int64_t(atMost(left))
	return 0
}

//export godat_disarm
func godat_disarm() {
	defer datBroke("godat_disarm", 0)
	udapl.block.Disarm()
	udapl.lib.Disarm()
}

// datAwake begins every entry that needs links as they are when no thread sleeps: C has woken from
// the sleep for which they were armed, and has not disarmed them.
func datAwake() {
	if l := udapl.lane; l != nil && l.Awake != 0 {
		l.Awake = 0
		godat_disarm()
	}
}

//export godat_ends
func godat_ends() C.int {
	if udapl.broken && !udapl.closed {
		udapl.closed = true
		return 1
	}
	return 0
}

// datCall is a call's arguments, as C has packed them.
type datCall [16]uint64

func (c *datCall) h(i int) dat.Handle { return dat.Handle(c[i]) }
func (c *datCall) i(i int) int        { return int(int32(c[i])) }
func (c *datCall) u(i int) uint32     { return uint32(c[i]) }

// at is argument i as a pointer; nil of 0.
func at[T any](c *datCall, i int) *T {
	p := uintptr(c[i])
	return *(**T)(unsafe.Pointer(&p))
}

// set stores v where argument i points to, if anywhere.
func set[T any](c *datCall, i int, v T) {
	if p := at[T](c, i); p != nil {
		*p = v
	}
}

// list is n elements at argument i.
func list[T any](c *datCall, i, n int) []T {
	if n <= 0 || c[i] == 0 {
		return nil
	}
	return unsafe.Slice(at[T](c, i), n)
}

// readable is list where these elements can be read; else nil. For arguments that datPointers has
// no size of.
func readable[T any](c *datCall, i, n int) []T {
	l := list[T](c, i, n)
	if l == nil || memory.Readable(transport.Addr(c[i]), uint64(n)*uint64(unsafe.Sizeof(l[0]))) != nil {
		return nil
	}
	return l
}

// private is private data of size argument i at argument i+1; ok is false of a size that cannot be.
func (c *datCall) private(i int) (b []byte, ok bool) {
	n := c.i(i)
	if n < 0 || n > 0 && c[i+1] == 0 || n > dat.PrivateMax {
		return nil, false
	}
	return list[byte](c, i+1, n), true
}

func (c *datCall) str(i int) string {
	if c[i] == 0 {
		return ""
	}
	return C.GoString(at[C.char](c, i))
}

// datString is a string for the program, for good.
func datString(s string) *C.char {
	p := udapl.names[s]
	if p == nil {
		p = C.CString(s)
		udapl.names[s] = p
	}
	return p
}

//export godat_call
func godat_call(number C.int, arguments *C.uint64_t) (result C.uint32_t) {
	result = C.uint32_t(codes.InternalError.With(0)) // if it does not get to its end
	defer datBroke("godat_call", number)
	datEntered()
	if number == C.DAT_CALL_ia_close {
		udapl.block.Verify()
	}
	memory.Guard()
	datAwake()
	c := (*datCall)(unsafe.Pointer(arguments))
	r := c.pointers(datPointers[number])
	if r == codes.Success {
		r = datCalls[number](c)
	}
	if !evd.Agents() && udapl.lib.Adapters() > 0 && !udapl.broken {
		udapl.lib.Push()
	}
	datEnd()
	return C.uint32_t(r)
}

// addrOf reads a sockaddr.
func (c *datCall) addrOf(i int) (netip.Addr, bool) {
	family := readable[uint16](c, i, 1)
	if family == nil {
		return netip.Addr{}, false
	}
	return dat.Addr(readable[byte](c, i, dat.SockaddrSize(family[0])))
}
