package lapi

import (
	"bytes"
	"fmt"
	"math"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/host"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
)

// simKind is what an operation of a simulated job does.
type simKind uint8

const (
	simPut simKind = iota
	simGet
	simAm
	simRmw
)

func (k simKind) String() string { return [...]string{"put", "get", "active message", "rmw"}[k] }

// simOp is one operation.
type simOp struct {
	kind           simKind
	id, from, to   int
	phase          int
	data, dst      []byte // what is moved, and where to
	content        uint64
	org, tgt, cmpl []byte // counters, 4 bytes each
	prev           []byte // of a read-modify-write
	uhdr           []byte
	inline         bool
	refusals       int
	headers, ran   int // calls of the handlers
	free           bool
}

func (o *simOp) String() string {
	return fmt.Sprintf("%v %d from %d to %d of %d bytes: counters %d %d %d, header handler %d, completion handler %d",
		o.kind, o.id, o.from, o.to, len(o.data), counterOf(o.org), counterOf(o.tgt),
		counterOf(o.cmpl), o.headers, o.ran)
}

// Addresses of handlers.
const (
	simHeader     = 0x1000
	simCompletion = 0x2000
)

// uint64Word is a word that all tasks add to.
type uint64Word struct {
	b    []byte
	adds []bool // by previous value: it was seen
}

func (j *simJob) alloc(n int) []byte {
	b := j.arena[j.used : j.used+n : j.used+n]
	j.used += (n + 7) &^ 7
	return b
}

func (j *simJob) makeWords() {
	for range j.tasks {
		j.words = append(j.words, uint64Word{b: j.alloc(8)})
	}
}

func counterOf(b []byte) uint32 { return wire.Order.Uint32(b) }

// content fills b with what belongs to seed.
func content(b []byte, seed uint64) {
	for i := 0; i+8 <= len(b); i += 8 {
		wire.Order.PutUint64(b[i:], (seed+uint64(i))*0x9e3779b97f4a7c15)
	}
	for i := len(b) &^ 7; i < len(b); i++ {
		b[i] = byte(seed) ^ byte(i)
	}
}

func hasContent(b []byte, seed uint64) bool {
	for i := 0; i+8 <= len(b); i += 8 {
		if wire.Order.Uint64(b[i:]) != (seed+uint64(i))*0x9e3779b97f4a7c15 {
			return false
		}
	}
	for i := len(b) &^ 7; i < len(b); i++ {
		if b[i] != byte(seed)^byte(i) {
			return false
		}
	}
	return true
}

// drawLength: half have up to 100 bytes, one of a hundred up to 256 KiB.
func (j *simJob) drawLength() int {
	switch j.random.IntN(100) {
	case 0:
		return j.random.IntN(256<<10 + 1)
	case 1:
		return 0
	}
	return int(math.Pow(10000, j.random.Float64()))
}

// user issues an operation, or a fence, or takes part in the next collective.
func (k *simTask) user() {
	j := k.j
	switch {
	case k.phase == simPhases:
		k.begin(waitsForTerm, k.TermBegin)
	case k.issued >= j.quota && k.phase%2 == 0:
		k.begin(waitsForGfence, k.GfenceBegin)
	case k.issued >= j.quota:
		k.table = j.alloc(8 * len(j.tasks))
		k.begin(waitsForTable, func() (uint64, codes.Code) {
			return k.AddressInitBegin(uint64(1000*k.phase+k.me), memory.AddrOf(k.table), 8)
		})
	case j.random.Float64() < j.sc.Flush/4:
		k.before = append(k.before[:0], k.open...)
		k.begin(waitsForFence, k.FenceBegin)
	default:
		for range 1 + j.random.IntN(min(j.sc.Burst, 16)) {
			if k.issued < j.quota {
				k.issue()
			}
		}
	}
}

func (k *simTask) begin(waits waiting, call func() (uint64, codes.Code)) {
	var code codes.Code
	if k.ticket, code = call(); code != codes.Success {
		k.j.fail("task %d: wait %d: %s", k.me, waits, codes.Name(code))
		return
	}
	k.waits = waits
}

// issue begins an operation.
func (k *simTask) issue() {
	j := k.j
	to := j.sc.Target(j.random, k.me)
	if j.random.IntN(20) == 0 {
		to = k.me
	}
	o := &simOp{kind: simKind(j.random.IntN(4)), id: len(j.ops), from: k.me, to: to, phase: k.phase,
		inline: j.random.IntN(2) == 0}
	o.org, o.tgt, o.cmpl = j.alloc(4), j.alloc(4), j.alloc(4)
	j.ops = append(j.ops, o)
	k.issued++
	k.open = append(k.open, o)
	org, tgt, cmpl := memory.AddrOf(o.org), memory.AddrOf(o.tgt), memory.AddrOf(o.cmpl)
	var code codes.Code
	if o.kind == simRmw {
		one := j.alloc(8)
		wire.Order.PutUint64(one, 1)
		o.prev = j.alloc(8)
		code = k.Rmw(8, wire.FetchAndAdd, uint32(to), memory.AddrOf(j.words[to].b),
			memory.AddrOf(one), memory.AddrOf(o.prev), org)
		wire.Order.PutUint64(one, 1<<40) // it is the user's again
	} else {
		n := j.drawLength()
		o.data, o.dst, o.content = j.alloc(n), j.alloc(n), j.random.Uint64()
		content(o.data, o.content)
		code = k.move(o, tgt, org, cmpl)
	}
	if code != codes.Success {
		j.fail("%v: %s", o, codes.Name(code))
	}
}

// move issues an operation with data.
func (k *simTask) move(o *simOp, tgt, org, cmpl transport.Addr) codes.Code {
	data, dst, n := userAddr(o.data), userAddr(o.dst), uint64(len(o.data))
	switch o.kind {
	case simPut:
		return k.Put(uint32(o.to), n, dst, data, tgt, org, cmpl)
	case simGet:
		return k.Get(uint32(o.to), n, data, dst, tgt, org)
	}
	o.uhdr = k.j.alloc(4 * (2 + k.j.random.IntN(20)))
	if k.j.random.IntN(50) == 0 {
		o.uhdr = k.j.alloc(wire.MaxUhdrSize)
	}
	content(o.uhdr, o.content+1)
	wire.Order.PutUint32(o.uhdr, uint32(o.id))
	return k.Amsend(uint32(o.to), simHeader, memory.AddrOf(o.uhdr), uint32(len(o.uhdr)), data, n,
		tgt, org, cmpl)
}

func userAddr(b []byte) transport.Addr {
	if len(b) == 0 {
		return 0
	}
	return memory.AddrOf(b)
}

// setSimHandlers sets the user's handlers of a task.
func (k *simTask) setSimHandlers() {
	j := k.j
	k.headers[simHeader] = func(c *headerCall, r *HeaderResult) {
		id := wire.Order.Uint32(c.uhdr)
		if int(id) >= len(j.ops) {
			j.fail("task %d: a user header that nobody sent", k.me)
			return
		}
		o := j.ops[id]
		if o.to != k.me || int(c.Src) != o.from || c.MsgLen != uint64(len(o.data)) ||
			!bytes.Equal(c.uhdr, o.uhdr) {
			j.fail("%v: its header handler runs in task %d, for %d bytes from %d",
				o, k.me, c.MsgLen, c.Src)
		}
		if o.refusals < 3 && j.random.Float64() < j.sc.Refuse {
			o.refusals++
			r.CtlFlags = host.CtlDrop
			return
		}
		if o.headers++; o.headers > 1 {
			j.fail("%v: its header handler runs again", o)
		}
		r.Buffer, r.Completion, r.Info = userAddr(o.dst), simCompletion, transport.Addr(id)
		if o.inline {
			r.RetFlags = host.RetSendReply
		}
	}
	k.handlers[simCompletion] = func(info transport.Addr) {
		o := j.ops[info]
		if o.ran++; o.ran > 1 || o.to != k.me || !hasContent(o.dst, o.content) {
			j.fail("%v: its completion handler runs in task %d before the data is there, or again",
				o, k.me)
		}
	}
}

// look sees what is complete in task k, and goes on when what it waits for is.
func (k *simTask) look() {
	j := k.j
	keep := k.open[:0]
	for _, o := range k.open {
		if k.complete(o) {
			continue
		}
		keep = append(keep, o)
	}
	clear(k.open[len(keep):])
	k.open = keep
	if k.waits == waitsForNothing || k.waits == hasLeft || k.finished || !k.tickets.Done(k.ticket) {
		return
	}
	if code := k.TicketResult(k.ticket); code != codes.Success {
		j.fail("task %d: wait %d: %s", k.me, k.waits, codes.Name(code))
	}
	switch k.waits {
	case waitsForFence:
		for _, o := range k.before {
			k.checkThere(o, "a fence")
		}
	case waitsForGfence, waitsForTable:
		k.collectiveDone()
	case waitsForTerm:
		k.finished = true
		return
	}
	k.waits = waitsForNothing
}

func (k *simTask) collectiveDone() {
	j := k.j
	if k.waits == waitsForTable {
		for i := range j.tasks {
			if v := wire.Order.Uint64(k.table[8*i:]); v != uint64(1000*k.phase+i) {
				j.fail("task %d: LAPI_Address_init gives %d for task %d, in phase %d",
					k.me, v, i, k.phase)
			}
		}
	} else {
		for _, o := range j.ops {
			if o.phase <= k.phase { // every task has issued these before it called LAPI_Gfence
				k.checkThere(o, "LAPI_Gfence")
			}
		}
	}
	k.phase++
	k.issued = 0
}

// checkThere: a fence is done, so the data of o, issued before, is where it belongs.
func (k *simTask) checkThere(o *simOp, after string) {
	there := hasContent(o.dst, o.content)
	switch o.kind {
	case simRmw:
		there = counterOf(o.org) == 1
	case simAm:
		there = o.headers == 1
	}
	if !there {
		k.j.fail("task %d: %s is done before %v", k.me, after, o)
	}
}

// complete looks at the counters of o, an operation of k.
func (k *simTask) complete(o *simOp) bool {
	j := k.j
	org, cmpl := counterOf(o.org), counterOf(o.cmpl)
	if org > 1 || cmpl > 1 || counterOf(o.tgt) > 1 {
		j.fail("%v: a counter counts twice", o)
	}
	if org == 0 {
		return false
	}
	switch o.kind {
	case simRmw:
		j.added(o)
		return true
	case simGet:
		if !hasContent(o.dst, o.content) {
			j.fail("%v: not all data is there", o)
		}
		return true
	}
	if !o.free { // from now on the buffer holds something else
		o.free = true
		for i := range o.data {
			o.data[i] = 0xff
		}
	}
	if cmpl == 0 {
		return false
	}
	if !hasContent(o.dst, o.content) || o.kind == simAm && (o.headers != 1 || o.ran != 1) {
		j.fail("%v: complete, and not all is done", o)
	}
	return true
}

// added notes what a read-modify-write found: every value once.
func (j *simJob) added(o *simOp) {
	w := &j.words[o.to]
	v := wire.Order.Uint64(o.prev)
	for uint64(len(w.adds)) <= v && len(w.adds) < len(j.ops) {
		w.adds = append(w.adds, false)
	}
	if v >= uint64(len(w.adds)) || w.adds[v] {
		j.fail("%v: the value before it was %d, which another found too, or nobody can", o, v)
		return
	}
	w.adds[v] = true
}

// checkEnd: everything has happened once, also what its origin has not waited for.
func (j *simJob) checkEnd() {
	var adds [256]uint64
	for _, o := range j.ops {
		tgt := uint32(1)
		if o.kind == simRmw {
			adds[o.to]++
			tgt = 0
		}
		if counterOf(o.org) != 1 || counterOf(o.tgt) != tgt ||
			o.kind != simRmw && !hasContent(o.dst, o.content) {
			j.fail("%v: when all is over", o)
		}
	}
	for i, w := range j.words {
		if got := wire.Order.Uint64(w.b); got != adds[i] {
			j.fail("task %d: %d was added to its word, it holds %d", i, adds[i], got)
		}
	}
}
