package lapi

import (
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
)

// TestPurgeForgetsWhatCame: of what has come in part from a task that is purged nothing is kept, and
// of others nothing is lost.
func TestPurgeForgetsWhatCame(t *testing.T) {
	for name, env := range paths {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, 3, env)
			k := j.tasks[0]
			for _, from := range []transport.Endpoint{1, 2} {
				h := wire.Part{Message: 99, Offset: 8}
				k.in.Fragment(&transport.Msg{From: from, Hdr: h.Encode(make([]byte, wire.PartSize)),
					Data: make([]byte, 8)})
				k.parts.Of(&k.peers[from], 99)
				if !k.in.Busy(&k.peers[from]) || !k.parts.Busy(&k.peers[from]) {
					t.Fatal("nothing is under way")
				}
			}
			want(t, "purge", k.Purge(1), codes.Success)
			if k.in.Busy(&k.peers[1]) {
				t.Error("a part of an active message is kept")
			}
			if k.parts.Busy(&k.peers[1]) {
				t.Error("parts of a put are kept")
			}
			if !k.in.Busy(&k.peers[2]) || !k.parts.Busy(&k.peers[2]) {
				t.Error("another task's are gone")
			}
		})
	}
}
