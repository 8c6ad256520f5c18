package lapi

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/udp"
)

// twoAddresses is a job whose tasks have two paths to each other.
var twoAddresses = map[string]string{
	"LAPI_USE_SHM": "no", "MP_LAPI_INET_ADDR": "@2:127.0.0.1,lo:127.0.0.2,lo"}

// A link's error for a task that it cannot reach becomes the code that fits, and the event says
// which operation was concerned.
func TestWhyThereIsNoConnectivity(t *testing.T) {
	for err, want := range map[error]codes.Code{
		transport.ErrTimeout: codes.ErrTimeout, transport.ErrUnreachable: codes.ErrNoConnectivity,
		transport.ErrAdaptersDown: codes.ErrAdaptersDown,
	} {
		k := newJob(t, 2, twoAddresses).tasks[0]
		a := at(new(uint64))
		if code := k.Put(1, 8, a, a, 0, 0, 0); code != codes.Success {
			t.Fatal(codes.Name(code))
		}
		k.peerFailed(1, err)
		k.peerFailed(1, err)
		if e, ok := k.NextError(); !ok || e.Code != want || e.Type != codes.PutErr || e.Of != 1 {
			t.Errorf("%v: error event %+v, %v", err, e, ok)
		}
		if e, ok := k.NextError(); ok {
			t.Errorf("%v: a second event: %+v", err, e)
		}
		if !k.said(codes.AttCommTimeout) {
			t.Errorf("%v: no message in %q", err, k.messages)
		}
	}
}

// An address that cannot be used costs the paths from it on, and says so; the first one is needed.
func TestAddressThatCannotBeUsed(t *testing.T) {
	j := newJob(t, 2, map[string]string{
		"LAPI_USE_SHM": "no", "MP_LAPI_INET_ADDR": "@3:127.0.0.1,lo:192.0.2.1,lo:127.0.0.2,lo"})
	for _, k := range j.tasks {
		if !k.said(codes.AttFrSetupInternal) {
			t.Errorf("no message in %q", k.messages)
		}
		if n := len(k.net.UDP.(*udp.Link).Locals()); n != 1 {
			t.Errorf("%d addresses are used", n)
		}
	}
	if k := newJob(t, 2, twoAddresses).tasks[0]; k.said(codes.AttFrSetupInternal) ||
		len(k.net.UDP.(*udp.Link).Locals()) != 2 {
		t.Errorf("two good addresses: %q", k.messages)
	}
}

// Large puts and gets take both addresses; those with LAPI_NOT_STRIPE one alone.
func TestNotStripe(t *testing.T) {
	const n = 1 << 20
	j := newJob(t, 2, twoAddresses)
	from, to := pattern(n, 1), make([]byte, n)
	var there, back int32
	sent := func(task int) (n [2]uint64) {
		all := j.tasks[task].net.UDP.(*udp.Link).Usage().Transmissions
		return [2]uint64(all[:2])
	}
	used := func(task int) bool { n := sent(task); return min(n[0], n[1]) >= 10 }
	for i := 0; !used(0) || !used(1); i++ { // a starved path may be slow to join
		if i == 2000 {
			t.Fatalf("%v and %v packets by the tasks' addresses", sent(0), sent(1))
		}
		j.ok(j.tasks[0].Put(1, n, addrOf(to), addrOf(from), at(&there), 0, 0))
		j.until("a put", func() bool { return int(there) > i })
		j.ok(j.tasks[0].Get(1, n, addrOf(from), addrOf(to), 0, at(&back)))
		j.until("a get", func() bool { return int(back) > i })
	}
	rows, _, _ := strided(16, n/16, n/16+8, 1)
	lines, _, got := strided(16, n/16, n/16+16, 0)
	list, _ := spread(wire.VectorIO, []uint64{n / 2, n / 4, n / 4}, 8, rand.New(rand.NewPCG(1, 2)))
	for _, k := range []struct {
		name     string
		kind     uint32
		tgt, org transport.Addr
		sender   int
	}{
		{"put", XferPut, addrOf(to), addrOf(from), 0},
		{"get", XferGet, addrOf(to), addrOf(from), 1},
		{"vector put", XferPutv, lines.longAt(), rows.at(), 0},
		{"strided get", XferGetv, rows.longAt(), lines.at(), 1},
		{"list get", XferGetv, list.longAt(), list.at(), 1},
	} {
		var other, all uint64
		// of which in one no path seems silent for a moment, so that the other takes over
		for range 10 {
			before := sent(k.sender)
			there, back = 0, 0
			for i := range 16 {
				x := Transfer{Tgt: 1, N: n, TgtAddr: k.tgt, OrgAddr: k.org, TgtCntr: at(&there),
					OrgCntr: at(&back), Flags: notStripe}
				j.ok(j.tasks[0].Xfer(k.kind, &x))
				j.until("both counters", func() bool { return int(there) > i && int(back) > i })
			}
			after := sent(k.sender)
			all = after[0] - before[0] + after[1] - before[1]
			other = min(after[0]-before[0], after[1]-before[1])
			if other <= all/20 { // probes: the longer it takes the more
				break
			}
		}
		if other > all/20 {
			t.Errorf("%s: %d of %d packets by another address than the rest", k.name, other, all)
		}
	}
	runtime.KeepAlive([]any{rows, lines, list, got})
}
