package lapi

import (
	"fmt"
	"strings"
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/transport"
)

// dumpPeers bounds how many tasks a dump describes: those with most under way come first, the
// others are counted.
const dumpPeers = 16

// outstanding is the operations and messages under way between this task and one other.
type outstanding struct {
	messages, gets, rooms int
	bytes                 int // memory of the messages
}

func (o outstanding) some() bool {
	return o.messages+o.gets+o.rooms > 0
}

// Dump describes what is under way, for a dump (docs/dev/dump.md): lines of a word and key=value, of at
// most size bytes together. It changes nothing.
func (c *Context) Dump(size int) []byte {
	var b strings.Builder
	add := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if b.Len()+len(line) < size {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	if needs := c.neededTasks(); len(needs) > 0 {
		add("collective needs=%s", numbers(needs))
	}
	all := c.underWayByTask()
	shown, quiet, more := 0, 0, 0
	for pass := range 2 { // those that something waits for, then the others
		for i := range c.peers {
			p := &c.peers[i]
			if p.IsSelf {
				continue
			}
			s := standing(p)
			waits := all[i].some() || s.Sent != s.Acknowledged || s.Unsent > 0 || s.Silent > 0 ||
				p.Dead()
			switch {
			case waits != (pass == 0):
			case shown < dumpPeers:
				shown++
				add("%s", c.peerLine(p, s, all[i]))
			case waits:
				more++
			default:
				quiet++
			}
		}
	}
	if more+quiet > 0 {
		add("peers more=%d quiet=%d", more, quiet)
	}
	return []byte(b.String())
}

// neededTasks are those of which LAPI_Gfence or LAPI_Address_init under way here still needs
// something: the first of them.
func (c *Context) neededTasks() (all []int) {
	for i := range c.peers {
		if len(all) < dumpPeers && !c.peers[i].IsSelf && c.collectives.UnderWay() > 0 &&
			c.collectives.Needs(i) {
			all = append(all, i)
		}
	}
	return all
}

// underWayByTask is what is under way with each task.
func (c *Context) underWayByTask() []outstanding {
	all := make([]outstanding, len(c.peers))
	for i := range c.peers {
		all[i].messages, all[i].bytes = c.out.Queued(&c.peers[i])
	}
	for a := c.answers.Oldest(); a != nil; a = c.answers.Next(a) {
		all[a.p.ID].gets++
	}
	for _, r := range c.rooms {
		all[r.p.ID].rooms++
	}
	return all
}

func standing(p *peer.Peer) transport.Standing {
	if by, ok := untraced(p.Link).(transport.Standings); ok {
		return by.Standing(p.Ep)
	}
	return transport.Standing{State: "unknown"}
}

func (c *Context) peerLine(p *peer.Peer, s transport.Standing, o outstanding) string {
	state := s.State
	switch {
	case p.Gone() == codes.ErrTgtPurged:
		state = "purged"
	case p.Dead():
		state = "dead"
	case p.HasLeft():
		state = "left"
	}
	line := fmt.Sprintf("peer task=%d link=%s state=%s", p.ID, c.linkName(p), state)
	if s.Unit != "" {
		line += fmt.Sprintf(" unit=%s sent=%d acknowledged=%d unsent=%d", s.Unit, s.Sent,
			s.Acknowledged, s.Unsent)
	}
	line += fmt.Sprintf(" messages=%d bytes=%d gets=%d rooms=%d", o.messages, o.bytes, o.gets,
		o.rooms)
	if s.Silent > 0 {
		line += fmt.Sprintf(" silent_ms=%d", s.Silent/time.Millisecond)
	}
	if len(s.Paths) > 0 {
		line += " paths=" + strings.Join(s.Paths, ",")
	}
	return line
}

func (c *Context) linkName(p *peer.Peer) string {
	switch {
	case p.Shared:
		return "shared-memory"
	case p.OverAdapter():
		return "RDMA"
	}
	return "UDP"
}

func numbers(all []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ",")
}
