package hub

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

// A trunk is a TCP connection between two hubs of a job. The one that dials speaks first:
//
//	dialing                                       listening
//	magic, its node, nonce           ─────>
//	                                 <─────       nonce, proof of all before
//	proof of all before              ─────>
//	frames                           <────>       frames
//
// A proof is a keyed hash under a key made from the job's. A frame is its length (32 bits,
// little-endian), a keyed hash of 16 bytes, and a note. The hash covers how many frames there were
// before, and each direction has a key of its own, of this connection only: so nothing can be
// altered, left out, repeated or sent back. Notes are readable: they hold addresses, no secrets.

const (
	trunkMagic   = "LAPItrk1"
	nonceSize    = 32
	proofSize    = sha256.Size
	firstSize    = len(trunkMagic) + 4 + nonceSize
	hashSize     = 16
	trunkLimit   = 10 * time.Second // for the first words
	maxFrame     = wire.MaxMessage + noteHeader
	silenceLimit = 45 * time.Second // after which a node that acknowledges nothing is gone
)

var errProof = errors.New("it does not have the job's key")

// trunk is one hub's end.
type trunk struct {
	hub  *Hub
	node int
	conn net.Conn // nil until it is attached; guarded by Hub.mu, as is
	// heard: the last of this hub's questions that the other has answered
	heard uint32

	queue queue[[]byte] // notes
}

func newTrunk(h *Hub, node int) *trunk {
	return &trunk{hub: h, node: node, queue: newQueue[[]byte]()}
}

// Proved is a connection to another hub of the job, which has proved that it is one.
type Proved struct {
	Node     int // the other's
	conn     net.Conn
	in, out  hash.Hash // keyed, for frames
	received uint64
	sent     uint64
}

// Dial speaks first on a connection to a node's hub. It takes conn over.
func Dial(conn net.Conn, key []byte, me, node int) (*Proved, error) {
	said := make([]byte, firstSize, 2*firstSize+proofSize)
	copy(said, trunkMagic)
	binary.LittleEndian.PutUint32(said[len(trunkMagic):], uint32(me))
	rand.Read(said[firstSize-nonceSize:])
	secret := trunkSecret(key)
	return meet(conn, func() (*Proved, error) {
		if _, err := conn.Write(said); err != nil {
			return nil, err
		}
		answer := make([]byte, nonceSize+proofSize)
		if _, err := io.ReadFull(conn, answer); err != nil {
			return nil, err
		}
		said = append(said, answer[:nonceSize]...)
		if !hmac.Equal(answer[nonceSize:], proof(secret, "listening", said)) {
			return nil, errProof
		}
		if _, err := conn.Write(proof(secret, "dialing", said)); err != nil {
			return nil, err
		}
		return &Proved{Node: node, conn: conn, out: frameHash(secret, "dialing", said),
			in: frameHash(secret, "listening", said)}, nil
	})
}

// Accept answers on a connection from somebody who says to be a hub of the job. It takes conn over.
func Accept(conn net.Conn, key []byte) (*Proved, error) {
	secret := trunkSecret(key)
	return meet(conn, func() (*Proved, error) {
		said := make([]byte, firstSize, 2*firstSize)
		if _, err := io.ReadFull(conn, said); err != nil {
			return nil, err
		}
		if string(said[:len(trunkMagic)]) != trunkMagic {
			return nil, errors.New("it speaks something else")
		}
		node := binary.LittleEndian.Uint32(said[len(trunkMagic):])
		nonce := make([]byte, nonceSize)
		rand.Read(nonce)
		said = append(said, nonce...)
		if _, err := conn.Write(append(nonce, proof(secret, "listening", said)...)); err != nil {
			return nil, err
		}
		answer := make([]byte, proofSize)
		if _, err := io.ReadFull(conn, answer); err != nil {
			return nil, err
		}
		if !hmac.Equal(answer, proof(secret, "dialing", said)) || node >= wire.MaxTasks {
			return nil, errProof
		}
		return &Proved{Node: int(node), conn: conn, out: frameHash(secret, "listening", said),
			in: frameHash(secret, "dialing", said)}, nil
	})
}

// meet says the first words within a time.
func meet(conn net.Conn, words func() (*Proved, error)) (*Proved, error) {
	err := conn.SetDeadline(time.Now().Add(trunkLimit))
	if err == nil {
		var p *Proved
		if p, err = words(); err == nil {
			if err = conn.SetDeadline(time.Time{}); err == nil {
				return p, nil
			}
		}
	}
	conn.Close()
	return nil, err
}

// trunkSecret is made from the job key, which the hash reads where it is.
func trunkSecret(key []byte) []byte {
	h := sha256.New()
	h.Write(key)
	h.Write([]byte("trunk between two hubs"))
	return h.Sum(nil)
}

func proof(secret []byte, who string, said []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(who))
	h.Write(said)
	return h.Sum(nil)
}

// frameHash is what proves the frames of one direction.
func frameHash(secret []byte, who string, said []byte) hash.Hash {
	return hmac.New(sha256.New, proof(secret, "frames of the "+who, said))
}

func (p *Proved) hash(h hash.Hash, count uint64, b []byte) []byte {
	h.Reset()
	h.Write(binary.LittleEndian.AppendUint64(nil, count))
	h.Write(b)
	return h.Sum(nil)[:hashSize]
}

// write sends a frame.
func (p *Proved) write(b []byte) error {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+hashSize+len(b)), uint32(len(b)))
	frame = append(frame, p.hash(p.out, p.sent, b)...)
	p.sent++
	_, err := p.conn.Write(append(frame, b...))
	return err
}

// read waits for a frame. What is announced takes memory only as it comes.
func (p *Proved) read() ([]byte, error) {
	var head [4 + hashSize]byte
	if _, err := io.ReadFull(p.conn, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, errProof
	}
	b, err := io.ReadAll(io.LimitReader(p.conn, int64(n)))
	if err == nil && uint32(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(head[4:], p.hash(p.in, p.received, b)) {
		return nil, errProof
	}
	p.received++
	return b, nil
}

// Attach makes p the way to its node, and reads it. An error: that node has one already, or is none
// of the others.
func (h *Hub) Attach(p *Proved) error {
	h.mu.Lock()
	var t *trunk
	if s := h.span; s != nil && p.Node < len(s.trunks) && s.trunks[p.Node] != nil {
		t = s.trunks[p.Node]
	}
	if t != nil && t.conn != nil {
		t = nil
	}
	if t != nil {
		t.conn = p.conn
	}
	h.mu.Unlock()
	if t == nil {
		p.conn.Close()
		return fmt.Errorf("node %d is here already, or none of this job's", p.Node)
	}
	watchSilence(p.conn)
	go t.writeAll(p)
	go t.readAll(p)
	return nil
}

// watchSilence has the kernel end a connection whose other end acknowledges nothing: the process
// there may be stopped for as long as it likes, the machine may not be gone.
func watchSilence(conn net.Conn) {
	c, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
		Interval: 5 * time.Second, Count: 7})
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
				int(silenceLimit/time.Millisecond))
		})
	}
}

func (t *trunk) writeAll(p *Proved) {
	for {
		batch := t.queue.take()
		if batch == nil {
			return
		}
		for _, b := range batch {
			if p.write(b) != nil {
				return // reading tells why
			}
		}
	}
}

func (t *trunk) readAll(p *Proved) {
	var err error
	for err == nil {
		var b []byte
		if b, err = p.read(); err == nil {
			err = t.hub.heard(t.node, b)
		}
	}
	t.queue.end()
	p.conn.Close()
	silent := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	why := "has ended"
	switch {
	case silent:
		why = fmt.Sprintf("is on a node that does not answer (%v)", err)
	case err != io.EOF && !errors.Is(err, syscall.ECONNRESET):
		why = fmt.Sprintf("is lost: %v", err)
	}
	t.hub.Lost(t.node, silent, why)
}
