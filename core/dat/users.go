package dat

import "lapi/transport"

// linkUse is what the library does with links and the processes at their other ends. It implements
// linkUsers.
type linkUse struct{ l *Library }

func (u linkUse) attach(link transport.Link, node bool) {
	u.l.engine.Attach(link)
	u.l.groups.attach(link)
	link.Handle(msgPing, func(*transport.Msg) transport.Verdict { return transport.Accept })
	if !node {
		u.l.ud.attach(link)
	}
}

func (u linkUse) gone(p *peer, left bool) {
	end := u.l.engine.PeerFailed
	if left {
		end = u.l.engine.PeerLeft
	}
	end(p.data.link, p.ep)
}

func (u linkUse) owed(link transport.Link) bool {
	return u.l.engine.Owed(link) || u.l.cfg.Lane != nil && u.l.cfg.Lane.SomeWaiting != 0
}

// linkAdded: a thread that sleeps has not armed the link.
func (u linkUse) linkAdded() {
	u.l.peers.publishLinks(u.l.cfg.Lane)
	u.l.sleep.added = u.l.sleep.asleep
}

// linkRemoved: C must not use the link any more, which is closed next.
func (u linkUse) linkRemoved() {
	u.l.nodeConns.freeLingering()
	u.l.peers.publishLinks(u.l.cfg.Lane)
}
