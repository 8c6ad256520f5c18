package rendezvous

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keepAlive finds a peer whose host is gone within half a minute.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
	Interval: 4 * time.Second, Count: 5}

// errUnproved is a message without the proof that it is of this job and this conversation.
var errUnproved = errors.New("it does not prove that it has this job's key")

const messageHead = 8 + proofSize

// stream is one side of a conversation. Sending and receiving may be in two goroutines.
type stream struct {
	*net.TCPConn
	raw   syscall.RawConn
	prove prover
	out   direction // of what this side sends
}

func newStream(c net.Conn, key []byte, out direction) (*stream, error) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, fmt.Errorf("a connection of kind %T", c)
	}
	raw, err := tcp.SyscallConn()
	return &stream{TCPConn: tcp, raw: raw, prove: prover{key: key}, out: out}, err
}

// Write writes all of b. A peer that has gone is an error, never a signal: the process is the
// user's.
func (s *stream) Write(b []byte) (n int, err error) {
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

// greet is the caller's part of opening and challenge: it returns what task 0 said.
func (s *stream) greet(mine opening) (theirs opening, err error) {
	first := mine.encode()
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
	if !proved(proof[:], s.prove.proof(toCaller, kindChallenge, 0, digest{})) {
		return theirs, errUnproved
	}
	return theirs, nil
}

// challenge is task 0's part: it returns what the caller said.
func (s *stream) challenge(mine opening) (theirs opening, err error) {
	theirs, first, err := readOpening(s)
	if err != nil {
		return theirs, err
	}
	second := mine.encode()
	s.bind(first, second)
	_, err = s.Write(append(second, s.prove.proof(toCaller, kindChallenge, 0, digest{})...))
	return theirs, err
}

func (s *stream) bind(first, second []byte) {
	s.prove.bind = sha256.Sum256(append(first[:len(first):len(first)], second...))
}

// content is that of a message, with its hash: one is made for many.
type content struct {
	bytes []byte
	hash  digest
}

func newContent(b []byte) content { return content{b, sha256.Sum256(b)} }

func (s *stream) send(k kind, c content) error {
	b := []byte{byte(k), 0, 0, 0}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.bytes)))
	b = append(b, s.prove.proof(s.out, k, len(c.bytes), c.hash)...)
	if len(c.bytes) <= 2*MaxCard {
		b = append(b, c.bytes...) // in one packet, if it is short
		c.bytes = nil
	}
	if _, err := s.Write(b); err != nil {
		return err
	}
	_, err := s.Write(c.bytes)
	return err
}

// receive reads a message. Its content may have as many bytes as most says for its kind; less than
// none: such a message must not come now.
func (s *stream) receive(most func(kind) int) (kind, []byte, error) {
	var head [messageHead]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return 0, nil, err
	}
	k, length := kind(head[0]), binary.LittleEndian.Uint32(head[4:])
	if head[1]|head[2]|head[3] != 0 || int64(length) > int64(most(k)) {
		return 0, nil, errStranger
	}
	b, err := readContent(s, int(length))
	if err != nil {
		return 0, nil, err
	}
	other := toHost + toCaller - s.out
	if !proved(head[8:], s.prove.proof(other, k, len(b), sha256.Sum256(b))) {
		return 0, nil, errUnproved
	}
	return k, b, nil
}
