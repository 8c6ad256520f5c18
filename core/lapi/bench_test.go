package lapi

import "testing"

// BenchmarkPut8 is what an 8-byte put costs in Go, origin and target on one processor: no cache
// line moves, no C is called.
func BenchmarkPut8(b *testing.B) {
	for name, env := range paths {
		b.Run(name, func(b *testing.B) {
			j := newJob(b, 2, env)
			var src, dst uint64
			var target int32
			for b.Loop() {
				want := target + 1
				j.tasks[0].Put(1, 8, at(&dst), at(&src), at(&target), 0, 0)
				for turn := 0; target < want; turn++ {
					j.tasks[1].Dispatch(0)
					if turn > 100 { // the handshake
						j.tasks[0].Dispatch(0)
					}
				}
			}
		})
	}
}

// BenchmarkIdleDispatch is one turn of the dispatcher with nothing to do.
func BenchmarkIdleDispatch(b *testing.B) {
	for name, env := range paths {
		b.Run(name, func(b *testing.B) {
			j := newJob(b, 2, env)
			for b.Loop() {
				j.tasks[0].Dispatch(0)
			}
		})
	}
}
