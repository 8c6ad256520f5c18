package job

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
)

// fieldCard is what a task tells the others by a launcher of the field. On the wire: a version (8),
// the node's identity, the length of the host's name (8), the name, and of task 0 a secret: a name
// for the job, and its key.
type fieldCard struct {
	node   [nodeSize]byte
	host   string // for messages
	secret []byte // of task 0: nameSize and KeySize bytes
}

const (
	fieldVersion = 1
	nodeSize     = 16
	nameSize     = 8
	maxHost      = 64
)

var errCard = errors.New("it runs another version of the library")

// ownCard is this task's; first: it is task 0 and makes the secret.
func ownCard(first bool) (f fieldCard, err error) {
	text, host, err := nodeText()
	if err != nil {
		return f, err
	}
	sum := sha256.Sum256([]byte(text))
	copy(f.node[:], sum[:])
	f.host = host[:min(len(host), maxHost)]
	if first {
		f.secret = make([]byte, nameSize+KeySize)
		rand.Read(f.secret) // never fails, says its documentation
	}
	return f, nil
}

func (f *fieldCard) encode() []byte {
	b := append([]byte{fieldVersion}, f.node[:]...)
	b = append(b, byte(len(f.host)))
	b = append(b, f.host...)
	return append(b, f.secret...)
}

// decodeFieldCard reads a card; its secret stays where it is in b.
func decodeFieldCard(b []byte) (f fieldCard, err error) {
	const head = 1 + nodeSize + 1
	if len(b) < head || b[0] != fieldVersion || int(b[head-1]) > maxHost {
		return f, errCard
	}
	copy(f.node[:], b[1:])
	end := head + int(b[head-1])
	if len(b) != end && len(b) != end+nameSize+KeySize {
		return f, errCard
	}
	f.host, f.secret = string(b[head:end]), b[end:]
	return f, nil
}
