package shm

import (
	"encoding/binary"
	"errors"
	"testing"

	"lapi/transport"
	"lapi/transport/memory"
)

// listen makes l keep the first word of each message of kind 1.
func listen(l *Link) *[]uint64 {
	got := new([]uint64)
	l.Handle(1, func(m *transport.Msg) transport.Verdict {
		*got = append(*got, binary.LittleEndian.Uint64(m.Hdr))
		return transport.Accept
	})
	return got
}

func drain(links ...*Link) {
	for range 50 {
		for _, l := range links {
			l.Progress(64)
		}
	}
}

func reconnect(t *testing.T, l *Link, ep transport.Endpoint) {
	t.Helper()
	if err := l.Reconnect(ep, transport.Address{}); err != nil {
		t.Fatal(err)
	}
}

// TestReconnect: whichever of two living tasks disconnects and reconnects first, only messages sent
// after both have reconnected arrive, but for those that the first one sends while the other has
// not disconnected yet.
func TestReconnect(t *testing.T) {
	for name, full := range map[string]bool{"empty ring": false, "full ring": true} {
		t.Run(name, func(t *testing.T) {
			links := newLinks(t, 2)
			a, b := links[0], links[1]
			there, here := listen(b), listen(a)
			for round := uint64(1); round < 20; round++ {
				for i := 0; i < 3 || full; i++ { // earlier messages, both ways
					op := transport.Op{}
					_, err := a.Send(1, 1, word(round), &op)
					if _, back := b.Send(0, 1, word(round), &op); err == transport.ErrBusy &&
						back == transport.ErrBusy {
						break
					}
				}
				if round%2 == 0 { // b sees a's announcement before it reconnects
					a.Disconnect(1, transport.ErrUnreachable)
					reconnect(t, a, 1)
					drain(a, b)
					*there = nil
					b.Disconnect(0, transport.ErrUnreachable)
				} else { // both give up, nothing is read meanwhile
					a.Disconnect(1, transport.ErrUnreachable)
					b.Disconnect(0, transport.ErrUnreachable)
					drain(a, b)
					reconnect(t, a, 1)
				}
				reconnect(t, b, 0)
				drain(a, b)
				mustSend(t, a, 1, 1, word(1000+round), nil)
				mustSend(t, b, 0, 1, word(2000+round), nil)
				var flush transport.Op
				flushed := false
				flush.Done = func(*transport.Op, error) { flushed = true }
				if status, err := a.Flush(1, &flush); err != nil || status == transport.Done {
					flushed = err == nil
				}
				until(t, "the messages",
					func() bool { return len(*there) > 0 && len(*here) > 0 && flushed },
					func() { drain(a, b) })
				if len(*there) != 1 || (*there)[0] != 1000+round || len(*here) != 1 ||
					(*here)[0] != 2000+round {
					t.Fatalf("round %d: %v there, %v here", round, *there, *here)
				}
				*there, *here = nil, nil
			}
		})
	}
}

// TestReconnectDropsHeld: a message refused before Reconnect is not offered after it.
func TestReconnectDropsHeld(t *testing.T) {
	links := newLinks(t, 2)
	offers := 0
	links[1].Handle(1, func(*transport.Msg) transport.Verdict { offers++; return transport.Refuse })
	mustSend(t, links[0], 1, 1, word(1), nil)
	until(t, "an offer", func() bool { return offers > 1 }, func() { links[1].Progress(64) })
	for i, l := range links {
		l.Disconnect(transport.Endpoint(1-i), transport.ErrUnreachable)
	}
	for i, l := range links {
		reconnect(t, l, transport.Endpoint(1-i))
	}
	got := listen(links[1])
	mustSend(t, links[0], 1, 1, word(2), nil)
	var op transport.Op
	done := false
	op.Done = func(_ *transport.Op, err error) { done = err == nil }
	if status, err := links[0].Flush(1, &op); err != nil || status == transport.Done {
		t.Fatalf("Flush: %v, %v", status, err)
	}
	until(t, "the flush", func() bool { return done }, func() { drain(links...) })
	if len(*got) != 1 || (*got)[0] != 2 {
		t.Errorf("messages: %v", *got)
	}
}

func TestReconnectErrors(t *testing.T) {
	links := newLinks(t, 3)
	l := links[0]
	if err := l.Reconnect(1, transport.Address{}); err != transport.ErrBusy {
		t.Errorf("connected: %v", err)
	}
	for _, ep := range []transport.Endpoint{-1, 3} {
		if err := l.Reconnect(ep, transport.Address{}); !errors.Is(err, transport.ErrBadParam) {
			t.Errorf("endpoint %d: %v", ep, err)
		}
	}
	l.Disconnect(1, transport.ErrUnreachable)
	if err := links[1].Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Reconnect(1, transport.Address{}); err != transport.ErrUnreachable {
		t.Errorf("a peer that has left: %v", err)
	}
	l.suspect(l.peers[2], errNonsense)
	l.Progress(64)
	if err := l.Reconnect(2, transport.Address{}); err != transport.ErrUnreachable {
		t.Errorf("a peer that broke the protocol: %v", err)
	}
	op := transport.Op{Local: memory.AddrOf(word(0)), N: 8}
	if _, err := l.Send(2, 1, nil, &op); err != transport.ErrUnreachable {
		t.Errorf("Send to it: %v", err)
	}
}
