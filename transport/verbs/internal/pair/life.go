package pair

import "lapi/transport/verbs/internal/wire"

// Life is the generation of the connection of two tasks, by which neither takes Hellos of an
// earlier one. Each task counts by itself.
type Life struct {
	own  uint32 // from 1
	peer uint32 // as the peer counts; 0: not known yet
	over uint32 // the peer's generations up to this are of earlier connections
}

// Next is the Life of the next connection; same: to the same generation of the task, not to its
// successor.
func (l Life) Next(same bool) (next Life) {
	if next.own = l.own + 1; same {
		next.over = max(l.peer, l.over)
	}
	return next
}

// Known says whether a Hello has come in this generation of the connection.
func (l *Life) Known() bool { return l.peer != 0 }

// Takes says whether h is of this generation, and notes the peer's count. used: something has come
// in this generation, or can; then a peer with a later count has ended this connection, and this
// task must end it, too.
func (l *Life) Takes(h *wire.Hello, used bool) bool {
	if h.Life <= l.over || h.Life < l.peer || h.PeerLife != 0 && h.PeerLife != l.own ||
		l.peer != 0 && h.Life > l.peer && used {
		return false
	}
	l.peer = h.Life
	return true
}

// Say puts the generation in h.
func (l *Life) Say(h *wire.Hello) { h.Life, h.PeerLife = l.own, l.peer }
