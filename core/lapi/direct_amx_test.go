package lapi

import (
	"bytes"
	"runtime"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/vector"
	"lapi/transport"
)

// The hints about bulk transfer with the transfer types that have a DGSP, or several targets.

// amx sends n bytes of the stream of blocks of block bytes, 9 bytes apart, from byte skip on, from
// task 0 to tgt, and checks what arrives.
func (w *watched) amx(tgt uint32, by transport.Addr, block, skip, n int, flags uint32) {
	w.t.Helper()
	src, dst := pattern((skip+n+block)/block*(block+9), uint64(n)), make([]byte, n)
	var org, target, cmpl int32
	w.tasks[tgt].headers[0x1000] = func(_ *headerCall, r *HeaderResult) { r.Buffer = addrOf(dst) }
	w.ok(w.tasks[0].Xfer(XferAmx, &Transfer{Tgt: tgt, HdrHdl: 0x1000, TgtAddr: by,
		OrgAddr: addrOf(src), N: uint64(n), Skip: uint64(skip), Flags: flags, TgtCntr: at(&target),
		OrgCntr: at(&org), CmplCntr: at(&cmpl)}))
	w.until("the counters", func() bool { return org == 1 && target == 1 && cmpl == 1 })
	if want := spreadOut(src, skip+n, block, block+9)[skip:]; !bytes.Equal(dst, want) {
		w.t.Errorf("blocks of %d, %d bytes from byte %d on, flags %#x, to task %d: damaged",
			block, n, skip, flags, tgt)
	}
	runtime.KeepAlive(src)
}

// TestHintsOfAmx: a part of a DGSP's stream goes directly where its blocks are long, or with the
// flag, and never with the other one, with atoms or within a task.
func TestHintsOfAmx(t *testing.T) {
	const n = 150_001
	w := newWatched(t, nil)
	self := w.tasks[0].watch(0)
	for _, b := range []struct {
		block int
		atom  int32
		own   bool
	}{{20000, 0, true}, {1000, 0, false}, {20000, 8, false}} {
		by := enroll(t, int64(b.block), int64(b.block+9), b.atom)
		for flags, direct := range map[uint32]bool{0: b.own,
			singlecopy.UseBulkXfer: b.atom == 0, singlecopy.NotUseBulkXfer: false,
			singlecopy.UseBulkXfer | singlecopy.NotUseBulkXfer: false} {
			for _, skip := range []int{0, 1, 12345, 3 * 20000, 77777} {
				w.amx(1, by, b.block, skip, n, flags)
				read, sum := w.target.copied, uint64(0)
				for i := 1; i < len(read); i++ { // the first is the list of blocks
					sum += read[i]
				}
				if w.copied(); direct != (sum == n) || !direct && len(read) != 0 {
					t.Errorf(
						"blocks of %d, atoms of %d, from byte %d on, flags %#x: direct copies %v",
						b.block, b.atom, skip, flags, read)
				}
				self.copied = nil
				w.amx(0, by, b.block, skip, n, flags)
				if direct := len(self.copied) > 0; direct != b.own {
					t.Errorf("within a task, blocks of %d, atoms of %d, flags %#x: directly: %v",
						b.block, b.atom, flags, direct)
				}
			}
		}
	}
}

// TestHintsOfMulticast: they hold for each member's message.
func TestHintsOfMulticast(t *testing.T) {
	j := newJob(t, 4, paths["shm"]).compute()
	var links [4]*watchedLink
	for i := 1; i < 4; i++ {
		links[i] = j.tasks[i].watch(0)
	}
	name := j.tasks[0].group(t, 3, 0, 1)
	for flags, least := range map[uint32]int{0: singlecopy.AmMin,
		singlecopy.UseBulkXfer: 4097, singlecopy.NotUseBulkXfer: 1 << 30,
		singlecopy.UseBulkXfer | singlecopy.NotUseBulkXfer: 1 << 30} {
		for _, n := range []int{1, 4096, 4097, 16383, 16384, 200000} {
			r := receiveAll(j, n)
			data := pattern(n, uint64(n))
			j.ok(j.tasks[0].Xfer(XferMc, &Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: addrOf(data),
				N: uint64(n), Flags: flags}))
			id, _ := j.tasks[0].FenceBegin()
			j.until("the fence", func() bool { return j.tasks[0].tickets.Done(id) })
			j.tasks[0].TicketResult(id)
			for i := range links {
				if i != 2 && !bytes.Equal(r.to[i][:n], data) {
					t.Errorf("flags %#x, %d bytes: task %d got something else", flags, n, i)
				}
				if i == 0 {
					continue
				}
				got, want := links[i].copied, 0
				if i != 2 && n >= least {
					want = 1
				}
				if links[i].copied = nil; len(got) != want {
					t.Errorf("flags %#x, %d bytes: task %d copied %v directly", flags, n, i, got)
				}
			}
		}
	}
}

// TestStatisticsOfBlocks: both sides count the same bytes of data in blocks, whichever way it goes:
// the data, and what says where it belongs. Through chunks they are fewer packets than through
// slots.
func TestStatisticsOfBlocks(t *testing.T) {
	const blocks, block, n = 64, 1024, 64 * 1024
	w := newJob(t, 2, paths["shm"]) // a watched link has no chunks
	by := enroll(t, block, 2*block, 0)
	for _, c := range []struct {
		what  string
		kind  uint32
		flags uint32
		extra uint64 // bytes that are no data
	}{
		{"strided put", XferPutv, 0, 0},
		{"strided put, directly", XferPutv, singlecopy.UseBulkXfer, 0},
		{"strided get", XferGetv, 0, 0},
		{"strided get, directly", XferGetv, singlecopy.UseBulkXfer, 0},
		{"DGSP", XferAmx, 0, 0},
		{"DGSP, directly", XferAmx, singlecopy.UseBulkXfer, blocks * uint64(vector.BlockSize)},
	} {
		from, _, _ := strided(blocks, block, 2*block, 1)
		to, dst, _ := strided(blocks, block, 2*block, 0)
		var org, target int32
		x := Transfer{Tgt: 1, Flags: c.flags, OrgAddr: from.at(), TgtAddr: to.longAt(),
			OrgCntr: at(&org), TgtCntr: at(&target)}
		switch c.kind {
		case XferGetv:
			x.OrgAddr, x.TgtAddr = to.at(), from.longAt()
		case XferAmx:
			x.OrgAddr, x.TgtAddr, x.N, x.HdrHdl = addrOf(from.buffer), by, n, 0x1000
			w.tasks[1].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
				r.Buffer = addrOf(dst)
			}
		}
		before := [2]transport.Stats{*w.tasks[0].net.Shm.Stats(), *w.tasks[1].net.Shm.Stats()}
		w.ok(w.tasks[0].Xfer(c.kind, &x))
		w.until("the counters", func() bool { return org == 1 && target == 1 })
		sender, receiver := 0, 1
		if c.kind == XferGetv {
			sender, receiver = 1, 0
		}
		s, r := w.tasks[sender].net.Shm.Stats(), w.tasks[receiver].net.Shm.Stats()
		sent, received := s.DataSent-before[sender].DataSent,
			r.DataReceived-before[receiver].DataReceived
		if sent < n || sent > n+c.extra || received < n || received > n+c.extra {
			t.Errorf("%s of %d bytes: %d sent, %d received", c.what, n, sent, received)
		}
		if packets := r.PacketsReceived - before[receiver].PacketsReceived; packets > 6 {
			t.Errorf("%s of %d bytes: %d packets received", c.what, n, packets)
		}
		runtime.KeepAlive([]any{from, to})
	}
}

// TestMulticastAcrossRecovery: a group may have a task that died, was purged, is expected back, and
// is back: it is what each of its members is for a message of its own.
func TestMulticastAcrossRecovery(t *testing.T) {
	const n = 600_000 // more than a chunk area holds
	h := newHandJob(t, 3)
	k := h.tasks[0]
	name := k.group(t, 2, 1, 0)
	data := pattern(n, 9)
	var to [3][]byte
	open := func(i int) {
		to[i] = make([]byte, n)
		h.tasks[i].headers[0x1000] = func(_ *headerCall, r *HeaderResult) {
			r.Buffer = addrOf(to[i])
		}
	}
	handled, of, reason := 0, int32(0), codes.Success
	k.sends[0x500] = func(_ transport.Addr, who int32, why codes.Code) {
		handled, of, reason = handled+1, who, why
	}
	x := Transfer{Tgt: name, HdrHdl: 0x1000, OrgAddr: addrOf(data), N: n, Handler: 0x500}
	complete := func(what string, members ...int) {
		t.Helper()
		h.until(what, func() bool {
			for _, i := range members {
				if !bytes.Equal(to[i], data) {
					return false
				}
			}
			return true
		})
	}
	for round := range 3 {
		for i := range h.tasks {
			open(i)
		}
		handled = 0
		h.ok(k.Xfer(XferMc, &x))
		complete("all", 0, 1, 2)
		h.until("the handler", func() bool { return handled == 1 })
		if uint32(of) != name || reason != codes.Success {
			t.Errorf("the handler hears %d, %s", of, codes.Name(reason))
		}
		h.ok(k.Xfer(XferMc, &x)) // under way to the task that dies
		h.die(2)
		h.until("the handler", func() bool { return handled == 2 })
		if of != 2 || reason != codes.ErrNoConnectivity {
			t.Errorf("the handler hears %d, %s", of, codes.Name(reason))
		}
		want(t, "to a dead task", k.Xfer(XferMc, &x), codes.ErrNoConnectivity)
		if round != 1 {
			want(t, "purge", k.Purge(2), codes.Success)
			want(t, "to a purged task", k.Xfer(XferMc, &x), codes.ErrTgtPurged)
		}
		want(t, "resume", k.Resume(2), codes.Success)
		want(t, "resume elsewhere", h.tasks[1].Resume(2), codes.Success)
		open(0)
		open(1)
		h.ok(k.Xfer(XferMc, &x)) // the message to task 2 waits, the others do not
		complete("those that are there", 0, 1)
		if handled != 2 {
			t.Errorf("the handler ran %d times before the last one was there", handled)
		}
		want(t, "init", h.rejoin(2), codes.Success)
		open(2)
		complete("the one that came back", 2)
		h.until("the handler", func() bool { return handled == 3 })
		if uint32(of) != name || reason != codes.Success {
			t.Errorf("the handler hears %d, %s", of, codes.Name(reason))
		}
	}
	runtime.KeepAlive(data)
}
