package simnet

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

// TestRestarts lets all tasks start anew again and again at the same addresses, while packets of earlier incarnations are still on their
// way and arrive among the new ones: each task sees messages of its own generation only, and all of them.
func TestRestarts(t *testing.T) {
	const seeds, generations, messages = 30, 5, 40
	memory.Guard()
	ghosts := uint64(0)
	for seed := uint64(1); seed <= seeds; seed++ {
		random := rand.New(rand.NewPCG(seed, 3))
		generation, got := uint64(0), 0
		start := func(i int, words func() uint64, out udp.Outlet) (*udp.Machine, error) {
			m, err := udp.NewMachine(udp.Config{Task: i, NumTasks: 2, PacketSize: 1472, Random: words}, out)
			if err == nil {
				m.Handle(1, func(msg *transport.Msg) transport.Verdict {
					if g := binary.LittleEndian.Uint64(msg.Hdr); g != generation {
						t.Errorf("seed %d: a message of generation %d in generation %d", seed, g, generation)
					}
					got++
					return transport.Accept
				})
			}
			return m, err
		}
		net, err := New(Config{Seed: seed, Loss: 0.1, Duplicate: 0.3, DelayMax: 30 * time.Millisecond}, 2, start)
		if err != nil {
			t.Fatal(err)
		}
		var op transport.Op
		for ; generation < generations; generation++ {
			if generation > 0 {
				for i := range 2 {
					ghosts += net.Machine(i).Stats().GhostPackets
					if err := net.Restart(i, start); err != nil {
						t.Fatal(err)
					}
				}
			}
			got = 0
			hdr := binary.LittleEndian.AppendUint64(nil, generation)
			for sent, steps := 0, 0; sent < messages || got < messages; steps++ {
				if sent < messages && random.IntN(3) == 0 {
					from := random.IntN(2)
					if _, err := net.Machine(from).Send(net.Now(), transport.Endpoint(1-from), 1, hdr, &op); err == nil {
						sent++
					}
				}
				if !net.Step() && sent == messages && got < messages || steps > maxEvents {
					t.Fatalf("seed %d: %d of %d messages in generation %d", seed, got, messages, generation)
				}
			}
			if got != messages {
				t.Errorf("seed %d: %d messages, %d were sent", seed, got, messages)
			}
		}
		if err := net.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if ghosts == 0 {
		t.Error("no packet of an earlier incarnation arrived: nothing was tested")
	}
	t.Logf("%d ghosts", ghosts)
}
