package paths

import (
	"slices"

	"lapi/transport/ibv"
	"lapi/transport/verbs/internal/wire"
)

// Way is from a port of this task to one of the peer's.
type Way struct {
	port *Port
	peer int
}

// Ways lists all over adapters, the best first: those by which, with the others' help, each port has
// something to do. The first of them, which both tasks number alike, are the lanes. ports is how
// many the peer has.
func (s *Set) Ways(ports int) (all []Way, lanes int) {
	mine := len(s.ports)
	lanes = max(mine, ports)
	for k := range lanes {
		all = append(all, Way{s.ports[k%mine], k % ports})
	}
	for i, pt := range s.ports {
		for j := range ports {
			if mine >= ports && i%ports != j || mine < ports && j%mine != i {
				all = append(all, Way{pt, j})
			}
		}
	}
	return all, lanes
}

// Spare is the way over the spare port; without one, and a carrier, there is none.
func (s *Set) Spare(to *wire.Address) (w Way) {
	if s.spare != nil && len(to.Carrier) > 0 {
		w = Way{s.spare, wire.SpareIndex}
	}
	return w
}

// Between is the way between the ports that a Hello names by number; false: there is none such.
func (s *Set) Between(own, peer uint8, to *wire.Address) (Way, bool) {
	if own == wire.SpareIndex || peer == wire.SpareIndex {
		w := s.Spare(to)
		return w, own == peer && w.Exists()
	}
	if int(own) >= len(s.ports) || int(peer) >= len(to.Places) {
		return Way{}, false
	}
	return Way{s.ports[own], int(peer)}, true
}

// Exists says whether w is a way.
func (w Way) Exists() bool { return w.port != nil }

// IsUp says whether w's port is up, and IsGone whether its adapter is gone.
func (w Way) IsUp() bool { return w.port.state == Up }

func (w Way) IsGone() bool  { return w.port.gone() }    // whether the adapter is gone
func (w Way) IsSpare() bool { return w.port.isSpare() } // whether w is over the spare port

// Own is the number of this task's port, Far that of the peer's.
func (w Way) Own() int { return w.port.index }

func (w Way) Far() int       { return w.peer }      // the number of the peer's port
func (w Way) Info() ibv.Info { return w.port.info } // this task's port

// failuresToSpare is how many queue pairs may fail before the spare port is tried, although an
// adapter's is up.
const failuresToSpare = 2

// Routes is the ways to one peer.
type Routes struct {
	set     *Set
	ways    []Way // over adapters, lanes first
	lanes   int
	spare   Way // may not exist
	strayed int // adapters' ways that were tried since a queue pair was open
}

// To is the routes to a peer.
func (s *Set) To(to *wire.Address) Routes {
	r := Routes{set: s, spare: s.Spare(to)}
	r.ways, r.lanes = s.Ways(len(to.Places))
	return r
}

// Lanes is how many lanes there may be, Len how many ways over adapters.
func (r *Routes) Lanes() int { return r.lanes }

func (r *Routes) Len() int     { return len(r.ways) } // how many ways over adapters there are
func (r *Routes) At(i int) Way { return r.ways[i] }   // way i; the first are the lanes

// Sparable says whether the peer can be reached over the spare port.
func (r *Routes) Sparable() bool { return r.spare.Exists() }

// Opened: a queue pair of the packets has opened.
func (r *Routes) Opened() { r.strayed = 0 }

// Another is the next way after a way that leads nowhere: over a port that is up, or over the spare
// one where adapters lead nowhere. False: there is none.
func (r *Routes) Another(after Way, failures int) (Way, bool) {
	if r.wantsSpare(after, failures) {
		r.strayed = 0
		return r.spare, true
	}
	at := max(slices.Index(r.ways, after), 0)
	for i := range r.ways {
		if w := r.ways[(at+1+i)%len(r.ways)]; w.IsUp() {
			r.strayed++
			return w, true
		}
	}
	return Way{}, false
}

// wantsSpare says whether the spare port is the next to be tried: no adapter's port is up, or all
// ways over these were tried, or queue pairs over them have failed one after the other.
func (r *Routes) wantsSpare(after Way, failures int) bool {
	if !r.Sparable() || !r.set.AnyUp() {
		return r.Sparable()
	}
	up := 0
	for _, w := range r.ways {
		if w.IsUp() {
			up++
		}
	}
	return !after.IsSpare() && (r.strayed >= up || failures > failuresToSpare)
}
