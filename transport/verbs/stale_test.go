package verbs

import (
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
)

// TestKept: memory that was transferred is registered once at each side, again when it has changed,
// and each time where nothing is to be kept. Only the target's has a key for peers.
func TestKept(t *testing.T) {
	const length = 1 << 17
	for _, off := range []bool{false, true} {
		n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.KeepNoRegistrations = off })
		n.sendNumbers(t, 1, func(int) {})
		here, there := userMemory(t, length), userMemory(t, length)
		count := func(get bool) (made [2]int) {
			before := [2]int{n.devices[0].Registered(), n.devices[1].Registered()}
			n.transferOf(t, get, here, there, func() {})
			for i := range made {
				made[i] = n.devices[i].Registered() - before[i]
			}
			return made
		}
		again := [2]int{}
		if off {
			again = [2]int{1, 1}
		}
		if first, second := count(false), count(true); first != [2]int{1, 1} || second != again {
			t.Errorf("off %v: registered %d times, then %d", off, first, second)
		}
		if n.devices[0].Keys() != 0 || n.devices[1].Keys() != 1-again[1] {
			t.Errorf("off %v: %d keys at the origin, %d at the target", off, n.devices[0].Keys(),
				n.devices[1].Keys())
		}
		for side, b := range [][]byte{here, there} {
			_, _, e := unix.Syscall6(unix.SYS_MMAP, uintptr(memory.AddrOf(b)), length,
				unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0), 0)
			if e != 0 {
				t.Fatal(e)
			}
			want := again
			want[side] = 1
			if changed := count(false); changed != want {
				t.Errorf("off %v: registered %d times after side %d was mapped anew", off, changed, side)
			}
		}
		n.close(t)
	}
}

// TestLimit: memory that would be over the limit is copied; unused entries make room.
func TestLimit(t *testing.T) {
	const length = 1 << 17
	n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.RegistrationLimit = length + 4096 })
	n.sendNumbers(t, 1, func(int) {})
	slots := n.devices[0].Regions()
	for range 3 {
		n.transfer(t, false, length, func() {})
		if kept := n.devices[0].Regions() - slots; kept != 1 {
			t.Errorf("%d registrations are kept", kept)
		}
	}
	moved := n.devices[0].Moved()
	n.transfer(t, false, 2*length, func() {})
	if n.devices[0].Moved() != moved {
		t.Error("more than the limit was registered")
	}
	n.close(t)
}

// TestHelloSaysWhereItComesFrom: where nothing publishes that a port was opened again, its Hellos
// say where it is.
func TestHelloSaysWhereItComesFrom(t *testing.T) {
	s := newPlugs()
	s.n = newNetOfPorts(t, []int{1, 1}, 1, func(f *fake.Fabric, c *Config) {
		s.set(f, c)
		c.Moved = nil
	})
	s.n.sendNumbers(t, 10, func(int) {})
	s.pull(0, 1)
	l, there := s.n.links[0], s.n.links[1].peers[0]
	s.n.until(t, "it is gone", func() bool { return l.ports.Ports()[1].State() == PortGone })
	s.plug(0, 1)
	s.n.until(t, "it is back", func() bool { return s.isBack(0, 1) })
	s.n.sendNumbers(t, 10, func(int) {})
	s.n.transfer(t, false, 1<<20, func() {})
	s.n.until(t, "the peer knows the new place", func() bool {
		return there.to.Places[1] == l.ports.Places()[1]
	})
	s.n.close(t)
}
