// Package fake is RDMA adapters of one process, joined by a network that fails when a test wants:
// the kernel's own never run out of memory and seldom lose a queue pair. It keeps the rules that
// real ones have, and panics with a message where their user does not.
//
//	fabric.go   the network, its faults
//	device.go   ibv.Device: objects, events; what tests ask and set
//	memory.go   regions, and what may be read and written
//	cq.go       completion queues
//	pair.go     queue pairs: made, connected, failed, destroyed
//	work.go     requests
//	receive.go  receives
//	window.go   ibv.Windows
//	connect.go  ibv.CM
//
// A network of New does each request when it is posted. One of NewRandom does some at each poll, in
// an order that follows from a seed.
package fake

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"lapi/transport/ibv"
)

const maxInline = 64

// Fabric joins devices. Its fields are set before it is used.
type Fabric struct {
	// Lose is the share of datagrams that are lost.
	Lose float64
	// Delay is the share of datagrams that come late, after others, and Twice of those that come
	// twice.
	Delay, Twice float64
	// Break is the share of requests at which the queue pair fails; half of these have been done.
	Break float64
	// Info of each device, but for its name and addresses.
	Info ibv.Info
	// Silent are addresses whose devices answer nothing.
	Silent map[netip.Addr]bool

	mu      sync.Mutex
	random  *rand.Rand // nil: requests are done when they are posted
	devices []*Device
	number  uint32 // of the last object
	broken  int
	cuts    map[[2]*Device]bool
	late    []func() // datagrams
}

// New makes a network that does each request when it is posted.
func New() *Fabric {
	return &Fabric{number: 100, cuts: map[[2]*Device]bool{}, Silent: map[netip.Addr]bool{},
		Info: ibv.Info{Port: 1, MTU: 1024, Active: true, Atomics: true, MaxMessage: 1 << 20,
			MaxInline: maxInline, MaxRequests: 256, MaxSegments: 8, MaxReadSegments: 8,
			MaxCQE: 1 << 14, MaxQPs: 100, MaxPDs: 100, MaxMRs: 100, MaxSRQs: 10, MaxReceives: 256,
			MaxReadsIn: 8, MaxReadsOut: 8}}
}

// NewRandom makes a network that does some requests at each poll. All that is random follows from
// the seed.
func NewRandom(seed uint64) *Fabric {
	f := New()
	f.random = rand.New(rand.NewPCG(seed, 0))
	f.Info.MaxReadsIn, f.Info.MaxReadsOut, f.Info.MaxReceives = 4, 4, 1<<12
	return f
}

// Broken is how many queue pairs failed because of Break.
func (f *Fabric) Broken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// next is the number of a new object.
func (f *Fabric) next() uint32 {
	f.number++
	return f.number
}

// Device makes an adapter, with descriptors.
func (f *Fabric) Device() (*Device, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.device()
	d.info.Name = fmt.Sprintf("fake%d", len(f.devices))
	binary.BigEndian.PutUint32(d.info.GID[12:], uint32(len(f.devices)+1))
	for range 2 {
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		if err != nil {
			return nil, err
		}
		d.files = append(d.files, fd)
	}
	f.devices = append(f.devices, d)
	return d, nil
}

// Add makes an adapter with an address.
func (f *Fabric) Add(addr netip.Addr) *Device {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.device()
	d.info.Name, d.info.Addr, d.info.GID = "fake0", addr, addr.As16()
	f.devices = append(f.devices, d)
	return d
}

// at is the device of an address; nil: there is none.
func (f *Fabric) at(addr netip.Addr) *Device {
	return f.of(addr.As16())
}

// of is the device of a GID.
func (f *Fabric) of(gid ibv.GID) *Device {
	for _, d := range f.devices {
		if d.info.GID == gid && !d.closed {
			return d
		}
	}
	return nil
}

// answers says whether anything of d reaches o.
func (d *Device) answers(o *Device) bool {
	return !d.closed && !d.down && !o.down && !d.f.cuts[[2]*Device{d, o}] &&
		!d.f.Silent[d.info.Addr]
}

// Find and Open make the fabric dat.Adapters, for a device of each name.
func (f *Fabric) Find(name string) (netip.Addr, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, err := netip.ParseAddr(name)
	return a, err == nil && f.at(a) != nil
}

// Look says that core must look by itself.
func (f *Fabric) Look() uintptr { return 0 }

// Open opens a device.
func (f *Fabric) Open(addr netip.Addr) (ibv.Adapter, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.devices {
		if d.info.Addr == addr {
			err := d.fails("Open")
			if err == nil {
				d.closed = false
				d.opens++
			}
			return d, err
		}
	}
	return nil, unix.ENODEV
}

// OpenPort opens the device of a port once more.
func (f *Fabric) OpenPort(port ibv.Info) (ibv.Device, error) {
	d, err := f.Open(port.Addr)
	if err != nil {
		return nil, err
	}
	again := &reopened{Device: d.(*Device)}
	defer again.lock()()
	again.again = append(again.again, again)
	return again, nil
}

// reopened is a device that is open once more. Each has the events that are not of one queue pair; those
// of a completion queue's failure are taken for such.
type reopened struct {
	*Device
	events []ibv.Event
}

// Event implements ibv.Device.
func (d *reopened) Event() (e ibv.Event) {
	defer d.lock()()
	if len(d.events) > 0 {
		e, d.events = d.events[0], d.events[1:]
	}
	return e
}

// step does some of the requests that wait.
func (f *Fabric) step() {
	if f.random == nil {
		return
	}
	for len(f.late) > 0 && f.random.IntN(20) == 0 {
		i := f.random.IntN(len(f.late))
		bring := f.late[i]
		f.late = slices.Delete(f.late, i, i+1)
		bring()
	}
	for _, d := range f.devices {
		for _, q := range d.order {
			for n := f.random.IntN(8); n > 0 && len(q.queue) > 0 && !q.failed; n-- {
				if !q.perform() {
					break
				}
			}
		}
	}
}

// chance says yes in that share of cases.
func (f *Fabric) chance(share float64) bool {
	return share > 0 && f.random != nil && f.random.Float64() < share
}
