package dat

import (
	"slices"
	"testing"

	"lapi/core/dat/codes"
)

// TestStates holds the machine to the document: each step is allowed in these states, and in no
// other.
func TestStates(t *testing.T) {
	pending := []EPState{PassivePending, UnconfiguredPassive, TentativePending,
		UnconfiguredTentative}
	for s, want := range map[step]map[EPState]EPState{
		stepConnect: {Unconnected: ActivePending},
		stepAccept: {Unconnected: CompletionPending, PassivePending: CompletionPending,
			TentativePending: CompletionPending},
		stepReserve:     {Unconnected: Reserved, UnconfiguredUnconnected: UnconfiguredReserved},
		stepRequest:     {Reserved: PassivePending, UnconfiguredReserved: UnconfiguredPassive},
		stepEstablished: {ActivePending: Connected, CompletionPending: Connected},
		stepFailed: {ActivePending: Disconnected, CompletionPending: Disconnected,
			DisconnectPending: Disconnected},
		stepGraceful: {Connected: DisconnectPending, ActivePending: Disconnected,
			CompletionPending: Disconnected, DisconnectPending: DisconnectPending,
			Disconnected: Disconnected},
		stepEnded: {Connected: Disconnected, DisconnectPending: Disconnected},
		stepReset: {Disconnected: Unconnected, Unconnected: Unconnected,
			UnconfiguredUnconnected: UnconfiguredUnconnected},
	} {
		for state := range EPState(numStates) {
			to, allowed := want[state]
			e := EP{State: state}
			r := e.may(s)
			switch {
			case allowed && (r != codes.Success || transitions[s][state] != to):
				t.Errorf("step %d in state %d: %#x, to %d; want %d", s, state, uint32(r),
					transitions[s][state], to)
			case !allowed && r != codes.InvalidState.With(why[state]):
				t.Errorf("step %d in state %d: %#x", s, state, uint32(r))
			}
		}
	}
	for state := range EPState(numStates) {
		busy := state == Reserved || state == UnconfiguredReserved || slices.Contains(pending,
			state)
		if e := (&EP{State: state}); (e.may(stepFree) == codes.Success) == busy {
			t.Errorf("an endpoint in state %d can be freed: %v", state, !busy)
		}
		e := &EP{State: state}
		if (e.may(stepReject) == codes.Success) != slices.Contains(pending, state) {
			t.Errorf("a request is rejected in state %d", state)
		}
	}
}

// TestContexts: a context that is no longer in use names nothing, nor does one made up.
func TestContexts(t *testing.T) {
	var table contexts
	seen := map[uint32]bool{}
	for i := range 5000 {
		r := &region{addr: uint64(i)}
		c, ok := table.add(r, uint64(i)*0x9e3779b97f4a7c15)
		if !ok || c == 0 || seen[c] || table.find(c) != r {
			t.Fatalf("context %#x of region %d", c, i)
		}
		seen[c] = true
		if table.find(c^1<<contextIndex) == r {
			t.Fatalf("another stamp finds region %d", i)
		}
		if i%3 > 0 {
			table.remove(c)
			if table.find(c) != nil {
				t.Fatalf("context %#x is found after its end", c)
			}
		}
	}
}

// TestRegion: bounds, also where they overflow.
func TestRegion(t *testing.T) {
	for _, c := range []struct {
		zero bool
		at   uint64
		n    uint64
		ok   bool
	}{{false, 1000, 100, true}, {false, 1000, 101, false}, {false, 999, 1, false}, {false, 1100,
		0, true},
		{false, 1101, 0, false}, {false, 1050, ^uint64(0), false}, {true, 0, 100, true},
		{true, 1000, 1, false}, {true, 99, 1, true}} {
		r := region{addr: 1000, n: 100, zeroBased: c.zero}
		if _, ok := r.in(c.at, c.n); ok != c.ok {
			t.Errorf("%+v: %v", c, ok)
		}
	}
}
