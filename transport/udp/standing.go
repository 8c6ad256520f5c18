package udp

import (
	"fmt"
	"time"

	"lapi/transport"
)

func (s sessionState) String() string {
	return [...]string{idle: "idle", handshaking: "handshaking", open: "open", closed: "closed",
		failed: "failed"}[s]
}

// Standing implements transport.Standings. A path is the peer's address, by the address of this
// task that it uses, and what is known of it.
func (l *Link) Standing(ep transport.Endpoint) (s transport.Standing) {
	s = transport.Standing{State: idle.String(), Unit: "packets"}
	if uint64(ep) >= uint64(len(l.peers)) || l.peers[ep] == nil {
		return s
	}
	p := l.peers[ep]
	w := &p.sender.window
	s.State = p.session.state.String()
	s.Unsent = uint64(w.Unsent())
	s.Sent = uint64(w.End()-firstSeq) - s.Unsent
	s.Acknowledged = uint64(w.Base() - firstSeq)
	if p.session.waitSince != 0 {
		s.Silent = time.Duration(l.clock() - p.session.waitSince)
	}
	locals := l.Locals()
	for i := range p.paths.Len() {
		r := p.paths.At(i)
		by := "any"
		if i < len(locals) {
			by = locals[i].Addr().String()
		}
		health := r.Health()
		if r.IsOffline() {
			health = "offline"
		}
		s.Paths = append(s.Paths, fmt.Sprintf("%s>%s:%s", by, r.Addr(), health))
	}
	return s
}
