package simnet

import (
	"fmt"
	"math/rand/v2"
	"time"

	"lapi/transport/udp"
)

// Kind of a disturbance.
type Kind uint8

// Kinds. A and B are tasks.
const (
	CutPair     Kind = iota // nothing passes between A and B
	CutOneWay               // nothing passes from A to B
	CutPath                 // nothing passes between A and B on Path
	CutPathAway             // nothing passes from A to B on Path
	DeadAdapter             // A's end of Path neither sends nor receives
	DeadNetwork             // Path carries nothing for anybody
	Alone                   // nothing passes between A and anybody
	Asleep                  // A does not get the processor; packets wait at its socket
	Stuffed                 // A's socket takes nothing to send
	Narrow                  // Path takes no packet longer than MTU
	kinds
)

var kindNames = [kinds]string{"cut pair", "cut one way", "cut path", "cut path one way",
	"dead adapter", "dead network", "alone", "asleep", "stuffed", "narrow"}

// Disturbance is something that befalls the network, or a task, for a while.
type Disturbance struct {
	Kind Kind
	A, B int
	Path udp.Path
	MTU  int
	// of DeadAdapter: A is notified, as of an interface that goes down; of Narrow: the sender
	// of a longer packet is notified
	Told bool
	Time time.Duration
}

func (d Disturbance) String() string {
	return fmt.Sprintf("%s: tasks %d, %d, path %d, MTU %d, told %v, for %v", kindNames[d.Kind], d.A,
		d.B, d.Path, d.MTU, d.Told, d.Time)
}

// disturbanceEvents and below are events that end disturbances.
const disturbanceEvents = -1 - 1<<30

// Disturb begins d and ends it after its time.
func (s *Net) Disturb(d Disturbance) {
	s.Note("begins: %v", d)
	s.apply(&d, 1)
	s.current = append(s.current, d)
	s.queue.add(s.now+int64(d.Time), disturbanceEvents-int32(len(s.current)-1))
}

func (s *Net) endDisturbance(what int32) {
	d := &s.current[disturbanceEvents-what]
	s.Note("ends: %v", *d)
	s.apply(d, -1)
}

// apply adds by to every count that d concerns.
func (s *Net) apply(d *Disturbance, by int) {
	switch d.Kind {
	case Asleep:
		s.nodes[d.A].asleep += by
		s.nodes[d.A].woke = s.now
		return
	case Stuffed:
		s.nodes[d.A].stuffed += by
		return
	case DeadAdapter:
		s.tell(s.nodes[d.A], d, by)
	}
	for from := range s.nodes {
		for to := range s.nodes {
			for path := range udp.Path(udp.MaxPaths) {
				if !d.concerns(from, to, path) {
					continue
				}
				l := s.line(from, to, path)
				if d.Kind != Narrow {
					l.cut += by
				} else if l.mtu = 0; by > 0 {
					l.mtu, l.tells = d.MTU, d.Told
				}
			}
		}
	}
}

// tell notifies n of d, if d is announced and no other announced one holds the same adapter down.
func (s *Net) tell(n *Node, d *Disturbance, by int) {
	if !d.Told {
		return
	}
	n.down[d.Path] += by
	if n.onPath != nil && n.down[d.Path] == max(by, 0) {
		n.onPath(d.Path, by < 0)
	}
}

func (d *Disturbance) concerns(from, to int, path udp.Path) bool {
	way := from == d.A && to == d.B
	pair := way || from == d.B && to == d.A
	end := from == d.A || to == d.A
	switch d.Kind {
	case CutPair:
		return pair
	case CutOneWay:
		return way
	case CutPath:
		return pair && path == d.Path
	case CutPathAway:
		return way && path == d.Path
	case DeadAdapter:
		return end && path == d.Path
	case Alone:
		return end
	}
	return path == d.Path // DeadNetwork, Narrow
}

// Disturbance draws one of the scenario's.
func (sc *Scenario) Disturbance(r *rand.Rand) Disturbance {
	d := Disturbance{Kind: Kind(r.IntN(int(kinds))), A: r.IntN(sc.Tasks),
		Time: between(r, 100*time.Microsecond, sc.LongestDisturbance)}
	d.B = (d.A + 1 + r.IntN(sc.Tasks-1)) % sc.Tasks
	d.Path = udp.Path(r.IntN(sc.Addresses[d.A]))
	d.Told = d.Kind == DeadAdapter && r.IntN(2) == 0
	if d.Kind == Narrow {
		d.MTU = 200 + r.IntN(sc.PacketSize)
		d.Told = sc.Discover && d.MTU&1 == 0
	}
	return d
}
