package dgsm

import (
	"testing"

	"lapi/core/lapi/codes"
	"lapi/invariant"
	"lapi/transport"
	"lapi/transport/memory"
)

// inC writes a program as the user has it to memory, and returns the descriptor's address.
func inC(t testing.TB, g program) transport.Addr {
	t.Helper()
	p, err := New(g.Descriptor, g.code, false)
	if err != nil {
		t.Fatal(err)
	}
	at := memory.AddrOf(userMemory(t, p.EncodedSize()))
	if err := p.Encode(at); err != nil {
		t.Fatal(err)
	}
	return at
}

func wantResult(t *testing.T, what string, err *Error, code codes.Code) {
	t.Helper()
	if err == nil && code != codes.Success || err != nil && err.Code != code {
		t.Errorf("%s: %v, want %q", what, err, codes.Name(code))
	}
}

// TestCounts walks through the two reference counts.
func TestCounts(t *testing.T) {
	var g Registry
	descriptor := inC(t, simple(5, 0, 8))
	handle, err := g.Register(descriptor, true)
	if err != nil || handle == 0 || handle == descriptor {
		t.Fatalf("%#x, %v", handle, err)
	}
	clear(memory.Bytes(descriptor, uint64(descrSize))) // the user's own may go
	if seen, err := Load(handle, true); err != nil || seen.Size != 5 || seen.Extent != 8 {
		t.Errorf("what the handle shows: %+v, %v", seen, err)
	}
	wantResult(t, "reserve", g.Reserve(handle), codes.Success)
	wantResult(t, "unreserve", g.Unreserve(handle), codes.Success)
	hold, err := g.Hold(handle)
	if err != nil || hold.Program().covers() != 5 {
		t.Fatalf("hold: %v", err)
	}
	wantResult(t, "last unreserve", g.Unreserve(handle), codes.Success)
	wantResult(t, "one too many", g.Unreserve(handle), codes.ErrDgspFree)
	wantResult(t, "reserve of what was given back", g.Reserve(handle), codes.ErrDgsp)
	if _, err := g.Hold(handle); err == nil || err.Code != codes.ErrDgsp {
		t.Errorf("hold of what was given back: %v", err)
	}
	other, err := g.Register(inC(t, simple(6, 0, 8)), true)
	if err != nil || other == handle {
		t.Errorf("the memory of a program in use was given away: %v", err)
	}
	if seen, err := Load(handle, true); err != nil || seen.Size != 5 {
		t.Errorf("a program in use: %+v, %v", seen, err)
	}
	g.Release(hold)
	g.Release(Hold{})
	third, err := g.Register(inC(t, simple(7, 0, 8)), true)
	if err != nil || third != handle {
		t.Errorf("the memory was not freed: %#x, not %#x: %v", third, handle, err)
	}
	if (Hold{}).Program() != nil {
		t.Error("the zero Hold has a program")
	}
}

func TestRegistryErrors(t *testing.T) {
	var g Registry
	wantResult(t, "unreserve of NULL", g.Unreserve(0), codes.ErrDgsp)
	wantResult(t, "unreserve of nothing", g.Unreserve(64), codes.ErrDgspFree)
	wantResult(t, "reserve of NULL", g.Reserve(0), codes.ErrDgsp)
	_, err := g.Hold(0)
	wantResult(t, "hold of NULL", err, codes.ErrDgsp)
	_, err = g.Register(0, false)
	wantResult(t, "register NULL", err, codes.ErrDgsp)
	for name, b := range broken() {
		if b.program.Depth > 100 {
			continue // large
		}
		at := inC(t, b.program)
		if handle, err := g.Register(at, true); err == nil || err.Code != b.code || handle != 0 {
			t.Errorf("%s: verified: %#x, %v", name, handle, err)
		}
		handle, err := g.Register(at, false)
		wantResult(t, name+": not verified", err, codes.Success)
		wantResult(t, name+": unreserve", g.Unreserve(handle), codes.Success)
	}
}

// TestPredefined: LAPI_BYTE is there for ever, under the address that C gave it.
func TestPredefined(t *testing.T) {
	var g Registry
	unit := simple(1, 0, 1)
	unit.Density = Unit
	at := inC(t, unit)
	wantResult(t, "predefine", g.Predefine(at), codes.Success)
	wantResult(t, "unreserve", g.Unreserve(at), codes.ErrDgspFree)
	wantResult(t, "reserve", g.Reserve(at), codes.Success)
	wantResult(t, "predefine again", g.Predefine(at), codes.Success)
	wantResult(t, "unreserve what was reserved", g.Unreserve(at), codes.Success)
	wantResult(t, "unreserve", g.Unreserve(at), codes.ErrDgspFree)
	hold, err := g.Hold(at)
	if err != nil {
		t.Fatal(err)
	}
	if offset, ok := hold.Program().Contiguous(1 << 40); !ok || offset != 0 {
		t.Error("bytes are not contiguous")
	}
	g.Release(hold)
	wantResult(t, "reserve", g.Reserve(at), codes.Success)
	wantResult(t, "predefine nothing", g.Predefine(0), codes.ErrDgsp)
}

// TestLarge: a program that fills a mapping of its own.
func TestLarge(t *testing.T) {
	var g Registry
	big := raw(func(a *assembler) {
		for i := range int64(40000) {
			a.copy(1, 3*i)
		}
		a.iterate(0)
	})
	handle, err := g.Register(inC(t, big), false)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := Load(handle, false)
	if err != nil || seen.covers() != 40000 {
		t.Errorf("%v", err)
	}
	wantResult(t, "unreserve", g.Unreserve(handle), codes.Success)
	if _, err := Load(handle, false); err == nil {
		t.Error("the mapping is still there")
	}
}

// TestTogether: threads register, use and release at the same time.
func TestTogether(t *testing.T) {
	var g Registry
	descriptor := inC(t, strided(4, 3, 8, 24))
	shared, err := g.Register(descriptor, true)
	if err != nil {
		t.Fatal(err)
	}
	user := userMemory(t, 4096)
	var all invariant.Group
	for range 4 {
		all.Go(func() {
			memory.Guard()
			var m Machine
			for range 300 {
				own, err := g.Register(descriptor, false)
				if err != nil {
					t.Error(err)
					return
				}
				for _, handle := range []transport.Addr{own, shared} {
					hold, err := g.Hold(handle)
					if err != nil {
						t.Error(err)
						return
					}
					if err := m.StartGather(Transfer{Program: hold.Program(),
						Base: memory.AddrOf(user), Bytes: 100}); err != nil {
						t.Error(err)
					}
					if err := m.Gather(make([]byte, 100), 0); err != nil {
						t.Error(err)
					}
					g.Release(hold)
				}
				if err := g.Unreserve(own); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	wantResult(t, "unreserve", g.Unreserve(shared), codes.Success)
	if len(g.programs) != 0 {
		t.Errorf("%d programs left", len(g.programs))
	}
}
