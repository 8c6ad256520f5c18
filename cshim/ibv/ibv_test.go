package ibv

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoLibrary: without one of the libraries the error says which.
func TestNoLibrary(t *testing.T) {
	at := netip.MustParseAddr("127.0.0.1")
	for _, c := range [][2]string{{"libnoverbs.so.7", cmLibrary}, {library, "libnocm.so.7"},
		{"libnoverbs.so.7", "libnocm.so.7"}} {
		d, err := openAddress(c[0], c[1], at)
		if err == nil {
			d.Close()
			t.Fatalf("%v: opened", c)
		}
		if !strings.Contains(err.Error(), "libno") || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestNoAdapter: the loopback belongs to none.
func TestNoAdapter(t *testing.T) {
	d, err := OpenAddress(netip.MustParseAddr("127.0.0.1"))
	if err == nil {
		d.Close()
		t.Fatal("opened")
	}
	t.Log(err)
}

// TestNames: adapters, and their network interfaces, are those that the kernel lists.
func TestNames(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("roce0/ports/1/gid_attrs/ndevs/0", "eth7\n")
	write("roce0/ports/1/gid_attrs/ndevs/1", "eth7\n")
	write("roce0/ports/2/gid_attrs/ndevs/0", "eth8\n")
	write("roce0/ports/2/gid_attrs/ndevs/1", "") // an entry that is not used cannot be read either
	write("ib0/device/net/ib7/address", "")
	if got := namesIn(folder); !slices.Equal(got, []string{"ib0", "roce0"}) {
		t.Errorf("adapters %v", got)
	}
	of := func(adapter string, until int) (names []string) {
		interfacesOf(folder, adapter, func(n string) bool {
			names = append(names, n)
			return len(names) == until
		})
		return names
	}
	if got := of("roce0", 0); !slices.Equal(got, []string{"eth7", "eth8"}) {
		t.Errorf("of roce0 %v", got)
	}
	if got := of("roce0", 1); !slices.Equal(got, []string{"eth7"}) {
		t.Errorf("of roce0, the first: %v", got)
	}
	if got := of("ib0", 0); !slices.Equal(got, []string{"ib7"}) {
		t.Errorf("of ib0 %v", got)
	}
	if got := namesIn(filepath.Join(folder, "nothing")); got != nil {
		t.Errorf("of nothing %v", got)
	}
	if _, ok := Find("no such adapter"); ok {
		t.Error("found an adapter of no such name")
	}
}
