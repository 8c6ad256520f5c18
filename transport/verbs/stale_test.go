package verbs

import (
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport/ibv/fake"
	"lapi/transport/memory"
)

// TestKept: memory that was transferred is registered once at the origin, again when it has
// changed, and each time where nothing is to be kept.
func TestKept(t *testing.T) {
	const length = 1 << 17
	for _, off := range []bool{false, true} {
		n := newNet(t, 2, 1, func(_ *fake.Fabric, c *Config) { c.KeepNoRegistrations = off })
		n.sendNumbers(t, 1, func(int) {})
		here, there := userMemory(t, length), userMemory(t, length)
		count := func() int {
			before := n.devices[0].Registered()
			n.transferOf(t, false, here, there, func() {})
			return n.devices[0].Registered() - before
		}
		again := 0
		if off {
			again = 1
		}
		if first, second := count(), count(); first != 1 || second != again {
			t.Errorf("off %v: registered %d times, then %d", off, first, second)
		}
		_, _, e := unix.Syscall6(unix.SYS_MMAP, uintptr(memory.AddrOf(here)), length,
			unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED, ^uintptr(0), 0)
		if e != 0 {
			t.Fatal(e)
		}
		if changed := count(); changed != 1 {
			t.Errorf("off %v: registered %d times after it was mapped anew", off, changed)
		}
		n.close(t)
	}
}

// TestLimit: what would be over the limit is copied; what is unused makes room.
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
