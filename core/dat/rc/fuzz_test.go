package rc

import (
	"encoding/binary"
	"testing"

	"lapi/transport"
)

// FuzzMessages: nothing that a peer sends makes more than its own connection end.
func FuzzMessages(f *testing.F) {
	var h [askSize]byte
	(&header{Op: Send, Total: 5}).put(h[:])
	f.Add([]byte(h[:headerSize]), byte(msgData), []byte("hello"))
	(&header{Op: FetchAdd, Total: 8, Context: ctxAll}).putAsk(h[:])
	f.Add([]byte(h[:]), byte(msgAsk), []byte{})
	f.Fuzz(func(t *testing.T, hdr []byte, id byte, data []byte) {
		a, b := pair(t, 1, nil)
		c, d := join(a, b, nil)
		e, g := join(a, b, nil)
		d.PostReceive(&Receive{Segments: b.segments(0, 100)})
		d.Post(&Request{Op: Read, Segments: b.segments(0, 16), Addr: uint64(a.addr(0)),
			Context: ctxAll})
		b.e.Progress()
		if len(hdr) >= 12 {
			binary.LittleEndian.PutUint32(hdr, d.index)
			binary.LittleEndian.PutUint32(hdr[4:], d.tag)
		}
		k := transport.MsgID(id)%msgHalf + 1
		for range 3 {
			b.link.handlers[k](&transport.Msg{From: 0, Hdr: hdr, Data: data})
		}
		run(a, b)
		g.PostReceive(&Receive{})
		ok := &Request{Op: Send}
		e.Post(ok)
		run(a, b)
		if ok.Status != Success || len(a.done) == 0 {
			t.Error("another connection has suffered")
		}
		_ = c
	})
}
