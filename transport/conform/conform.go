// Package conform is the suite that every link must pass. A link's own tests call Run with a
// Factory that makes links of one process; sizes and abilities come from the link's Limits. A test
// of a capability that the link lacks is skipped, and the skip names the capability.
package conform

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/emul"
	"lapi/transport/memory"
)

// The message kinds that a Factory gives to emulators; the suite uses the lower ones itself.
const (
	EmulRequest = transport.MaxMsgID - 1
	EmulReply   = transport.MaxMsgID
)

// Node is one link of a Net.
type Node struct {
	Link transport.Link
	Emul *emul.Emulator // atomics, puts and gets for a link that lacks them; may be nil
}

// Net is a set of links in one process. Node i is endpoint i to all nodes, itself included if the
// links can do that.
type Net struct {
	Nodes []Node
	// Self: a node is connected to itself. A Net of one node must be.
	Self bool
	// Step, if not nil, makes progress beyond the Progress of every node, which the suite
	// calls: for example it moves a simulated clock.
	Step func()
	// MovesLeft: a transport.Mover may leave any operation to its owner, by ErrNotSupported: no adapter
	// leads to the peer now.
	MovesLeft bool
}

// Factory makes Nets.
type Factory struct {
	// New makes n connected links. It leaves them open; the suite closes them. It fails t if it
	// cannot.
	New func(t *testing.T, n int) *Net
	// MaxNodes is how many nodes a Net can have; 1 for a link to oneself.
	MaxNodes int
}

// hang only guards against a hang; nothing is asserted about time.
const hang = 60 * time.Second

// ConnectAll connects each of those links, whose tasks are 0, 1 and so on, with all others.
func ConnectAll[L transport.Link](t testing.TB, links []L) {
	t.Helper()
	for i, l := range links {
		for j, peer := range links {
			if i == j {
				continue
			}
			if err := l.Connect(transport.Endpoint(j), peer.Address()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Run runs the suite.
func Run(t *testing.T, f Factory) {
	for _, test := range []struct {
		name  string
		nodes int
		run   func(*run)
	}{
		{"Limits", 2, testLimits},
		{"SendSizes", 2, testSendSizes},
		{"SendOverLimits", 2, testSendOverLimits},
		{"SendCopies", 2, testSendCopies},
		{"SendFault", 2, testSendFault},
		{"SendOrder", 2, testSendOrder},
		{"SendUntilBusy", 2, testSendUntilBusy},
		{"Refuse", 2, testRefuse},
		{"Flush", 2, testFlush},
		{"FlushIsBounded", 2, testFlushIsBounded},
		{"HandlersSend", 2, testHandlersSend},
		{"Traffic", 3, testTraffic},
		{"SteadyState", 2, testSteadyState},
		{"Put", 2, testPut},
		{"Get", 2, testGet},
		{"OneSidedLimits", 2, testOneSidedLimits},
		{"OneSidedFaults", 2, testOneSidedFaults},
		{"ChangedMemory", 2, testChangedMemory},
		{"Vectors", 2, testVectors},
		{"VectorErrors", 2, testVectorErrors},
		{"Moves", 2, testMoves},
		{"MoveErrors", 2, testMoveErrors},
		{"MoveNotices", 2, testMoveNotices},
		{"MovesEnd", 2, testMovesEnd},
		{"GatherSizes", 2, testGatherSizes},
		{"GatherErrors", 2, testGatherErrors},
		{"GatherUntilBusy", 2, testGatherUntilBusy},
		{"Atomics", 2, testAtomics},
		{"AtomicsTogether", 3, testAtomicsTogether},
		{"AtomicFaults", 2, testAtomicFaults},
		{"Notices", 2, testNotices},
		{"NoticeFlush", 2, testNoticeFlush},
		{"NoticeFlood", 3, testNoticeFlood},
		{"NoticeFaults", 2, testNoticeFaults},
		{"NoticeDisconnect", 2, testNoticeDisconnect},
		{"UnknownEndpoint", 2, testUnknownEndpoint},
		{"Disconnect", 3, testDisconnect},
		{"DisconnectInHandler", 2, testDisconnectInHandler},
		{"Close", 2, testClose},
		{"Sleep", 2, testSleep},
	} {
		t.Run(test.name, func(t *testing.T) {
			memory.Guard()
			r := &run{T: t, Net: f.New(t, min(test.nodes, f.MaxNodes))}
			defer r.closeAll()
			test.run(r)
		})
	}
}

// run is one test on one Net.
type run struct {
	*testing.T
	*Net
	depth int // of handlers, which must not nest
}

func (r *run) closeAll() {
	for i, n := range r.Nodes {
		if n.Emul != nil {
			n.Emul.Close()
		}
		if err := n.Link.Close(); err != nil {
			r.Errorf("Close of node %d: %v", i, err)
		}
	}
}

// target is the node that tests send to; the sender is node 0, the same if there is only one.
func (r *run) target() transport.Endpoint { return transport.Endpoint(len(r.Nodes) - 1) }

// connected says whether node a has a path to node b.
func (r *run) connected(a, b int) bool { return a != b || r.Self }

// step makes progress everywhere once.
func (r *run) step() {
	if r.Net.Step != nil {
		r.Net.Step()
	}
	for _, n := range r.Nodes {
		n.Link.Progress(16)
		if n.Emul != nil {
			n.Emul.Progress()
		}
	}
}

// until makes progress until done.
func (r *run) until(what string, done func() bool) {
	r.Helper()
	for end := time.Now().Add(hang); !done(); r.step() {
		if time.Now().After(end) {
			r.Fatalf("never happened: %s", what)
		}
	}
}

// turns makes progress so often that what should not happen would.
func (r *run) turns(n int) {
	for range n {
		r.step()
	}
}

// handle sets a handler that checks that handlers do not nest.
func (r *run) handle(node transport.Endpoint, id transport.MsgID, h transport.MsgHandler) {
	r.Nodes[node].Link.Handle(id, func(m *transport.Msg) transport.Verdict {
		r.depth++
		defer func() { r.depth-- }()
		if r.depth != 1 {
			r.Error("a handler runs inside a handler")
		}
		return h(m)
	})
}

// operation is an Op with what became of it.
type operation struct {
	transport.Op
	r        *run
	status   transport.Status
	finished int // how often Done ran
	err      error
}

func (r *run) operation(local, remote transport.Addr, n int) *operation {
	o := &operation{r: r}
	o.Op = transport.Op{Local: local, Remote: remote, N: uint64(n), Owner: o,
		Done: func(op *transport.Op, err error) {
			o := op.Owner.(*operation)
			o.finished++
			o.err = err
			if o.finished > 1 || o.status == transport.Done {
				o.r.Errorf("Done ran %d times for an operation with status %d",
					o.finished, o.status)
			}
		}}
	return o
}

// begin runs start, again while it says ErrBusy, and returns its error.
func (o *operation) begin(start func(op *transport.Op) (transport.Status, error)) error {
	o.r.Helper()
	var err error
	o.r.until("room for an operation", func() bool {
		o.status, o.finished, o.err = transport.Queued, 0, nil
		var status transport.Status
		if status, err = start(&o.Op); err != nil || status == transport.Done {
			o.status = transport.Done
		}
		return err != transport.ErrBusy
	})
	if err != nil && o.finished > 0 {
		o.r.Error("Done ran although the operation failed at once")
	}
	return err
}

func (o *operation) done() bool { return o.status == transport.Done || o.finished > 0 }

// complete begins and waits; it returns the error of either.
func (o *operation) complete(start func(op *transport.Op) (transport.Status, error)) error {
	o.r.Helper()
	if err := o.begin(start); err != nil {
		return err
	}
	o.r.until("the end of an operation", o.done)
	return o.err
}

// send sends hdr and data from node a to b and returns without waiting.
func (r *run) send(a, b transport.Endpoint, id transport.MsgID, hdr, data []byte) *operation {
	r.Helper()
	o := r.operation(addrOf(data), 0, len(data))
	if err := o.begin(func(op *transport.Op) (transport.Status, error) {
		return r.Nodes[a].Link.Send(b, id, hdr, op)
	}); err != nil {
		r.Fatalf("Send of %d + %d bytes: %v", len(hdr), len(data), err)
	}
	return o
}

// flush begins a flush of the path from a to b.
func (r *run) flush(a, b transport.Endpoint) *operation {
	r.Helper()
	o := r.operation(0, 0, 0)
	if err := o.begin(func(op *transport.Op) (transport.Status, error) {
		return r.Nodes[a].Link.Flush(b, op)
	}); err != nil {
		r.Fatalf("Flush: %v", err)
	}
	return o
}

// memoryOf is n bytes of user memory, that is, not on the Go heap, followed by a page without
// access.
func (r *run) memoryOf(n int) []byte {
	r.Helper()
	page := unix.Getpagesize()
	size := (n + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = unix.Munmap(b) })
	if err := unix.Mprotect(b[size:], unix.PROT_NONE); err != nil {
		r.Fatal(err)
	}
	return b[size-n : size : size]
}

func addrOf(b []byte) transport.Addr {
	if len(b) == 0 {
		return 0
	}
	return memory.AddrOf(b)
}

// fill gives b a content that depends on seed.
func fill(b []byte, seed uint64) {
	x := seed*0x9E3779B97F4A7C15 + 1
	for i := range b {
		if i%8 == 0 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		b[i] = byte(x >> (i % 8 * 8))
	}
}

// filled says whether b has the content that fill gives it.
func filled(b []byte, seed uint64) bool {
	x := seed*0x9E3779B97F4A7C15 + 1
	for i := range b {
		if i%8 == 0 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if b[i] != byte(x>>(i%8*8)) {
			return false
		}
	}
	return true
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func unword(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// wantError checks an error by errors.Is.
func (r *run) wantError(what string, got, want error) {
	r.Helper()
	if !errors.Is(got, want) {
		r.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// wantFault checks for a FaultError on one side with an address in the bad range.
func (r *run) wantFault(what string, err error, remote bool, bad transport.Addr, n int) {
	r.Helper()
	var f *transport.FaultError
	if !errors.As(err, &f) {
		r.Errorf("%s: error %v, want a fault", what, err)
		return
	}
	if f.Remote != remote || f.Addr-bad >= transport.Addr(n) {
		r.Errorf("%s: fault at %#x, remote %v; the bad range is %#x, remote %v",
			what, uint64(f.Addr), f.Remote, uint64(bad), remote)
	}
}
