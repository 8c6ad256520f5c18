package sockets

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/dat"
)

// claimer is the network of a process that says it can share memory, under another's name.
type claimer struct {
	*Network
	other *process
}

// Receive implements dat.Network: the other process works meanwhile.
func (c claimer) Receive(most int, m dat.Arrivals) int {
	c.other.l.Progress()
	return c.Network.Receive(most, m)
}

// Door implements dat.Network. The name is taken.
func (c claimer) Door(name [16]byte) error {
	var own [16]byte
	binary.LittleEndian.PutUint64(own[:], rand.Uint64())
	return c.Network.Door(own)
}

// newThief is a process that claims the process number of another.
func newThief(t *testing.T, of *process) *process {
	number, n := of.l.Process(), 0
	random = func() uint64 {
		if n += 8; n <= len(number) {
			return binary.LittleEndian.Uint64(number[n-8:])
		}
		return rand.Uint64()
	}
	defer func() { random = rand.Uint64 }()
	p := newProcessAs(t, Config{}, nil, func(n *Network) dat.Network { return claimer{n, of} })
	if p.l.Process() != number {
		t.Fatal("the thief has a number of its own")
	}
	return p
}

// TestClaimedNumber: a process that claims the number of another process of the node gets its own
// data only, and does not keep the other from sharing memory, whichever side connects.
func TestClaimedNumber(t *testing.T) {
	for _, active := range []bool{true, false} {
		server, alice := newProcess(t), newProcess(t)
		thief := newThief(t, alice)
		ends := map[*process][2]*end{}
		for _, c := range []*process{thief, alice} {
			e := [2]*end{c.end(nil, 0), server.end(nil, 0)}
			if ends[c] = e; active {
				connect(t, e[0], e[1])
			} else {
				connect(t, e[1], e[0])
			}
		}
		for _, e := range ends {
			exchange(t, e[0], e[1])
			exchange(t, e[1], e[0])
		}
		byShm(t, 1, alice)
		if active { // and so by itself: the two are of one user
			byShm(t, 2, server)
			byShm(t, 1, thief)
		} else { // the socket of that name is not the thief's
			byShm(t, 1, server)
			byShm(t, 0, thief)
		}
	}
}

// TestOtherUser: a process of another user that dials is shown the door, however often, and the
// processes of this user share memory as before.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	p, q := newProcess(t), newProcess(t)
	const nobody = 65534
	fds := make(chan int, 3*silentMax)
	go func() {
		defer close(fds)
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), nobody, ^uintptr(0)); e != 0 {
			t.Errorf("setresuid: %v", e)
			return
		}
		for range cap(fds) {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Error(err)
				return
			}
			if err = unix.Connect(fd, &unix.SockaddrUnix{Name: doorName(p.l.Process())}); err != nil {
				t.Error(err)
			}
			fds <- fd
		}
	}()
	n := 0
	for fd := range fds {
		n++
		t.Cleanup(func() { unix.Close(fd) })
		p.l.Progress()
		p.network.Woken()
	}
	a, b := q.end(nil, 0), p.end(nil, 0)
	connect(t, a, b)
	exchange(t, a, b)
	byShm(t, 1, p, q)
	if len(p.network.door.lines) != 1 || n != cap(fds) {
		t.Errorf("%d lines, after %d strangers", len(p.network.door.lines), n)
	}
}
