package dat

import (
	"bytes"
	"crypto/hmac"
	"encoding/binary"

	"lapi/core/dat/cm"
	"lapi/core/job/wire"
)

// greeting is what a message by a line holds: the public keys of the sender and the receiver, where
// the sender's end of the link is; and, behind it, what proves it.
type greeting struct {
	from, to cm.PublicKey
	address  []byte
	body     []byte // without the proof
	proof    []byte
}

const proofSize = 32

func (g *greeting) seal(pair cm.Secret, kind wire.Kind, number uint32) []byte {
	b := bytes.Join([][]byte{g.from[:], g.to[:], g.address}, nil)
	return append(b, proofOf(pair, kind, number, b)...)
}

func proofOf(pair cm.Secret, kind wire.Kind, number uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{byte(kind)}, number)
	return pair.Proof("lapi dat node", append(b, body...))
}

// readGreeting takes a message apart; false: it is none. It proves nothing.
func readGreeting(b []byte) (g greeting, ok bool) {
	n := len(b) - proofSize
	if n < len(g.from)+len(g.to) {
		return g, false
	}
	copy(g.from[:], b)
	copy(g.to[:], b[len(g.from):])
	g.address, g.body, g.proof = b[len(g.from)+len(g.to):n], b[:n], b[n:]
	return g, true
}

// proved says whether the greeting in m is from a process that has the secret pair, for process me.
func (g *greeting) proved(pair cm.Secret, me cm.PublicKey, m *wire.Message) bool {
	return g.to == me && hmac.Equal(g.proof, proofOf(pair, m.Kind, m.Number, g.body))
}
