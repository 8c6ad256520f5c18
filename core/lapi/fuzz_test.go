package lapi

import (
	"testing"

	"golang.org/x/sys/unix"

	"lapi/core/lapi/wire"
	"lapi/tests/lasting"
	"lapi/transport"
	"lapi/transport/memory"
)

// tap is a link that keeps the handlers it is given.
type tap struct {
	transport.Link
	handlers [transport.MaxMsgID + 1]transport.MsgHandler
}

func (l *tap) Handle(id transport.MsgID, h transport.MsgHandler) { l.handlers[id] = h }

// FuzzMessages gives a task messages of any kind and content, as an authenticated peer that has
// gone mad may send them: the task lives and can still be left. Header words 1 to 8 stand for
// addresses that mean something to the task, so that no input holds a real one; what others name is
// not mapped, but with a probability that does not count.
func FuzzMessages(f *testing.F) {
	words := func(id transport.MsgID, data int, header ...uint64) []byte {
		b := []byte{byte(id), byte(len(header)), byte(data)}
		for _, w := range header {
			b = wire.Order.AppendUint64(b, w)
		}
		return append(b, make([]byte, data)...)
	}
	am := (&wire.Am{Handler: 6, Length: 16, UhdrLen: 8, ID: 1}).Encode(make([]byte, 64))
	f.Add(words(wire.MsgPut, 8, 1, 4, 0))
	f.Add(words(wire.MsgPutFragment, 8, 1, 4, 0, 16, 8, 1))
	f.Add(words(wire.MsgPutDirect, 0, 8, 4, 0))
	f.Add(words(wire.MsgGet, 0, 1, 8, 1, 1, 4))
	f.Add(append([]byte{byte(wire.MsgAm), byte(len(am) / 8), 16},
		append(am, make([]byte, 16)...)...))
	for id := wire.MsgAmFragment; id <= wire.MsgAmSmall; id++ {
		for n := range uint64(9) {
			f.Add(words(id, int(8*n), []uint64{6, 1, 4, 16, 8, 3, 1, 2, 5}[:n]...))
		}
	}
	victims := lasting.New(f, 200, newVictim)
	f.Fuzz(func(t *testing.T, b []byte) {
		v, _ := victims.For(t)
		if v.take(b); v.k.peers[0].Dead() {
			victims.Spoil()
		}
	})
}

// victim is a task that takes in messages of its mad peer, one input after the other.
type victim struct {
	k       *testTask
	link    *tap
	buffer  []byte
	meaning [9]transport.Addr // of header words
}

func newVictim(t testing.TB) *victim {
	j := newJob(t, 2, paths["udp"])
	v := &victim{k: j.tasks[1], buffer: userBytes(t, 1<<16)}
	k := v.k
	k.lenient = true
	v.meaning = [...]transport.Addr{1: memory.AddrOf(v.buffer),
		2: memory.AddrOf(v.buffer[len(v.buffer)-8:]), 3: 16, 4: memory.AddrOf(v.buffer[64:]),
		5: 1 << 46, 6: 0x1000, 7: 0x1001, 8: 8}
	k.headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = v.meaning[1] }
	k.headers[0x1001] = func(_ *headerCall, r *HeaderResult) {
		r.Buffer, r.Completion = v.meaning[1], 0x2000
	}
	v.link = &tap{Link: k.net.UDP}
	k.setHandlers(v.link)
	t.Cleanup(func() { // else LAPI_Term would wait for the other to say goodbye
		k.net.UDP.Disconnect(0, transport.ErrClosed)
		j.tasks[0].net.UDP.Disconnect(1, transport.ErrClosed)
	})
	return v
}

// take has the task take in the messages of an input.
func (v *victim) take(b []byte) {
	memory.Guard()
	for messages := 0; len(b) >= 3 && messages < 20; messages++ {
		id, headerLen, dataLen := transport.MsgID(b[0])%(transport.MaxMsgID+1), 8*int(b[1]),
			int(b[2])
		b = b[3:]
		packet := v.buffer[1<<15:]
		n := copy(packet, b[:min(len(b), headerLen+dataLen)])
		b = b[n:]
		headerLen = min(headerLen, n&^7)
		for at := 0; at < headerLen; at += 8 {
			if w := wire.Order.Uint64(packet[at:]); w > 0 && w < uint64(len(v.meaning)) {
				wire.Order.PutUint64(packet[at:], uint64(v.meaning[w]))
			}
		}
		if h := v.link.handlers[id]; h != nil {
			h(&transport.Msg{From: 0, Hdr: packet[:headerLen:headerLen],
				Data: packet[headerLen:n:n]})
		}
	}
	for range 10 {
		v.k.Dispatch(0)
		if _, _, id, ok := v.k.NextCompletion(); ok {
			v.k.CompletionDone(id)
		}
	}
}

// userBytes is memory that looks like a user's: guarded copies work on it.
func userBytes(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}
