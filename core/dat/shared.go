package dat

import "lapi/core/dat/codes"

// CookieSize is the bytes of a DAT_LMR_COOKIE.
const CookieSize = 40

// sharedMemory is memory that several processes have mapped, each at its own address. They name it
// by a cookie. Each process registers a context of its own: they share only the name, which must
// mean memory of one length.
type sharedMemory struct {
	length uint64
	users  int
}

// share registers the memory of a cookie for m. The program's copy of the cookie may go: queries
// show the library's.
func (m *LMR) share(ia *IA, cookie []byte) codes.Return {
	l, key := ia.library, string(cookie)
	s := l.shared[key]
	if s != nil && s.length != m.Length {
		return codes.LengthError.With(codes.NoSubtype)
	}
	at, r := m.cookie.keep(ia, cookie)
	if r != codes.Success {
		return r
	}
	if s == nil {
		s = &sharedMemory{length: m.Length}
		if l.shared == nil {
			l.shared = map[string]*sharedMemory{}
		}
		l.shared[key] = s
	}
	s.users++
	m.shared, m.Region[1] = s, at
	return codes.Success
}

// unshare is its end.
func (m *LMR) unshare() {
	if m.shared == nil {
		return
	}
	if m.shared.users--; m.shared.users == 0 {
		delete(m.cookie.ia.library.shared, string(m.cookie.b[:CookieSize]))
	}
	m.shared = nil
	m.cookie.release()
}
