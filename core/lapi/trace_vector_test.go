package lapi

import (
	"testing"

	"lapi/transport"
)

// TestTracedLinksAbilities: a link can do traced what it can do otherwise.
func TestTracedLinksAbilities(t *testing.T) {
	for name, env := range paths {
		for level := range 6 {
			j, dir := tracedJob(t, 2, level, env)
			link := j.tasks[0].peers[1].Link
			_, has := untraced(link).(transport.Vectored)
			if _, traced := link.(transport.Vectored); traced != has {
				t.Errorf("%s, level %d: copies between lists: %v, untraced: %v",
					name, level, traced, has)
			}
			_, gathers := untraced(link).(transport.Gathering)
			if _, traced := link.(transport.Gathering); traced != gathers {
				t.Errorf("%s, level %d: gathers: %v, untraced: %v", name, level, traced, gathers)
			}
			if name == "shm" && (!has || !gathers) {
				t.Error("shm does not copy between lists")
			}
			if level == 0 {
				continue
			}
			src, dst := make([]byte, 64), make([]byte, 64)
			if v, ok := link.(transport.Vectored); ok {
				list := func(b []byte) []transport.Range {
					return []transport.Range{{Addr: at(&b[0]), N: 16}, {Addr: at(&b[32]), N: 16}}
				}
				if err := v.PutVector(1, list(src), list(dst)); err != nil {
					t.Fatal(err)
				}
			}
			want := 0
			if has && level >= 2 {
				want = 1
			}
			if n := countEvents(j.merged(dir), "X", "copy list to task"); n != want {
				t.Errorf("%s, level %d: %d copies between lists, want %d", name, level, n, want)
			}
		}
	}
}
