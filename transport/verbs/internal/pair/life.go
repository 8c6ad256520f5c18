package pair

import "lapi/transport/verbs/internal/wire"

// Life counts the connections of two tasks, so that neither takes Hellos of an earlier one.
type Life struct {
	own  uint32 // from 1
	peer uint32 // as the peer counts; 0: not known yet
	over uint32 // what it counts so, or lower, is of an earlier connection
}

// Next is the life of the next connection, to the same generation of the task or to another.
func (l Life) Next(same bool) (next Life) {
	if next.own = l.own + 1; same {
		next.over = max(l.peer, l.over)
	}
	return next
}

// Known says whether a Hello has come in this life.
func (l *Life) Known() bool { return l.peer != 0 }

// Takes says whether h is of this life, and notes which the peer's is. used: something has come in
// it, or can; then the peer of another has ended this connection, and this task is to do so, too.
func (l *Life) Takes(h *wire.Hello, used bool) bool {
	if h.Life <= l.over || h.Life < l.peer || h.PeerLife != 0 && h.PeerLife != l.own ||
		l.peer != 0 && h.Life > l.peer && used {
		return false
	}
	l.peer = h.Life
	return true
}

// Say puts it in h.
func (l *Life) Say(h *wire.Hello) { h.Life, h.PeerLife = l.own, l.peer }
