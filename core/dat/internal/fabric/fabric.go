// Package fabric is RDMA adapters in the process, for tests of uDAPL's use of them: what adapters do
// with requests, receives and connections, at once and in order, and what goes wrong when a test
// wants it. A Fabric is for one thread.
//
//	fabric.go   the fabric, devices, their objects
//	work.go     requests and receives
//	window.go   windows
//	connect.go  the connection manager
package fabric

import (
	"net/netip"
	"slices"
	"syscall"

	"lapi/core/dat/adapter"
	"lapi/transport"
)

// Fabric is a network of devices.
type Fabric struct {
	devices map[netip.Addr]*Device
	next    uintptr
	// Silent are addresses whose devices answer nothing.
	Silent map[netip.Addr]bool
}

// New makes a network without devices.
func New() *Fabric {
	return &Fabric{devices: map[netip.Addr]*Device{}, Silent: map[netip.Addr]bool{}}
}

// Add makes a device.
func (f *Fabric) Add(addr netip.Addr) *Device {
	d := &Device{f: f, addr: addr, Refuse: map[string]error{}, Lacks: map[string]bool{}}
	d.reset()
	f.devices[addr] = d
	return d
}

func (f *Fabric) number() uintptr {
	f.next++
	return f.next
}

type (
	region struct {
		z           adapter.Zone
		addr, n, as uint64
		access      adapter.Access
		key         uint32
	}
	window struct {
		z      adapter.Zone
		own    bool
		key    uint32 // 0: nothing was bound
		posted uint32 // by the newest bind that was posted
		bind   adapter.Bind
		to     *region // nil: it is free, or names nothing
		qp     *qp     // of one that is its own, while it is bound
	}
	queue struct {
		receives []receive
		max      int
		limit    int
	}
	completions struct {
		list  []adapter.Completion
		size  int
		armed arming
	}
	receive struct {
		id       uint64
		segments []adapter.Segment
	}
)

// arming is what a completion queue is to tell of, once.
type arming uint8

const (
	forNothing arming = iota
	forSolicited
	forAny
)

// Device is an adapter of a fabric (adapter.Device).
type Device struct {
	f    *Fabric
	addr netip.Addr
	open bool
	// Refuse are the calls that fail, by name, such as "NewQP".
	Refuse map[string]error
	// Fail, if it is not nil, is the status that a request ends with; 0: as it does.
	Fail func(w *adapter.Work) uint8

	// Untold: binds take effect, and their queue pairs fail without a word of it.
	Untold bool
	// LateReady: peers' word that a connection stands does not reach the device.
	LateReady bool
	// Lacks are what Info says that it does not have: "Windows", "OwnWindows", "Invalidates".
	// Vague: it says that a send has invalidated as soft-RoCE does.
	Lacks map[string]bool
	Vague bool
	// Wrong are uses of it that are no program's fault.
	Wrong []string

	zones   map[adapter.Zone]bool
	windows map[adapter.Window]*window
	regions map[adapter.Region]*region
	cqs     map[adapter.Completions]*completions
	queues  map[adapter.Queue]*queue
	qps     map[adapter.QP]*qp
	paths   map[adapter.Path]netip.Addr
	ids     map[adapter.ID]*id
	events  []adapter.Event
	asyncs  []adapter.Async
	told    []adapter.Completions
}

func (d *Device) reset() {
	d.zones, d.regions = map[adapter.Zone]bool{}, map[adapter.Region]*region{}
	d.windows = map[adapter.Window]*window{}
	d.cqs, d.queues = map[adapter.Completions]*completions{}, map[adapter.Queue]*queue{}
	d.qps, d.paths = map[adapter.QP]*qp{}, map[adapter.Path]netip.Addr{}
	d.ids, d.events, d.asyncs = map[adapter.ID]*id{}, nil, nil
}

// Find and Open make the fabric dat.Adapters, for a device of each name.
func (f *Fabric) Find(name string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(name)
	return a, err == nil && f.devices[a] != nil
}

// Look says that core must look by itself.
func (f *Fabric) Look() uintptr { return 0 }

// Open opens a device.
func (f *Fabric) Open(addr netip.Addr) (adapter.Device, error) {
	d := f.devices[addr]
	if err := d.refused("Open"); err != nil {
		return nil, err
	}
	d.open = true
	return d, nil
}

// Left is how many objects were not freed.
func (d *Device) Left() int {
	return len(d.zones) + len(d.regions) + len(d.windows) + len(d.cqs) + len(d.queues) +
		len(d.qps) + len(d.paths) + len(d.ids)
}

// Tell makes the device tell of something.
func (d *Device) Tell(a adapter.Async) { d.asyncs = append(d.asyncs, a) }

func (d *Device) wrong(what string) { d.Wrong = append(d.Wrong, what) }

func (d *Device) refused(call string) error { return d.Refuse[call] }

// Info implements adapter.Device.
func (d *Device) Info() adapter.Info {
	i := adapter.Info{Name: "fake0", Addr: d.addr, Port: 1, GID: d.addr.As16(), MTU: 1024,
		Active: true, Atomics: true, MaxMessage: 1 << 20, MaxInline: 64, MaxRequests: 256,
		MaxSegments: 8, MaxReadSegments: 8, MaxCompletions: 1 << 14, MaxQPs: 100, MaxZones: 100,
		MaxRegions: 100, MaxQueues: 10, MaxQueueReceives: 256, MaxReadsIn: 8, MaxReadsOut: 8,
		Windows: !d.Lacks["Windows"], OwnWindows: !d.Lacks["OwnWindows"],
		Invalidates: !d.Lacks["Invalidates"]}
	return i
}

// Active implements adapter.Device.
func (d *Device) Active() bool { return true }

// NewZone implements adapter.Device.
func (d *Device) NewZone() (adapter.Zone, error) {
	if err := d.refused("NewZone"); err != nil {
		return 0, err
	}
	z := adapter.Zone(d.f.number())
	d.zones[z] = true
	return z, nil
}

// FreeZone implements adapter.Device.
func (d *Device) FreeZone(z adapter.Zone) error {
	delete(d.zones, z)
	return nil
}

// Register implements adapter.Device.
func (d *Device) Register(z adapter.Zone, addr, n, as uint64,
	access adapter.Access) (adapter.Region, adapter.Keys, error) {
	if err := d.refused("Register"); err != nil {
		return 0, adapter.Keys{}, err
	}
	r := adapter.Region(d.f.number())
	key := uint32(r)
	d.regions[r] = &region{z: z, addr: addr, n: n, as: as, access: access, key: key}
	return r, adapter.Keys{Local: key, Remote: key | regionKey}, nil
}

// Deregister implements adapter.Device.
func (d *Device) Deregister(r adapter.Region) error {
	if d.regions[r] == nil {
		d.wrong("a region is deregistered that is none")
	}
	for _, w := range d.windows {
		if w.to != nil && w.to == d.regions[r] {
			d.wrong("a region is bound, and deregistered")
			return syscall.EBUSY
		}
	}
	delete(d.regions, r)
	return nil
}

func (r *region) at(addr, n uint64) (transport.Addr, bool) {
	if addr < r.as || addr-r.as > r.n || n > r.n-(addr-r.as) {
		return 0, false
	}
	return transport.Addr(r.addr + (addr - r.as)), true
}

// at is where memory of a key is; false: it is not to be accessed so.
func (d *Device) at(z adapter.Zone, key uint32, addr, n uint64,
	need adapter.Access) (transport.Addr, bool) {
	for _, r := range d.regions {
		if r.key == key && r.z == z && r.access&need == need {
			return r.at(addr, n)
		}
	}
	return 0, false
}

// NewCompletions implements adapter.Device.
func (d *Device) NewCompletions(entries int) (adapter.Completions, error) {
	if err := d.refused("NewCompletions"); err != nil {
		return 0, err
	}
	c := adapter.Completions(d.f.number())
	d.cqs[c] = &completions{size: entries}
	return c, nil
}

// FreeCompletions implements adapter.Device.
func (d *Device) FreeCompletions(c adapter.Completions) error {
	delete(d.cqs, c)
	d.told = slices.DeleteFunc(d.told, func(o adapter.Completions) bool { return o == c })
	return nil
}

// Poll implements adapter.Device.
func (d *Device) Poll(c adapter.Completions, out []adapter.Completion) int {
	q := d.cqs[c]
	n := copy(out, q.list)
	q.list = q.list[n:]
	return n
}

// NewQueue implements adapter.Device.
func (d *Device) NewQueue(_ adapter.Zone, receives, _ int) (adapter.Queue, error) {
	if err := d.refused("NewQueue"); err != nil {
		return 0, err
	}
	q := adapter.Queue(d.f.number())
	d.queues[q] = &queue{max: receives}
	return q, nil
}

// ResizeQueue implements adapter.Device.
func (d *Device) ResizeQueue(q adapter.Queue, receives int) error {
	d.queues[q].max = receives
	return d.refused("ResizeQueue")
}

// LimitQueue implements adapter.Device.
func (d *Device) LimitQueue(q adapter.Queue, receives int) error {
	d.queues[q].limit = receives
	return d.refused("LimitQueue")
}

// FreeQueue implements adapter.Device.
func (d *Device) FreeQueue(q adapter.Queue) error {
	delete(d.queues, q)
	return nil
}

// NewPath implements adapter.Device.
func (d *Device) NewPath(_ adapter.Zone, gid [16]byte, _ uint16) (adapter.Path, error) {
	if err := d.refused("NewPath"); err != nil {
		return 0, err
	}
	p := adapter.Path(d.f.number())
	d.paths[p] = netip.AddrFrom16(gid).Unmap()
	return p, nil
}

// FreePath implements adapter.Device.
func (d *Device) FreePath(p adapter.Path) { delete(d.paths, p) }

// Async implements adapter.Device.
func (d *Device) Async() (a adapter.Async) {
	if len(d.asyncs) > 0 {
		a, d.asyncs = d.asyncs[0], d.asyncs[1:]
	}
	return a
}

// Files implements adapter.Device.
func (d *Device) Files() []int { return nil }

// Arm implements adapter.Device.
func (d *Device) Arm(c adapter.Completions, solicited bool) {
	if d.cqs[c].armed = forAny; solicited {
		d.cqs[c].armed = forSolicited
	}
}

// Told are the queues that it has told of, and nobody has heard.
func (d *Device) Told() []adapter.Completions { return d.told }

// Quiet implements adapter.Device.
func (d *Device) Quiet(told func(adapter.Completions)) {
	for _, c := range d.told {
		told(c)
	}
	d.told = nil
}

// Close implements adapter.Device.
func (d *Device) Close() { d.open = false }

var errRefused = syscall.ENOMEM

var _ adapter.Device = (*Device)(nil)
