// Package fake is RDMA adapters of one process, joined by a network that fails when a test wants:
// the kernel's own never run out of memory and seldom lose a queue pair. It keeps the rules that
// real ones have, and breaks with a message where their user does not.
//
//	fabric.go   the network: what it does with requests, and its faults
//	device.go   adapter.Adapter
//	memory.go   regions, and what may be read and written
package fake

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/verbs/adapter"
)

const maxInline = 64

// Fabric joins devices. Its fields are set before it is used.
type Fabric struct {
	// Lose is the share of datagrams that are lost.
	Lose float64
	// Delay is the share of datagrams that come late, after others, and Twice of those that come
	// twice.
	Delay, Twice float64
	// Break is the share of requests at which the queue pair fails; half of these have been
	// done.
	Break float64
	// Info of each device, but for its name and GID.
	Info adapter.Info

	mu      sync.Mutex
	random  *rand.Rand
	devices []*Device
	number  uint32 // of the last queue pair or region
	broken  int
	cuts    map[[2]*Device]bool
	late    []func() // datagrams
}

// NewFabric makes a network. What is random follows from the seed.
func NewFabric(seed uint64) *Fabric {
	return &Fabric{random: rand.New(rand.NewPCG(seed, 0)), number: 100,
		cuts: map[[2]*Device]bool{},
		Info: adapter.Info{Port: 1, MTU: 1024, MaxMessage: 1 << 20, MaxInline: maxInline, MaxReads: 4,
			MaxCQE: 1 << 14, MaxReceive: 1 << 12}}
}

// Broken is how many queue pairs failed because of Break.
func (f *Fabric) Broken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// pair is a queue pair.
type pair struct {
	device *Device
	number adapter.QP
	depth  int
	used   int // requests whose place is not free again
	since  int // of these, done without a completion
	ready  bool
	failed bool
	remote adapter.Remote
	queue  []request
}

type request struct {
	adapter.Work
	inline [maxInline]byte // data that was taken at once
}

// peer is the far queue pair, nil if it would not answer.
func (p *pair) peer() *pair {
	for _, d := range p.device.fabric.devices {
		if d.info.GID != p.remote.GID || d.closed {
			continue
		}
		q := d.pairs[adapter.QP(p.remote.QPN)]
		if q != nil && q.ready && !q.failed && q.remote.QPN == uint32(p.number) && !d.down &&
			!p.device.down && !p.device.fabric.cuts[[2]*Device{d, p.device}] {
			return q
		}
	}
	return nil
}

// step does some of the requests that wait.
func (f *Fabric) step() {
	for len(f.late) > 0 && f.random.IntN(20) == 0 {
		i := f.random.IntN(len(f.late))
		bring := f.late[i]
		f.late = slices.Delete(f.late, i, i+1)
		bring()
	}
	for _, d := range f.devices {
		for _, p := range d.order {
			for n := f.random.IntN(8); n > 0 && len(p.queue) > 0 && !p.failed; n-- {
				if !p.perform() {
					break
				}
			}
		}
	}
}

// perform does the first request; false: it must wait.
func (p *pair) perform() bool {
	f, r := p.device.fabric, &p.queue[0]
	if state := p.device.takeState(r); state != adapter.OK {
		p.end(state)
		return false
	}
	state, done := adapter.OK, true
	breaks := f.random.Float64() < f.Break
	if breaks {
		f.broken++
		state = adapter.RetryOver
		done = f.random.IntN(2) == 0
	}
	if done {
		got, wait := p.transfer(r)
		if wait {
			return false
		}
		if got != adapter.OK {
			state = got
		}
	}
	if state != adapter.OK {
		p.end(state)
		return false
	}
	p.since++
	if r.Signaled {
		p.device.complete(adapter.Completion{ID: r.ID, QP: p.number}, p, p.since)
		p.since = 0
	}
	p.queue = slices.Delete(p.queue, 0, 1)
	return true
}

// end makes p fail at its first request.
func (p *pair) end(state adapter.State) {
	p.failed = true
	for i, r := range p.queue {
		if i > 0 {
			state = adapter.Flushed
		}
		p.device.complete(adapter.Completion{ID: r.ID, QP: p.number, State: state}, p, 1)
	}
	p.queue = p.queue[:0]
}

// transfer moves the data of a request; wait: the peer has no buffer now.
func (p *pair) transfer(r *request) (state adapter.State, wait bool) {
	q := p.peer()
	if q == nil {
		return adapter.RetryOver, false
	}
	if r.Op == adapter.Send {
		return p.deliver(q, r)
	}
	if r.N > p.device.info.MaxMessage {
		return adapter.Failed, false
	}
	from, to := p.device, q.device
	local, remote := r.Addr, r.RemoteAddr
	localAccess, remoteAccess := transport.Access(0), transport.AccessWrite
	if r.Op == adapter.Read {
		localAccess, remoteAccess = adapter.LocalWrite, transport.AccessRead
	}
	if !from.allowed(r.LKey, local, r.N, localAccess) {
		return adapter.LocalAccess, false
	}
	if !to.allowed(r.RKey, remote, r.N, remoteAccess) {
		q.end(adapter.Flushed)
		return adapter.RemoteAccess, false
	}
	if r.Op == adapter.Read {
		local, remote = remote, local
	}
	if err := memory.Copy(remote, local, r.N); err != nil {
		panic(fmt.Sprint("registered memory was unmapped: ", err))
	}
	p.device.moved += r.N
	return adapter.OK, false
}

func (p *pair) deliver(q *pair, r *request) (state adapter.State, wait bool) {
	if len(q.device.receives) == 0 {
		q.device.notReady++
		return adapter.OK, true
	}
	data := r.inline[:min(r.N, uint64(len(r.inline)))]
	if !r.Inline && r.N > 0 {
		if !p.device.allowed(r.LKey, r.Addr, r.N, 0) {
			return adapter.LocalAccess, false
		}
		data = memory.Bytes(r.Addr, r.N)
	}
	b := q.device.receives[0]
	q.device.receives = slices.Delete(q.device.receives, 0, 1)
	if len(data) > len(b.data) {
		return adapter.Failed, false
	}
	copy(b.data, data)
	q.device.complete(adapter.Completion{ID: b.id, QP: q.number, N: uint32(len(data))}, nil, 0)
	return adapter.OK, false
}

// datagram brings b to its receiver, now or later, once or twice, or not.
func (f *Fabric) datagram(from *Device, gid adapter.GID, qpn, qkey uint32, b []byte) {
	b = slices.Clone(b)
	bring := func() { f.bring(from, gid, qpn, qkey, b) }
	if f.Twice > 0 && f.random.Float64() < f.Twice {
		f.late = append(f.late, bring)
	}
	if f.Delay > 0 && f.random.Float64() < f.Delay {
		f.late = append(f.late, bring)
		return
	}
	bring()
}

func (f *Fabric) bring(from *Device, gid adapter.GID, qpn, qkey uint32, b []byte) {
	for _, d := range f.devices {
		if d.info.GID != gid || d.closed || d.down || d.deaf || uint32(d.datagrams) != qpn ||
			d.qkey != qkey || f.cuts[[2]*Device{from, d}] || len(d.datagramBuffers) == 0 || f.random.Float64() < f.Lose {
			continue
		}
		buffer := d.datagramBuffers[0]
		d.datagramBuffers = d.datagramBuffers[1:]
		n := copy(buffer.data[adapter.DatagramHead:], b)
		d.complete(adapter.Completion{ID: buffer.id, QP: d.datagrams, Datagram: true,
			N: uint32(adapter.DatagramHead + n)}, nil, 0)
	}
}
