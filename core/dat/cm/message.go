package cm

import (
	"encoding/binary"
	"errors"
)

// Kind is what a message says.
type Kind uint8

// The kinds.
const (
	Request   Kind = 1 + iota // active: connect me
	Challenge                 // passive: again, with this cookie
	Wait                      // passive: the request has come, and is pending
	Accept                    // passive: private data, and what the active side must know
	Ready                     // active: Accept has come
	Reject                    // passive: the consumer does not want it
	Refuse                    // passive: nobody listens at this qualifier
	Cancel                    // active: it does not want it any more

	lastKind = Cancel
)

// Sizes in bytes.
const (
	PrivateMax  = 256 // private data
	CardSize    = 96  // the owners' data for each other
	keySize     = 32
	proofSize   = 16
	provedSize  = 64 + keySize + CardSize + PrivateMax
	MessageSize = provedSize + proofSize // of every message
)

// magic begins each message; its last byte is the version.
const magic = 0x31_44_50_41_4c_49_55_43 // "CUILAPD1"

// Message is one datagram.
//
//	 0  magic                            u64
//	 8  kind, service, private data's length (u16), 0 (u32)
//	16  From: the sender's number        u64
//	24  To: the receiver's, 0 unknown    u64
//	32  Qualifier                        u64
//	40  Cookie of Challenge and Request  u64
//	48  0                                16 bytes
//	64  Key: the sender's public key     32 bytes
//	96  Card                             96 bytes
//	192 Private                          256 bytes
//	448 proof                            16 bytes
type Message struct {
	Kind      Kind
	Service   uint8 // of the endpoint: the owners must agree
	From, To  uint64
	Qualifier uint64
	Cookie    uint64
	Key       PublicKey
	Card      [CardSize]byte
	Private   []byte // at most PrivateMax; of a decoded one a part of the datagram
}

// ErrMessage is the error of a datagram that is no message.
var ErrMessage = errors.New("cm: not a message")

// put writes m to b, MessageSize bytes, without proof.
func (m *Message) put(b []byte) {
	clear(b)
	le := binary.LittleEndian
	le.PutUint64(b[0:], magic)
	b[8], b[9] = byte(m.Kind), m.Service
	le.PutUint16(b[10:], uint16(len(m.Private)))
	le.PutUint64(b[16:], m.From)
	le.PutUint64(b[24:], m.To)
	le.PutUint64(b[32:], m.Qualifier)
	le.PutUint64(b[40:], m.Cookie)
	copy(b[64:], m.Key[:])
	copy(b[96:], m.Card[:])
	copy(b[96+CardSize:], m.Private)
}

// decode reads a datagram. It proves nothing.
func (m *Message) decode(b []byte) error {
	le := binary.LittleEndian
	if len(b) != MessageSize || le.Uint64(b) != magic {
		return ErrMessage
	}
	n := int(le.Uint16(b[10:]))
	*m = Message{Kind: Kind(b[8]), Service: b[9], From: le.Uint64(b[16:]), To: le.Uint64(b[24:]),
		Qualifier: le.Uint64(b[32:]), Cookie: le.Uint64(b[40:])}
	if m.Kind < Request || m.Kind > lastKind || n > PrivateMax || m.From == 0 {
		return ErrMessage
	}
	copy(m.Key[:], b[64:])
	copy(m.Card[:], b[96:])
	m.Private = b[96+CardSize:][:n:n]
	return nil
}
