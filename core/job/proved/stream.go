package proved

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrUnproved is a message without the proof that it is of this job and this conversation.
var ErrUnproved = errors.New("it does not prove that it has this job's key")

// Stream is one side of a conversation. Sending and receiving may be in two goroutines.
type Stream struct {
	*net.TCPConn
	raw            syscall.RawConn
	prove          prover
	out            Direction // of what this side sends
	sent, received uint64    // messages
}

// New makes one of c, a TCP connection, for which Key has made the key. It takes c over unless
// there is an error. The key must stay as it is.
func New(c net.Conn, key []byte, out Direction) (*Stream, error) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("a connection of kind %T", c)
	}
	raw, err := tcp.SyscallConn()
	return &Stream{TCPConn: tcp, raw: raw, prove: prover{key: key}, out: out}, err
}

// Write writes all of b. A peer that has gone is an error, never a signal: the process is the
// user's.
func (s *Stream) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var k int
		var failed error
		err = s.raw.Write(func(fd uintptr) bool {
			for {
				k, failed = unix.SendmsgN(int(fd), b[n:], nil, nil, unix.MSG_NOSIGNAL)
				if failed != unix.EINTR {
					return failed != unix.EAGAIN
				}
			}
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			n += k
		}
	}
	return n, err
}

// Greet is the caller's part of opening and challenge: it returns what the host said.
func (s *Stream) Greet(mine Opening) (theirs Opening, err error) {
	first := mine.Encode()
	if _, err := s.Write(first); err != nil {
		return theirs, err
	}
	theirs, second, err := readOpening(s)
	if err != nil {
		return theirs, err
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(s, proof[:]); err != nil {
		return theirs, err
	}
	s.bind(first, second)
	if !proved(proof[:], s.prove.proof(ToCaller, challenge, 0, 0, digest{})) {
		return theirs, ErrUnproved
	}
	return theirs, nil
}

// Challenge is the host's part: it returns what the caller said.
func (s *Stream) Challenge(mine Opening) (theirs Opening, err error) {
	theirs, first, err := readOpening(s)
	if err != nil {
		return theirs, err
	}
	second := mine.Encode()
	s.bind(first, second)
	_, err = s.Write(append(second, s.prove.proof(ToCaller, challenge, 0, 0, digest{})...))
	return theirs, err
}

func (s *Stream) bind(first, second []byte) {
	s.prove.bind = sha256.Sum256(append(first[:len(first):len(first)], second...))
}

// Content is that of a message, with its hash: one is made for many.
type Content struct {
	bytes []byte
	hash  digest
}

// NewContent hashes b, which must stay as it is until it is sent.
func NewContent(b []byte) Content { return Content{b, sha256.Sum256(b)} }

// inOnePacket is how long a content may be to be copied behind its head.
const inOnePacket = 32 << 10

// Send sends a message.
func (s *Stream) Send(k Kind, c Content) error {
	b := []byte{byte(k), 0, 0, 0}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.bytes)))
	b = append(b, s.prove.proof(s.out, k, s.sent, len(c.bytes), c.hash)...)
	s.sent++
	if len(c.bytes) <= inOnePacket {
		b = append(b, c.bytes...)
		c.bytes = nil
	}
	if _, err := s.Write(b); err != nil {
		return err
	}
	_, err := s.Write(c.bytes)
	return err
}

// Receive reads a message. Its content may have as many bytes as most says for its kind; less than
// none: such a message must not come now. Memory is taken as bytes come, not as they are announced.
func (s *Stream) Receive(most func(Kind) int) (Kind, []byte, error) {
	var head [HeadSize]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return 0, nil, err
	}
	k, length := Kind(head[0]), binary.LittleEndian.Uint32(head[4:])
	if head[1]|head[2]|head[3] != 0 || int64(length) > int64(most(k)) {
		return 0, nil, ErrStranger
	}
	b, err := readContent(s, int(length))
	if err != nil {
		return 0, nil, err
	}
	other := ToHost + ToCaller - s.out
	if !proved(head[8:], s.prove.proof(other, k, s.received, len(b), sha256.Sum256(b))) {
		return 0, nil, ErrUnproved
	}
	s.received++
	return k, b, nil
}
