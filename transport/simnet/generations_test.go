package simnet

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp/wire"
)

// TestGenerations lets all tasks start anew again and again at the same addresses, while packets of
// earlier generations are still on their way and arrive among the new ones: each task sees messages
// of its own generation only, and all of them.
func TestGenerations(t *testing.T) {
	const seeds, generations, messages = 30, 5, 40
	memory.Guard()
	ghosts := uint64(0)
	for seed := uint64(1); seed <= seeds; seed++ {
		sc := &Scenario{Seed: seed, Tasks: 2, Addresses: []int{1, 1}, Level: wire.LevelCookie,
			PacketSize: 1472, ReceiveBuffer: 1 << 20}
		sc.Ways[0] = Way{Loss: 0.1, Duplicate: 0.3, DelayMax: 30 * time.Millisecond}
		net := New(sc, nil)
		random := rand.New(rand.NewPCG(seed, 3))
		var links [2]*Link
		for generation := range uint64(generations) {
			got := 0
			for i := range links {
				if links[i] != nil {
					ghosts += links[i].Stats().GhostPackets
					links[i].Machine.Close() // not Abandon: packets at the socket stay there
				}
				l, err := NewLink(net.Node(i), sc.Config(i))
				if err != nil {
					t.Fatal(err)
				}
				l.Handle(1, func(msg *transport.Msg) transport.Verdict {
					if g := binary.LittleEndian.Uint64(msg.Hdr); g != generation {
						t.Errorf("seed %d: a message of generation %d in generation %d", seed, g,
							generation)
					}
					got++
					return transport.Accept
				})
				if err := l.Connect(transport.Endpoint(1-i), net.Node(1-i).Address()); err != nil {
					t.Fatal(err)
				}
				net.Node(i).Attach(func() { l.Progress(64) }, l.NextTimeout)
				links[i] = l
			}
			exchange(t, net, random, links, generation, messages, &got)
			if got != messages {
				t.Errorf("seed %d: %d messages, %d were sent", seed, got, messages)
			}
		}
		for _, l := range links {
			l.Abandon()
		}
		net.Close()
	}
	if ghosts == 0 {
		t.Error("no packet of an earlier incarnation arrived: nothing was tested")
	}
}

// exchange sends messages either way until all have arrived.
func exchange(t *testing.T, net *Net, random *rand.Rand, links [2]*Link, generation uint64,
	messages int, got *int) {
	var op transport.Op
	hdr := binary.LittleEndian.AppendUint64(nil, generation)
	for sent, steps := 0, 0; sent < messages || *got < messages; steps++ {
		if sent < messages && random.IntN(3) == 0 {
			from := random.IntN(2)
			if _, err := links[from].Send(transport.Endpoint(1-from), 1, hdr, &op); err == nil {
				sent++
			}
		}
		if !net.Step() && sent == messages && *got < messages || steps > maxEvents {
			t.Fatalf("%d of %d messages in generation %d", *got, messages, generation)
		}
	}
}
