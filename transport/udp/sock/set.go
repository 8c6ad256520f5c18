package sock

import (
	"errors"
	"math/bits"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Set is the sockets of a task, looked at in turn: those to which packets have come lately, at one
// system call a look; now and then all. So silent ones cost nothing. Its owner's lock protects it.
type Set struct {
	sockets []*Socket
	watch   *Watch // nil: the kernel tells nothing of interfaces
	next    int    // the socket to look at
	lively  uint   // those looked at: a bit each; never 0
	row     int    // packets in a row from it
	empties int    // looks in a row that found nothing
	quiet   []int  // for each socket, rounds in which nothing came
	turns   int    // until the next round
	polls   []unix.PollFd
	ready   bool // the watch has something
}

const (
	// roundTurns looks make a round; after it every socket is asked for, in one system call. It
	// bounds how long a packet to a silent socket waits.
	roundTurns = 64
	// loneTurns is that for a task with one socket, where only the interfaces' state is asked
	// for.
	loneTurns = 4096
	// fairShare looks in a row find something at one socket before the next has a turn.
	fairShare = 8
	// quietRounds without a packet make a socket silent.
	quietRounds = 16
)

// Add puts a socket, which becomes the set's, behind the others.
func (s *Set) Add(x *Socket) {
	s.lively |= 1 << len(s.sockets)
	s.sockets = append(s.sockets, x)
	s.quiet = append(s.quiet, 0)
	s.polls = append(s.polls, unix.PollFd{Fd: int32(x.fd), Events: unix.POLLIN})
}

// Watch makes the set learn the state of the sockets' addresses from w, which becomes the set's.
// Called after the last Add.
func (s *Set) Watch(w *Watch) {
	s.watch = w
	s.polls = append(s.polls, unix.PollFd{Fd: int32(w.fd), Events: unix.POLLIN})
	s.ready = true
}

// Len is how many sockets there are.
func (s *Set) Len() int { return len(s.sockets) }

// At is socket i.
func (s *Set) At(i int) *Socket { return s.sockets[i] }

// Descriptors are those to sleep on. They stay the set's.
func (s *Set) Descriptors() (fds []int) {
	for i := range s.polls {
		fds = append(fds, int(s.polls[i].Fd))
	}
	return fds
}

// Waiting says whether Receive has a datagram without a system call.
func (s *Set) Waiting() bool { return s.sockets[s.next].Waiting() }

// Receive takes a datagram from the socket whose turn it is, whose number is i. See Socket.Receive.
func (s *Set) Receive() (i int, b []byte, from netip.AddrPort, ok bool) {
	if s.turns--; s.turns <= 0 {
		s.round()
	}
	i = s.next
	if b, from, ok = s.sockets[i].Receive(); ok {
		s.empties, s.quiet[i] = 0, 0
		if s.row++; s.row >= fairShare && !s.sockets[i].Waiting() {
			s.turn()
		}
		return i, b, from, true
	}
	s.empties++
	s.turn()
	return i, nil, from, false
}

// turn goes on to the next of the sockets that are looked at.
func (s *Set) turn() {
	s.row = 0
	i := s.next
	if later := s.lively >> (i + 1) << (i + 1); later != 0 {
		s.next = bits.TrailingZeros(later)
	} else {
		s.next = bits.TrailingZeros(s.lively)
	}
}

// Empty says whether the latest looks found nothing at any socket in use.
func (s *Set) Empty() bool { return s.empties >= bits.OnesCount(s.lively) }

// Woken is called after a sleep on the descriptors: anything may have come.
func (s *Set) Woken() { s.turns = 0 }

// round asks whether packets have come to the sockets that are not looked at, and whether the
// interfaces' state has changed.
func (s *Set) round() {
	s.turns = roundTurns
	if len(s.sockets) == 1 {
		s.turns = loneTurns
	}
	if len(s.polls) == 1 {
		return
	}
	if _, ok := s.ask(); !ok {
		return
	}
	for i := range s.sockets {
		if s.polls[i].Revents == 0 {
			s.quiet[i]++
		}
		if s.quiet[i] > quietRounds && s.lively != 1<<i && i != s.next {
			s.lively &^= 1 << i
		}
	}
}

// ask asks the kernel what has come to any socket, and of the interfaces' state. If something has,
// the next look finds it.
func (s *Set) ask() (some, ok bool) {
	if n, err := unix.Poll(s.polls, 0); n < 0 || err != nil {
		return false, false
	}
	for i := range s.sockets {
		if s.polls[i].Revents == 0 {
			continue
		}
		s.quiet[i] = 0
		s.lively |= 1 << i
		if !some && s.polls[s.next].Revents == 0 && !s.sockets[s.next].Waiting() {
			s.next, s.row = i, 0
		}
		some = true
	}
	if some {
		s.empties = 0
	}
	if s.watch != nil && s.polls[len(s.sockets)].Revents != 0 {
		s.ready = true
	}
	return some, true
}

// Silent says whether nothing waits at any socket, which costs a system call. If something does,
// the next Receive finds it.
func (s *Set) Silent() bool {
	if s.Waiting() {
		return false
	}
	some, ok := s.ask()
	return ok && !some
}

// Changes calls changed for each socket whose address can be used now and could not before, or the
// other way about, as far as that has been noticed.
func (s *Set) Changes(changed func(i int, usable bool)) {
	if s.ready {
		s.ready = false
		s.watch.Look(changed)
	}
}

// Close closes the sockets.
func (s *Set) Close() (err error) {
	for _, x := range s.sockets {
		err = errors.Join(err, x.Close())
	}
	if s.watch != nil {
		err = errors.Join(err, s.watch.Close())
	}
	return err
}
