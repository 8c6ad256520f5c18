package cm

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
)

// Secret is what the two ends of a connection share, and nobody else.
type Secret [32]byte

// PublicKey is a process's identity: the process that has its private key.
type PublicKey [keySize]byte

// NewKey makes a process's key of unpredictable numbers.
func NewKey(random func() uint64) *ecdh.PrivateKey {
	for {
		var b [32]byte
		for i := 0; i < len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], random())
		}
		if k, err := ecdh.X25519().NewPrivateKey(b[:]); err == nil {
			return k
		}
	}
}

// agree makes the secret of two processes, which both public keys are a part of: a key that was
// changed on the way to another form of the same number makes another secret. False: the peer's key
// is none.
func agree(own *ecdh.PrivateKey, mine, peer PublicKey, shared []byte) (s Secret, ok bool) {
	public, err := ecdh.X25519().NewPublicKey(peer[:])
	if err != nil {
		return s, false
	}
	common, err := own.ECDH(public)
	if err != nil {
		return s, false
	}
	low, high := mine, peer
	if bytes.Compare(low[:], high[:]) > 0 {
		low, high = high, low
	}
	b, err := hkdf.Key(sha256.New, append(common, shared...), nil,
		"lapi dat processes "+string(low[:])+string(high[:]), len(s))
	if err != nil {
		return s, false
	}
	return Secret(b), true
}

// of is the secret of one connection of the two, by its numbers, the active side's first.
func (s Secret) of(n1, n2 uint64) Secret {
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[0:], n1)
	binary.LittleEndian.PutUint64(numbers[8:], n2)
	return Secret(s.Derive("lapi dat connection "+string(numbers[:]), len(s)))
}

// Derive makes a key of size bytes for one purpose.
func (s Secret) Derive(purpose string, size int) []byte {
	b, err := hkdf.Expand(sha256.New, s[:], purpose, size)
	if err != nil {
		panic(err) // size is a constant of the caller's
	}
	return b
}

// proof is what a message is proved by.
func proof(key []byte, b []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(b[:provedSize])
	return h.Sum(nil)[:proofSize]
}

func seal(key, b []byte) { copy(b[provedSize:], proof(key, b)) }

func proved(key, b []byte) bool { return hmac.Equal(proof(key, b), b[provedSize:]) }

// cookieLife is for how long a cookie is good, at least; at most for twice that. In ns.
const cookieLife = 60e9

// cookie is the cookie that a request from an address must bring. Only a process that receives
// packets sent to that address knows it.
func (m *Machine) cookie(now int64, from netip.AddrPort) uint64 {
	h := hmac.New(sha256.New, m.cookieKey[:])
	ip := from.Addr().As16()
	h.Write(ip[:])
	var b [10]byte
	binary.LittleEndian.PutUint16(b[:], from.Port())
	binary.LittleEndian.PutUint64(b[2:], uint64(now/cookieLife))
	h.Write(b[:])
	c := binary.LittleEndian.Uint64(h.Sum(nil))
	if c == 0 {
		return 1
	}
	return c
}

// reaches says whether a request proves that packets to its address reach its sender.
func (m *Machine) reaches(now int64, from netip.AddrPort, msg *Message) bool {
	return msg.Cookie == m.cookie(now, from) || msg.Cookie == m.cookie(now-cookieLife, from)
}

// cookiesMax is how many peers' cookies are kept for the next connection to them.
const cookiesMax = 256

// keepCookie keeps what a peer has given, so that the next connection to it needs no Challenge.
func (m *Machine) keepCookie(peer netip.AddrPort, cookie uint64) {
	if len(m.cookies) >= cookiesMax {
		clear(m.cookies)
	}
	m.cookies[peer] = cookie
}

// Proof proves that the sender of b, for one purpose, has the secret: 32 bytes.
func (s Secret) Proof(purpose string, b []byte) []byte {
	h := hmac.New(sha256.New, s.Derive(purpose, len(s)))
	h.Write(b)
	return h.Sum(nil)
}
