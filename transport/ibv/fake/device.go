package fake

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"lapi/transport"
	"lapi/transport/ibv"
)

// Calls that FailNext and Device.Refuse make fail, beside others by their names.
const (
	Register = "RegMR"
	Open     = "CreateCQ"
	Create   = "CreateQP"
	Connect  = "ConnectQP"
	FindPath = "CreateAH"
)

// Device is one adapter (ibv.Adapter).
type Device struct {
	// Refuse are the calls that fail, by name, such as "CreateQP".
	Refuse map[string]error
	// Fail, if it is not nil, is the status that a request ends with; Success: as it does.
	Fail func(w *ibv.Work) ibv.Status
	// Vendor is the VendorErr of requests that EndNext or Fail ends.
	Vendor uint32
	// Behind, if it is not Success, is the status of requests behind a failed one, not WRFlushErr.
	Behind ibv.Status
	// Unreported: binds take effect, and their queue pairs fail without a completion.
	Unreported bool
	// LateReady: peers' word that a connection stands does not reach the device.
	LateReady bool
	// Lacks are what Info says that it does not have: "Windows", "OwnWindows", "Invalidates".
	// Vague: it says that a send has invalidated as soft-RoCE does.
	Lacks map[string]bool
	Vague bool

	f    *Fabric
	info ibv.Info

	pds        map[ibv.PD]bool
	regions    map[ibv.MR]*region
	registered int
	windows    map[ibv.MW]*window
	cqs        map[ibv.CQ]*cq
	srqs       map[ibv.SRQ]*srq
	qps        map[ibv.QP]*qp
	order      []*qp // in which they were made
	ahs        map[ibv.AH]ibv.GID
	ids        map[ibv.ID]*id
	cmEvents   []ibv.CMEvent
	events     []ibv.Event
	again      []*reopened
	reported   []ibv.CQ
	files      []int // eventfds: of completions, of events

	data     []byte // of gather
	places   []transport.Addr
	failures map[string]int
	status   ibv.Status // how the next request is to end
	rdma     bool
	notReady int
	down     bool
	opens    int // by Fabric.Open, not closed
	closed   bool
	gone     bool
	moved    uint64 // bytes of RDMA
	calls    Calls
}

// Calls counts what was asked of a device: on a real one each is a call into C, and a Post one of
// the kernel or a doorbell. Datagrams are not counted.
type Calls struct {
	Posts    int // of sends and RDMA
	Receives int // of receives, any number at a time
	Polls    int
	Signals  int // requests that were to make a completion
}

func (f *Fabric) device() *Device {
	return &Device{f: f, info: f.Info, Refuse: map[string]error{}, Lacks: map[string]bool{},
		failures: map[string]int{}, pds: map[ibv.PD]bool{}, regions: map[ibv.MR]*region{},
		windows: map[ibv.MW]*window{}, cqs: map[ibv.CQ]*cq{}, srqs: map[ibv.SRQ]*srq{},
		qps: map[ibv.QP]*qp{}, ahs: map[ibv.AH]ibv.GID{}, ids: map[ibv.ID]*id{}}
}

// lock takes the fabric's lock, and returns what gives it back.
func (d *Device) lock() func() {
	d.f.mu.Lock()
	return d.f.mu.Unlock
}

// Calls is how many there were so far.
func (d *Device) Calls() Calls {
	defer d.lock()()
	return d.calls
}

// FailNext makes the next n calls of that name fail for lack of memory.
func (d *Device) FailNext(call string, n int) {
	defer d.lock()()
	d.failures[call] = n
}

// EndNext makes the next request end like that before it is done; if rdma, the next RDMA request.
func (d *Device) EndNext(status ibv.Status, rdma bool) {
	defer d.lock()()
	d.status, d.rdma = status, rdma
}

// Down takes the port down, or up again, and reports that, unless it is so.
func (d *Device) Down(down bool) {
	kind := ibv.PortUp
	if down {
		kind = ibv.PortDown
	}
	defer d.lock()()
	if d.down != down {
		d.down = down
		d.raise(ibv.Event{Kind: kind})
	}
}

// Vanish takes the adapter away, as the kernel does with a card that is unplugged: its
// completions can still be polled, nothing else works.
func (d *Device) Vanish() {
	d.Kill()
	defer d.lock()()
	d.gone = true
	d.raise(ibv.Event{Kind: ibv.Fatal})
}

// Cut has nothing pass between two devices, or again; neither reports it.
func (d *Device) Cut(other *Device, cut bool) {
	defer d.lock()()
	d.f.cuts[[2]*Device{d, other}] = cut
	d.f.cuts[[2]*Device{other, d}] = cut
}

// Moved is how many bytes of RDMA this device's requests have moved.
func (d *Device) Moved() uint64 {
	defer d.lock()()
	return d.moved
}

// Kill ends all queue pairs, as the kernel does when a process dies.
func (d *Device) Kill() {
	defer d.lock()()
	for _, q := range d.qps {
		q.failed, q.queue = true, nil
	}
}

// FailCQs has the completion queues fail. Earlier completions can be polled; later ones are lost,
// of requests that the adapter does and acknowledges.
func (d *Device) FailCQs() {
	defer d.lock()()
	for _, c := range d.cqs {
		c.failed = true
	}
}

// LoseNext has each completion queue lose its next n completions, and go on, as soft-RoCE's do.
func (d *Device) LoseNext(n int) {
	defer d.lock()()
	for _, c := range d.cqs {
		c.lose = n
	}
}

// OverrunCQs has them fail so, and each be reported.
func (d *Device) OverrunCQs() {
	d.FailCQs()
	defer d.lock()()
	for cq := range d.cqs {
		d.report(ibv.Event{Kind: ibv.Fatal, CQ: cq}) // IBV_EVENT_CQ_ERR is type 0
	}
}

// report adds an event for all that have the device open.
func (d *Device) report(e ibv.Event) {
	d.events = append(d.events, e)
	for _, o := range d.again {
		o.events = append(o.events, e)
	}
	d.ring(1)
}

// Raise makes an event.
func (d *Device) Raise(e ibv.Event) {
	defer d.lock()()
	d.raise(e)
}

// types are those of events of a kind, as the kernel numbers them.
var types = map[ibv.EventKind]ibv.EventType{ibv.QPFailed: 1, ibv.Fatal: 8, ibv.PortUp: 9,
	ibv.PortDown: 10, ibv.SRQLow: 15}

func (d *Device) raise(e ibv.Event) {
	if e.Type == 0 {
		e.Type = types[e.Kind]
	}
	d.report(e)
}

// Pairs is how many queue pairs of connections there are.
func (d *Device) Pairs() (n int) {
	defer d.lock()()
	for _, q := range d.qps {
		if !q.Datagrams {
			n++
		}
	}
	return n
}

// Receives is how many receives the shared queues have; NotReady how often there was none.
func (d *Device) Receives() (now, notReady int) {
	defer d.lock()()
	for _, s := range d.srqs {
		now += len(s.receives)
	}
	return now, d.notReady
}

// Left is how many objects were not freed.
func (d *Device) Left() int {
	defer d.lock()()
	return d.left()
}

// Closed says whether the last user has closed it.
func (d *Device) Closed() bool {
	defer d.lock()()
	return d.closed
}

func (d *Device) left() int {
	return len(d.pds) + len(d.regions) + len(d.windows) + len(d.cqs) + len(d.srqs) + len(d.qps) +
		len(d.ahs) + len(d.ids)
}

// Reported are the queues that were reported, and that Quiet has not taken.
func (d *Device) Reported() []ibv.CQ { return d.reported }

func (d *Device) fails(call string) error {
	switch {
	case d.gone || d.closed && call != "Open":
		return ibv.ErrGone
	case d.failures[call] > 0:
		d.failures[call]--
		return unix.ENOMEM
	}
	return d.Refuse[call]
}

func (d *Device) ring(i int) {
	if i < len(d.files) {
		_, _ = unix.Write(d.files[i], []byte{1, 0, 0, 0, 0, 0, 0, 0}) // full: it is readable
	}
}

func (d *Device) unring(i int) {
	if i < len(d.files) {
		_, _ = unix.Read(d.files[i], make([]byte, 8)) // empty: nothing to take
	}
}

// Info implements ibv.Device.
func (d *Device) Info() ibv.Info {
	i := d.info
	i.Windows, i.OwnWindows = !d.Lacks["Windows"], !d.Lacks["OwnWindows"]
	i.Invalidates = !d.Lacks["Invalidates"]
	return i
}

// Active implements ibv.Device.
func (d *Device) Active() bool { return !d.down }

// AllocPD implements ibv.Device.
func (d *Device) AllocPD() (ibv.PD, error) {
	defer d.lock()()
	if err := d.fails("AllocPD"); err != nil {
		return 0, err
	}
	pd := ibv.PD(d.f.next())
	d.pds[pd] = true
	return pd, nil
}

// DeallocPD implements ibv.Device.
func (d *Device) DeallocPD(pd ibv.PD) error {
	defer d.lock()()
	for _, r := range d.regions {
		if r.pd == pd {
			panic("a protection domain is freed that has regions")
		}
	}
	for _, q := range d.qps {
		if q.PD == pd {
			panic("a protection domain is freed that has queue pairs")
		}
	}
	delete(d.pds, pd)
	return nil
}

// CreateSRQ implements ibv.Device.
func (d *Device) CreateSRQ(_ ibv.PD, receives, _ int) (ibv.SRQ, error) {
	defer d.lock()()
	if err := d.fails("CreateSRQ"); err != nil {
		return 0, err
	}
	s := ibv.SRQ(d.f.next())
	d.srqs[s] = &srq{max: receives}
	return s, nil
}

// ResizeSRQ implements ibv.Device.
func (d *Device) ResizeSRQ(s ibv.SRQ, receives int) error {
	defer d.lock()()
	d.srqs[s].max = receives
	return d.fails("ResizeSRQ")
}

// LimitSRQ implements ibv.Device.
func (d *Device) LimitSRQ(s ibv.SRQ, receives int) error {
	defer d.lock()()
	d.srqs[s].limit = receives
	return d.fails("LimitSRQ")
}

// DestroySRQ implements ibv.Device.
func (d *Device) DestroySRQ(s ibv.SRQ) error {
	defer d.lock()()
	delete(d.srqs, s)
	return nil
}

// CreateAH implements ibv.Device.
func (d *Device) CreateAH(_ ibv.PD, gid ibv.GID, _ uint16) (ibv.AH, error) {
	defer d.lock()()
	if err := d.fails("CreateAH"); err != nil {
		return 0, err
	}
	ah := ibv.AH(d.f.next())
	d.ahs[ah] = gid
	return ah, nil
}

// DestroyAH implements ibv.Device.
func (d *Device) DestroyAH(ah ibv.AH) {
	defer d.lock()()
	delete(d.ahs, ah)
}

// Event implements ibv.Device.
func (d *Device) Event() ibv.Event {
	defer d.lock()()
	d.unring(1)
	if len(d.events) == 0 {
		return ibv.Event{}
	}
	e := d.events[0]
	if d.events = d.events[1:]; len(d.events) > 0 {
		d.ring(1)
	}
	return e
}

// Files implements ibv.Device.
func (d *Device) Files() []int { return d.files }

// Close implements ibv.Device.
func (d *Device) Close() error {
	defer d.lock()()
	if d.opens--; d.closed || d.opens > 0 {
		return nil
	}
	if d.left() > 0 {
		panic(fmt.Sprintf("left open: %d domains, %d regions, %d windows, %d + %d queues, "+
			"%d queue pairs, %d address handles, %d connections", len(d.pds), len(d.regions),
			len(d.windows), len(d.cqs), len(d.srqs), len(d.qps), len(d.ahs), len(d.ids)))
	}
	d.closed = true
	for _, fd := range d.files {
		_ = unix.Close(fd)
	}
	return nil
}

// forget takes q out of the order.
func (d *Device) forget(q *qp) {
	d.order = slices.DeleteFunc(d.order, func(o *qp) bool { return o == q })
}

var _ ibv.Adapter = (*Device)(nil)
