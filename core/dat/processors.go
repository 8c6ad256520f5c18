package dat

import (
	"slices"

	"lapi/core/dat/cm"
	"lapi/core/job/wire"
	"lapi/core/processors"
)

// Processes of a node that share processors do not look for room in each other's memory in vain
// (node_may_spin in cshim/node/send.h). Each knows those that it has links to, not the links among
// these: a server with many clients finds out that all must share, and reports it to each. So a
// message by the line says which processors its sender may use, and whether its receiver shares
// one, as far as the sender knows.

// sharePlace is that message.
const sharePlace = wire.Parts

// placement is what a neighbour's messages say, and what it was sent.
type placement struct {
	set     processors.Set // of the peer; nil: it has said nothing yet
	crowded bool           // this process shares processors, as the peer knows
	said    bool           // a message was sent,
	told    bool           // the latest with this
}

// sharer is a link that needs to know whether processors are shared.
type sharer interface{ ShareProcessors(does bool) }

// onPlace takes in a neighbour's message. Which processors it may use counts once: each is work.
func (l *Library) onPlace(n *neighbour, m *wire.Message, g *greeting) bool {
	if g.from != n.process || !g.proved(n.pair, l.machine.PublicKey(), m) || len(g.address) == 0 {
		return false
	}
	set, ok := processors.Decode(g.address[1:])
	if !ok {
		return false
	}
	n.place.crowded = g.address[0] != 0
	if n.place.set == nil {
		n.place.set = set
	}
	l.countProcessors()
	return true
}

// inUse says whether the link to n stands.
func (n *neighbour) inUse() bool { return n.state == offered || n.state == joined }

// countProcessors finds out again which of the processes share processors, after a link has begun
// or ended, or a message has come.
func (l *Library) countProcessors() {
	sets := []processors.Set{l.place}
	var of []cm.PublicKey // which are theirs; two processes may have two links
	crowded := false
	for _, n := range l.neighbours {
		if n.inUse() && n.place.set != nil && !slices.Contains(of, n.process) {
			sets, of = append(sets, n.place.set), append(of, n.process)
		}
		crowded = crowded || n.inUse() && n.place.crowded
	}
	shared := processors.Shares(sets)
	l.sharesProcessors = crowded || shared[0]
	for _, n := range l.neighbours {
		if !n.inUse() {
			continue
		}
		if s, ok := n.data.link.(sharer); ok {
			s.ShareProcessors(l.sharesProcessors)
		}
		i := slices.Index(of, n.process)
		l.tellPlace(n, i >= 0 && shared[i+1])
	}
}

// tellPlace sends n's process what is news to it.
func (l *Library) tellPlace(n *neighbour, crowded bool) {
	if n.place.said && n.place.told == crowded || n.line == nil {
		return
	}
	n.place.said, n.place.told = true, crowded
	g := greeting{from: l.machine.PublicKey(), to: n.process,
		address: l.place.Append([]byte{uint8(flag(crowded))})}
	n.line.Send(wire.Message{Kind: sharePlace, Number: n.number,
		Data: g.seal(n.pair, sharePlace, n.number)})
}
