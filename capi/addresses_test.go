package main

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/transport/memory"
	"lapi/transport/udp"
)

// FuzzUserAddresses: a list of addresses that a program passes is read as long as its memory is,
// whatever is in it, and the result is an address of the UDP link, or refused by it.
func FuzzUserAddresses(f *testing.F) {
	page := unix.Getpagesize()
	b, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		f.Fatal(err)
	}
	if err := unix.Mprotect(b[page:], unix.PROT_NONE); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = unix.Munmap(b) })
	entry := map[bool]int{false: 8, true: 24} // sizes of lapi_udp_t and lapi_udp_storage
	f.Add([]byte{127, 0, 0, 1, 0x12, 0x34, 0, 0}, uint8(1), false)
	f.Add([]byte{127, 0, 0, 1, 0x12, 0x34, 0, 0}, uint8(2), false)
	f.Add(append(make([]byte, 16), 0x12, 0x34, 0, 0, 2, 0, 0, 0), uint8(1), true)
	f.Add(append(append(make([]byte, 15), 1), 0x12, 0x34, 0, 0, 10, 0, 0, 0), uint8(1), true)
	f.Add(append(make([]byte, 16), 0x12, 0x34, 0, 0, 77, 0, 0, 0), uint8(1), true)
	f.Add([]byte{}, uint8(0), true)
	f.Fuzz(func(t *testing.T, list []byte, n uint8, withFamily bool) {
		list = list[:min(len(list), page)]
		at := page - len(list) // behind the list nothing can be read
		copy(b[at:page], list)
		whole := int(n)*entry[withFamily] <= len(list)
		addrs := addressesAt(memory.AddrOf(b[at:]), int(n),
			withFamily)
		switch {
		case n == 0:
			return
		case (addrs != nil) != whole:
			t.Fatalf("%d entries in %d bytes: %v", n, len(list), addrs)
		case whole && len(addrs) != int(n):
			t.Fatalf("%d entries of %d", len(addrs), n)
		}
		for i, a := range addrs {
			got, _, err := udp.DecodeAddress(udp.EncodeAddress(a))
			want := netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
			if err == nil && (!a.IsValid() || a.Port() == 0 || !slices.Equal(got, []netip.AddrPort{want})) {
				t.Errorf("entry %d is %v, and is used as %v", i, a, got)
			}
		}
	})
}
