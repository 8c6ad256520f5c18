package job

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"

	"lapi/core/job/adapters"
)

// fieldCard is what a task sends to the others through a launcher of the field. On the wire: a
// version (8), the node's identity, the name of a socket, the port (16, little-endian), the length
// of the host's name (8), that name, the network interfaces, and of task 0 a secret: a name for the
// job, and its key; or both sealed.
type fieldCard struct {
	node   [nodeSize]byte
	socket [socketSize]byte // names the socket at which the tasks of its node find it
	port   uint16           // of TCP, where other nodes' hubs find it
	host   string           // for messages
	nics   adapters.Node
	secret []byte // of task 0: nameSize and KeySize bytes, or these sealed (seal.go)
}

const (
	fieldVersion = 4
	nodeSize     = 16
	socketSize   = 8
	nameSize     = 8
	maxHost      = 64
)

var errCard = errors.New("it runs another version of the library")

// fill writes where the task is; first: it is task 0 and makes the secret.
func (f *fieldCard) fill(at place, first bool) {
	sum := sha256.Sum256([]byte(at.text))
	copy(f.node[:], sum[:])
	f.host = at.host[:min(len(at.host), maxHost)]
	f.nics.Namespace = 0
	if at.network != "" { // the kernel's own number is good on one machine only
		sum = sha256.Sum256([]byte(at.network))
		f.nics.Namespace = binary.LittleEndian.Uint64(sum[:])
	}
	rand.Read(f.socket[:]) // never fails, says its documentation
	if first {
		f.secret = make([]byte, nameSize+KeySize)
		rand.Read(f.secret)
	}
}

func (f *fieldCard) encode() []byte {
	b := append([]byte{fieldVersion}, f.node[:]...)
	b = append(b, f.socket[:]...)
	b = binary.LittleEndian.AppendUint16(b, f.port)
	b = append(b, byte(len(f.host)))
	b = append(b, f.host...)
	b = f.nics.Append(b)
	return append(b, f.secret...)
}

// decodeFieldCard reads a card; its secret stays where it is in b.
func decodeFieldCard(b []byte) (f fieldCard, err error) {
	const head = 1 + nodeSize + socketSize + 2 + 1
	if len(b) < head || b[0] != fieldVersion || int(b[head-1]) > maxHost ||
		len(b) < head+int(b[head-1]) {
		return f, errCard
	}
	copy(f.node[:], b[1:])
	copy(f.socket[:], b[1+nodeSize:])
	f.port = binary.LittleEndian.Uint16(b[1+nodeSize+socketSize:])
	end := head + int(b[head-1])
	f.host = string(b[head:end])
	if f.nics, f.secret, err = adapters.Decode(b[end:]); err != nil {
		return f, errCard
	}
	n := len(f.secret)
	if n != 0 && n != nameSize+KeySize && (n > maxSealed || !isSealed(f.secret)) {
		return f, errCard
	}
	return f, nil
}
