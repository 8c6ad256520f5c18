// Package paths is the ports of a link over RDMA verbs, and the ways over them to a peer. A port has
// the queues, the receive buffers and the memory for packets; queue pairs are made over ways. It
// knows neither what packets say nor how two queue pairs are joined: completions go to the owner of
// the queue pair (Pair), the rest to the link (Link).
//
//	paths.go   the ports of a link: made, looked at, closed
//	port.go    a port: its queues, completions, events, datagrams
//	states.go  the table of its states
//	receive.go its receive buffers
//	queue.go   a queue pair over a way
//	way.go     the ways to a peer
//	spare.go   the port over another link, for peers that no adapter leads to
//	reopen.go  a port whose adapter was gone and is there again
//	slots.go   registered memory for packets
//	gate.go    one descriptor for all that a sleeping owner waits for
package paths

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/layout"
	"lapi/transport/verbs/internal/fallback"
	"lapi/transport/verbs/internal/wire"
)

// Link is the part of the link that the ports call.
type Link interface {
	Datagram(b []byte)     // one has come
	Ghost()                // a packet of a queue pair that is gone has come
	Up(pt *Port)           // a port has come up
	Gone(pt *Port)         // an adapter is gone; its queue pairs fail
	AllGone()              // the last of them
	Sending(used []bool)   // marks the slots of packets that are not known to be sent
	Claim(slot int32) bool // whether the link keeps a buffer whose completion is lost
	Disposed(pt *Port)     // all that there was with its earlier adapter is to be ended
	Replaced(pt *Port)     // there is another adapter
	MovedElsewhere(i int)  // peers are to learn where the port is; then it comes up
}

// Pair owns a queue pair.
type Pair interface {
	Received(b []byte, taken int) // a packet, of which C has taken bytes
	Sent(upTo uint64)             // packets, counted from the first
	Moved(request uint64, s ibv.Status)
	Broke()                        // the queue pair does not work any more
	Note(f ibv.Failure, r Request) // a request or receive has failed
	Sparable() bool                // the peer can be reached over the spare port
}

// Change is a port with its new state, or with why it stays Gone.
type Change struct {
	Index int
	Name  string
	State State
	// Refused is why the adapter, which is there again, cannot be used; else nil. It is reported
	// when the reason changes. The adapter is looked for further on.
	Refused error
}

// Native is an adapter that C can use by itself: its objects are addresses of libibverbs' structs.
// cshim/ibv has it.
type Native interface{ Native() }

// Config has the settings and parts of a Set.
type Config struct {
	Adapters []ibv.Device
	Shared   *layout.VerbsLink
	Native   bool                          // C uses the adapters, too
	Map      func(i int) *layout.VerbsPort // makes what of a port C also uses
	Clock    transport.Clock
	Changed  func(Change)                        // may be nil
	Event    func(e ibv.Event, port ibv.Info)    // may be nil
	Reopen   func(index int) (ibv.Device, error) // nil: no port comes back
}

// Set is the ports of a link.
type Set struct {
	cfg    Config
	link   Link
	ports  []*Port
	spare  *Port // over a carrier; nil: there is none
	slots  slots
	gate   int // stands for the adapters' descriptors; 0: there is none
	places []wire.Place
	dead   bool // the last adapter is gone, and was not there again in time
	closed bool
}

// New makes a Set, whose ports are to be opened.
func New(c Config, link Link) *Set {
	s := &Set{cfg: c, link: link}
	for i, a := range c.Adapters {
		s.ports = append(s.ports, newPort(s, i, a))
	}
	c.Shared.Used = math.MaxInt32
	s.slots = slots{ports: s.ports, size: wire.PacketMax, free: c.Shared.Free[:],
		n: &c.Shared.NumFree, used: &c.Shared.Used, made: s.chunkMade}
	return s
}

// Open opens the ports. Close is called also when it fails.
func (s *Set) Open() error {
	if len(s.ports) > wire.PortsMax {
		return fmt.Errorf("%d ports, the most are %d", len(s.ports), wire.PortsMax)
	}
	for _, pt := range s.ports {
		at, err := pt.open()
		if err != nil {
			return err
		}
		s.places = append(s.places, at)
	}
	// Where not even the first packets' memory may be registered, no peer could be reached.
	if err := s.slots.grow(); err != nil {
		return fmt.Errorf("memory for packets (ulimit -l): %w", err)
	}
	return s.openGate()
}

// Stop: the link is closed, and the ports do nothing more but end.
func (s *Set) Stop() { s.closed = true }

// Close ends the ports, whose queue pairs are gone.
func (s *Set) Close() error {
	s.closeGate()
	errs := []error{s.slots.close()}
	for _, pt := range s.ports {
		if err := pt.close(); !pt.gone() {
			errs = append(errs, err)
		}
	}
	if s.spare != nil {
		errs = append(errs, s.spare.close())
	}
	return errors.Join(errs...)
}

// Unshare has what C also uses be only here.
func (s *Set) Unshare() {
	for _, pt := range s.ports {
		c := *pt.VerbsPort
		pt.VerbsPort = &c
	}
}

// Ports are those over adapters.
func (s *Set) Ports() []*Port { return s.ports }

// Places is where the ports are.
func (s *Set) Places() []wire.Place { return s.places }

// Dead says whether no adapter is there, and none is waited for.
func (s *Set) Dead() bool { return s.dead }

// least is the smallest share of the ports' completion queues, and at most most.
func (s *Set) least(most, share int) int {
	for _, pt := range s.ports {
		most = min(most, pt.info.MaxCQE/share)
	}
	return most
}

// Sends is how many packets may be under way.
func (s *Set) Sends() int { return s.least(sendsMax, 4) }

// Moves is how many RDMA requests may be under way.
func (s *Set) Moves() int { return s.least(movingMax, 8) }

// QueuePairs is how many there are over adapters.
func (s *Set) QueuePairs() (n int) {
	for _, pt := range s.ports {
		n += pt.Queues()
	}
	return n
}

// AnyUp says whether a port over an adapter is up.
func (s *Set) AnyUp() bool {
	for _, pt := range s.ports {
		if pt.state == Up {
			return true
		}
	}
	return false
}

// all is the ports with the spare one.
func (s *Set) all(yield func(*Port) bool) {
	for _, pt := range s.ports {
		if !yield(pt) {
			return
		}
	}
	if s.spare != nil {
		yield(s.spare)
	}
}

// Take handles completions, at most max of them, and returns how many there were.
func (s *Set) Take(max int) (n int) {
	for pt := range s.all {
		n += pt.take(max - n)
	}
	for _, pt := range s.ports {
		pt.adapt()
	}
	return n
}

// TakeSent takes in completions of sends, and drops what is received: the link closes.
func (s *Set) TakeSent() (n int) {
	if s.UsesSpare() {
		s.spare.adapter.(*fallback.Adapter).Drive()
	}
	for pt := range s.all {
		if pt == s.spare && !s.UsesSpare() || pt.state == released {
			continue
		}
		var c [8]ibv.Completion
		found := max(pt.adapter.PollCQ(pt.cq, c[:]), 0)
		n += found
		for _, c := range c[:found] {
			q := pt.pairs[c.QPN]
			if q == nil {
				continue
			}
			if c.Status != ibv.Success {
				q.Broke()
			} else if r := Request(c.ID); r.kind() == idSend {
				q.Sent(r.Value())
			}
		}
	}
	return n
}

// Events takes in the events of the adapters.
func (s *Set) Events() {
	for pt := range s.all {
		pt.events()
	}
}

// Shrink gives memory back that was for more packets than come now.
func (s *Set) Shrink() {
	for pt := range s.all {
		pt.shrink()
	}
	s.cfg.Shared.Used = s.slots.trim()
}

// Files are the descriptors that become readable when an adapter has something.
func (s *Set) Files() (files []int) {
	if s.gate > 0 {
		return []int{s.gate}
	}
	for _, pt := range s.ports {
		files = append(files, pt.adapter.Files()...)
	}
	return files
}

// Arm has the descriptors become readable with the next completion. False: there are some already.
func (s *Set) Arm() bool {
	s.Quiet()
	for _, pt := range s.ports {
		if pt.Next < pt.Count || len(pt.kept) > 0 || !pt.gone() && pt.adapter.ArmCQ(pt.cq, false) != nil {
			return false
		}
		// A completion before Arm wakes nobody.
		if pt.poll(len(pt.Batch)) {
			return false
		}
	}
	return s.spare == nil || !s.spare.poll(len(s.spare.Batch))
}

// Quiet ends that.
func (s *Set) Quiet() {
	for _, pt := range s.ports {
		if pt.state != released {
			pt.adapter.Quiet(nil)
		}
	}
}

// turn has a step befall a port, and reports its state; false: it cannot be now. Queue pairs over a
// port that is down fail if another is up; else they wait: the port may be up again before they fail
// by themselves.
func (s *Set) turn(pt *Port, by step) bool {
	if s.closed || !pt.step(by) {
		return false
	}
	s.report(pt)
	fails := pt.gone() || s.AnyUp()
	for _, q := range pt.pairs {
		if pt.state != Up && (fails || q.Sparable()) {
			q.Broke()
		}
	}
	return true
}

// report lets the owner know of a port's state, and the link that it is up.
func (s *Set) report(pt *Port) {
	if s.cfg.Changed != nil {
		s.cfg.Changed(Change{Index: pt.index, Name: pt.info.Name, State: pt.State()})
	}
	if pt.state == Up {
		s.link.Up(pt)
	}
}

// lose: an adapter is gone, or a queue of it has failed, and everything over it. While it may be there
// again soon the tasks that no other adapter leads to are not lost.
func (s *Set) lose(pt *Port, by step) {
	if by == queueDied && s.cfg.Reopen == nil {
		by = lost
	}
	if !s.turn(pt, by) {
		return
	}
	s.unwatch(pt)
	s.link.Gone(pt)
	pt.lookAt, pt.pause, pt.looks = s.cfg.Clock(), reopenFirst, 0
	if pt.state != failed {
		pt.lookAt += reopenFirst
	}
	s.die()
}

// die ends the peers that no adapter leads to any more.
func (s *Set) die() {
	for _, pt := range s.ports {
		if !pt.gone() || s.cfg.Reopen != nil && pt.looks < looksMax {
			return
		}
	}
	if !s.dead {
		s.dead = true
		s.link.AllGone()
	}
}

// Returns says whether a port is opened again at once: Look is to be called in each turn.
func (s *Set) Returns() bool {
	return slices.ContainsFunc(s.ports, func(pt *Port) bool { return pt.state == failed })
}
