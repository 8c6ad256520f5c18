package verbs

import (
	"unsafe"

	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/layout"
)

// share makes what C also uses: off the Go heap, if C uses it.
func (s *sharing) share() (err error) {
	l := s.link
	if l.native() {
		l.shared, err = mapped[layout.VerbsLink](l)
		return err
	}
	l.shared = new(layout.VerbsLink)
	return nil
}

// mapped is a T, all zero, on pages that unshare gives back.
func mapped[T any](l *Link) (*T, error) {
	b, err := arena.Map(int(unsafe.Sizeof(*new(T))))
	if err != nil {
		return nil, err
	}
	l.pages = append(l.pages, b)
	return (*T)(unsafe.Pointer(&b[0])), nil
}

// unshare gives the memory back. Nothing uses the link any more.
func (s *sharing) unshare() {
	l := s.link
	for _, p := range l.peers {
		p.Leave()
	}
	l.ports.Unshare()
	l.shared = copied(l.shared)
	for _, b := range l.pages {
		arena.Unmap(b)
	}
	l.pages = nil
}

func copied[T any](of *T) *T {
	c := *of
	return &c
}

// newPort is what of a port C also uses.
func (s *sharing) newPort(int) *layout.VerbsPort {
	l := s.link
	if l.native() {
		if m, err := mapped[layout.VerbsPort](l); err == nil {
			l.shared.Port[l.shared.Ports] = addressOf(m)
			l.shared.Ports++
			return m
		}
	}
	return new(layout.VerbsPort)
}

// newShared is the part of ep's peer that C uses, too. The earlier peer, whose connection has
// ended, keeps a copy.
func (s *sharing) newShared(ep transport.Endpoint) *layout.VerbsPeer {
	l := s.link
	if old := l.peers[ep]; old != nil {
		return old.Leave()
	}
	if l.native() {
		if m, err := mapped[layout.VerbsPeer](l); err == nil {
			return m
		}
	}
	return new(layout.VerbsPeer)
}

func addressOf[T any](at *T) uint64 { return uint64(uintptr(unsafe.Pointer(at))) }

// Tasks has C find the peers by task: there are n. False: C does not take part.
func (s *sharing) Tasks(n int) bool {
	l := s.link
	if !l.native() || l.tasks != nil {
		return l.tasks != nil
	}
	b, err := arena.Map(8 * n)
	if err != nil {
		return false
	}
	l.pages = append(l.pages, b)
	l.tasks = unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n)
	l.shared.PeerOf, l.shared.Tasks = addressOf(&l.tasks[0]), uint64(n)
	return true
}

// Shared is where C finds all of it.
func (s *sharing) Shared() uint64 { return addressOf(s.shared) }
