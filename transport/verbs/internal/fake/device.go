package fake

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport/memory"
	"lapi/transport/verbs/adapter"
)

// Call names a call that can be made to fail.
type Call uint8

// Calls that FailNext makes fail.
const (
	Register Call = iota
	Open
	Create
	Connect
	FindPath
	failing
)

// Device is one adapter.
type Device struct {
	fabric *Fabric
	info   adapter.Info

	regions         map[uint32]region
	registered      int
	pairs           map[adapter.QP]*pair
	order           []*pair // in which they were made
	receives        []buffer
	datagramBuffers []buffer
	datagrams       adapter.QP
	qkey            uint32
	paths           map[adapter.Path]adapter.GID
	completions     []entry
	size, receive   int // of the completion queue, of the shared receive queue
	events          []adapter.Event
	armed           bool
	files           [2]int // eventfds

	failures [failing]int
	state    adapter.State // how the next request is to end
	rdma     bool
	notReady int
	down     bool
	deaf     bool // the datagram queue pair has failed
	closed   bool
	gone     bool
	moved    uint64 // bytes of RDMA
	calls    Calls
}

// Calls counts what was asked of a device: on a real one each is a call into C, and a Post one of
// the kernel or a doorbell.
type Calls struct {
	Posts    int // of sends and RDMA
	Receives int // of receive buffers, any number at a time
	Polls    int
	Signals  int // requests that were to make a completion
}

// Calls is how many there were so far.
func (d *Device) Calls() Calls {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	return d.calls
}

type buffer struct {
	id   uint64
	data []byte
}

type entry struct {
	adapter.Completion
	of    *pair // whose places become free
	frees int
}

// Device makes an adapter.
func (f *Fabric) Device() (*Device, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := &Device{fabric: f, info: f.Info, regions: map[uint32]region{},
		pairs: map[adapter.QP]*pair{}, paths: map[adapter.Path]adapter.GID{}}
	d.info.Name = fmt.Sprintf("fake%d", len(f.devices))
	binary.BigEndian.PutUint32(d.info.GID[12:], uint32(len(f.devices)+1))
	for i := range d.files {
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		if err != nil {
			return nil, err
		}
		d.files[i] = fd
	}
	f.devices = append(f.devices, d)
	return d, nil
}

// FailNext makes the next n calls of that kind fail for lack of memory.
func (d *Device) FailNext(c Call, n int) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.failures[c] = n
}

// EndNext makes the next request end like that before it is done; if rdma, the next RDMA request.
func (d *Device) EndNext(state adapter.State, rdma bool) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.state, d.rdma = state, rdma
}

// Down takes the port down, or up again, and tells, unless it is.
func (d *Device) Down(down bool) {
	kind := adapter.PortUp
	if down {
		kind = adapter.PortDown
	}
	d.fabric.mu.Lock()
	was := d.down
	d.down = down
	d.fabric.mu.Unlock()
	if was != down {
		d.Raise(adapter.Event{Kind: kind})
	}
}

// Vanish takes the adapter away, as the kernel does with one that is unplugged: what it has
// completed can still be polled, nothing else works.
func (d *Device) Vanish() {
	d.Kill()
	d.fabric.mu.Lock()
	d.gone = true
	d.fabric.mu.Unlock()
	d.Raise(adapter.Event{Kind: adapter.Fatal})
}

// Cut has nothing pass between two devices, or again; neither is told.
func (d *Device) Cut(other *Device, cut bool) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.fabric.cuts[[2]*Device{d, other}] = cut
	d.fabric.cuts[[2]*Device{other, d}] = cut
}

// Moved is how many bytes of RDMA this device's requests have moved.
func (d *Device) Moved() uint64 {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	return d.moved
}

// Kill ends all queue pairs, as the kernel does when a process dies.
func (d *Device) Kill() {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	for _, p := range d.pairs {
		p.failed, p.queue = true, nil
	}
	d.deaf = true
}

// Raise makes an event.
func (d *Device) Raise(e adapter.Event) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.events = append(d.events, e)
	d.ring(1)
}

// Pairs is how many queue pairs there are.
func (d *Device) Pairs() int {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	return len(d.pairs)
}

// Receives is how many buffers the shared receive queue has; NotReady how often it had none.
func (d *Device) Receives() (now, notReady int) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	return len(d.receives), d.notReady
}

func (d *Device) fails(c Call) error {
	if d.closed || d.gone {
		return adapter.ErrGone
	}
	if d.failures[c] > 0 {
		d.failures[c]--
		return unix.ENOMEM
	}
	return nil
}

func (d *Device) takeState(r *request) (s adapter.State) {
	if !d.rdma || r.Op != adapter.Send {
		s, d.state = d.state, adapter.OK
	}
	return s
}

func (d *Device) ring(i int) {
	one := [8]byte{1}
	_, _ = unix.Write(d.files[i], one[:]) // full: it is readable
}

func (d *Device) complete(c adapter.Completion, of *pair, frees int) {
	if len(d.completions) == d.size {
		panic("the completion queue overflows")
	}
	d.completions = append(d.completions, entry{c, of, frees})
	if d.armed {
		d.armed = false
		d.ring(0)
	}
}

// Info implements adapter.Adapter.
func (d *Device) Info() adapter.Info { return d.info }

// Open implements adapter.Adapter.
func (d *Device) Open(completions, receives, _ int, qkey uint32) (uint32, error) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if err := d.fails(Open); err != nil {
		return 0, err
	}
	d.fabric.number++
	d.size, d.receive, d.qkey = completions, receives, qkey
	d.datagrams = adapter.QP(d.fabric.number)
	return d.fabric.number, nil
}

// Create implements adapter.Adapter.
func (d *Device) Create(depth int) (adapter.QP, error) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if err := d.fails(Create); err != nil {
		return 0, err
	}
	d.fabric.number++
	p := &pair{device: d, number: adapter.QP(d.fabric.number), depth: depth}
	d.pairs[p.number] = p
	d.order = append(d.order, p)
	return p.number, nil
}

// Connect implements adapter.Adapter.
func (d *Device) Connect(qp adapter.QP, _ uint32, r adapter.Remote) error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if err := d.fails(Connect); err != nil {
		return err
	}
	p := d.pairs[qp]
	p.ready, p.remote = true, r
	return nil
}

// Reset implements adapter.Adapter.
func (d *Device) Reset(qp adapter.QP) error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	p := d.pairs[qp]
	if d.gone {
		return unix.EINVAL
	}
	// An adapter's library throws away what was not taken of such a queue pair.
	if p.used > 0 || slices.ContainsFunc(d.completions, func(e entry) bool { return e.QP == qp }) {
		panic("a queue pair in use is reset")
	}
	p.ready, p.failed, p.remote = false, false, adapter.Remote{}
	return nil
}

// Fail implements adapter.Adapter.
func (d *Device) Fail(qp adapter.QP) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.pairs[qp].end(adapter.Flushed)
}

// Destroy implements adapter.Adapter.
func (d *Device) Destroy(qp adapter.QP) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	p := d.pairs[qp]
	p.failed, p.queue = true, nil
	delete(d.pairs, qp)
	d.order = slices.DeleteFunc(d.order, func(q *pair) bool { return q == p })
}

// Post implements adapter.Adapter.
func (d *Device) Post(qp adapter.QP, w *adapter.Work) error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	p := d.pairs[qp]
	switch {
	case d.closed || d.gone:
		return adapter.ErrGone
	case !p.ready:
		return unix.EINVAL
	case p.used == p.depth:
		return unix.ENOMEM
	case w.Inline && (w.N > uint64(d.info.MaxInline) || w.Op == adapter.Read):
		return unix.EINVAL
	}
	d.calls.Posts++
	if w.Signaled {
		d.calls.Signals++
	}
	r := request{Work: *w}
	if w.Inline {
		copy(r.inline[:], memory.Bytes(w.Addr, w.N))
	}
	p.used++
	if p.queue = append(p.queue, r); p.failed {
		p.end(adapter.Flushed)
	}
	return nil
}

// Receive implements adapter.Adapter.
func (d *Device) Receive(datagram bool, n uint32, buffers []adapter.Buffer) (int, error) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if len(buffers) > 0 {
		d.calls.Receives++
	}
	for i := range buffers {
		if err := d.receiveInto(datagram, n, &buffers[i]); err != nil {
			return i, err
		}
	}
	return len(buffers), nil
}

func (d *Device) receiveInto(datagram bool, n uint32, to *adapter.Buffer) error {
	if !d.allowed(to.LKey, to.Addr, uint64(n), adapter.LocalWrite) {
		return unix.EINVAL
	}
	b := buffer{to.ID, memory.Bytes(to.Addr, uint64(n))}
	if d.gone {
		return adapter.ErrGone
	}
	if datagram && d.deaf {
		d.complete(adapter.Completion{ID: b.id, QP: d.datagrams, Datagram: true,
			State: adapter.Flushed}, nil, 0)
		return nil
	}
	if datagram {
		d.datagramBuffers = append(d.datagramBuffers, b)
		return nil
	}
	if len(d.receives) == d.receive {
		return unix.ENOMEM
	}
	d.receives = append(d.receives, b)
	return nil
}

// Path implements adapter.Adapter.
func (d *Device) Path(r adapter.Remote) (adapter.Path, error) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if err := d.fails(FindPath); err != nil {
		return 0, err
	}
	d.fabric.number++
	d.paths[adapter.Path(d.fabric.number)] = r.GID
	return adapter.Path(d.fabric.number), nil
}

// Free implements adapter.Adapter.
func (d *Device) Free(p adapter.Path) {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	delete(d.paths, p)
}

// Datagram implements adapter.Adapter.
func (d *Device) Datagram(p adapter.Path, qpn, qkey uint32, b []byte) error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if d.gone {
		return adapter.ErrGone
	}
	if d.down { // as soft-RoCE, which has no route then
		for _, b := range d.datagramBuffers {
			d.complete(adapter.Completion{ID: b.id, QP: d.datagrams, Datagram: true,
				State: adapter.Flushed}, nil, 0)
		}
		d.datagramBuffers, d.deaf = nil, true
	}
	if !d.deaf {
		d.fabric.datagram(d, d.paths[p], qpn, qkey, b)
	}
	return nil
}

// Revive implements adapter.Adapter.
func (d *Device) Revive() error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if d.gone {
		return adapter.ErrGone
	}
	d.datagramBuffers, d.deaf = nil, false
	return nil
}

// Poll implements adapter.Adapter.
func (d *Device) Poll(out []adapter.Completion) int {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.calls.Polls++
	d.fabric.step()
	n := min(len(out), len(d.completions))
	for i, e := range d.completions[:n] {
		out[i] = e.Completion
		if e.of != nil {
			e.of.used -= e.frees
		}
	}
	d.completions = slices.Delete(d.completions, 0, n)
	return n
}

// Files implements adapter.Adapter.
func (d *Device) Files() []int { return d.files[:] }

// Arm implements adapter.Adapter.
func (d *Device) Arm() error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.armed = true
	return nil
}

// Quiet implements adapter.Adapter.
func (d *Device) Quiet() {
	var b [8]byte
	_, _ = unix.Read(d.files[0], b[:]) // empty: nothing to take
}

// Event implements adapter.Adapter.
func (d *Device) Event() adapter.Event {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	var b [8]byte
	_, _ = unix.Read(d.files[1], b[:])
	if len(d.events) == 0 {
		return adapter.Event{}
	}
	e := d.events[0]
	if d.events = d.events[1:]; len(d.events) > 0 {
		d.ring(1)
	}
	return e
}

// Close implements adapter.Adapter.
func (d *Device) Close() error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if len(d.regions)+len(d.pairs)+len(d.paths) > 0 {
		panic(fmt.Sprintf("left open: %d regions, %d queue pairs, %d paths", len(d.regions),
			len(d.pairs), len(d.paths)))
	}
	for _, fd := range d.files {
		_ = unix.Close(fd)
	}
	return nil
}

var _ adapter.Adapter = (*Device)(nil)
