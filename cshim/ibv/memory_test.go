package ibv

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"lapi/transport/ibv"
)

// TestNoVerbsLibrary: where there is no libibverbs, or it is something else, Open says so.
func TestNoVerbsLibrary(t *testing.T) {
	for library, says := range map[string]string{
		"libibverbs-of-nowhere.so": "libibverbs-of-nowhere.so", "libc.so.6": "ibv_get_device_list"} {
		if _, err := open(library, Choice{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("with %s: %v", library, err)
		}
	}
}

// TestList: without a library it is not known which ports there are; each that is listed opens.
func TestList(t *testing.T) {
	if all, err := list("libibverbs-of-nowhere.so"); err == nil {
		t.Errorf("without a library there are %v", all)
	}
	all, err := List()
	if err != nil {
		t.Skip(err)
	}
	for _, p := range all {
		a, err := Open(Choice{Name: p.Name, Port: p.Number, GIDIndex: -1})
		if err != nil {
			t.Errorf("%+v: %v", p, err)
			continue
		}
		if i := a.Info(); i.Name != p.Name || int(i.Port) != p.Number {
			t.Errorf("%+v opens %+v", p, i)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoAdapterOfName: a name that no adapter has is in the error.
func TestNoAdapterOfName(t *testing.T) {
	if _, err := Open(Choice{Name: "of_nowhere"}); err == nil ||
		!strings.Contains(err.Error(), "nowhere") && !strings.Contains(err.Error(), library) {
		t.Error(err)
	}
}

// TestBadMemory: memory that the kernel refuses comes back as its error. It needs an adapter.
func TestBadMemory(t *testing.T) {
	a, err := Open(Choice{GIDIndex: -1})
	if err != nil {
		t.Skip(err)
	}
	defer a.Close()
	pd, err := a.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.DeallocPD(pd) }()
	if _, err := a.RegMR(pd, 4096, 8192, 4096, ibv.RemoteWrite); !errors.Is(err, syscall.EFAULT) {
		t.Errorf("memory that there is not: %v", err)
	}
	word := new(uint64)
	at := uint64(uintptr(unsafe.Pointer(word)))
	if _, err := a.RegMR(pd, at, 0, at, 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("no bytes: %v", err)
	}
	if i := a.Info(); i.MTU < 256 || i.MaxMessage == 0 || i.Port == 0 || i.GID == [16]byte{} {
		t.Errorf("%+v", i)
	}
}
