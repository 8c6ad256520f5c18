package lapi

import (
	"maps"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/layout"
	"lapi/transport/memory"
	udpwire "lapi/transport/udp/wire"
)

// reservingJob is two tasks over UDP, the first of which has outboxes and a session with the second.
// reserved makes two puts, of which the second stays open, so that the box of the second task is
// reserved.
func reservingJob(t *testing.T,
	env map[string]string) (j *testJob, reserved func() *layout.Outbox, told *int32) {
	all := map[string]string{"TEST_COMMITS": "yes"}
	maps.Copy(all, paths["udp"])
	maps.Copy(all, env)
	j = newJob(t, 2, all)
	told = new(int32)
	put := func() {
		j.tasks[0].Enter()
		j.ok(j.tasks[0].Put(1, 0, 0, 0, 0, 0, at(told)))
	}
	put()
	j.until("the session", func() bool { j.tasks[0].Enter(); return *told == 1 })
	return j, func() *layout.Outbox {
		put()
		put()
		return &j.tasks[0].outboxes.of[1]
	}, told
}

// join is what cshim_outbox_put does.
func join(box *layout.Outbox, h *wire.Put, data []byte) {
	start := (box.At + 7) &^ 7
	n := uint64(udpwire.MessageSize + wire.PutSize + len(data))
	b := memory.Bytes(transport.Addr(start), n)
	udpwire.PutMessage(b, uint8(wire.MsgPut), wire.PutSize, len(data))
	h.Encode(b[udpwire.MessageSize:])
	copy(b[udpwire.MessageSize+wire.PutSize:], data)
	clear(memory.Bytes(transport.Addr(box.At), start-box.At))
	box.At = start + n
	box.Room--
	box.Messages++
	box.Data += uint32(len(data))
	if h.CmplCntr != 0 {
		box.Completions++
	}
}

// A message that joins in C arrives like any other put, behind those before it and before those
// behind it; a fence covers it; a completion counter is expected.
func TestOutbox(t *testing.T) {
	j, reserve, told := reservingJob(t, nil)
	k := j.tasks[0]
	dst, src := make([]byte, 100), pattern(100, 5)
	var got int32
	box := reserve()
	if box.Room == 0 {
		t.Fatal("nothing is reserved")
	}
	// overwritten by the next
	join(box, &wire.Put{TgtAddr: at(&dst[0]), TgtCntr: at(&got), CmplCntr: at(told)},
		[]byte{1, 2, 3})
	join(box, &wire.Put{TgtAddr: at(&dst[0]), TgtCntr: at(&got), CmplCntr: 0}, src[:51])
	issued, sent := k.out.Issued(), k.Stats()
	k.Enter()
	if *box != (layout.Outbox{}) {
		t.Errorf("the box is still reserved: %+v", *box)
	}
	if n := k.out.Issued() - issued; n != 2 {
		t.Errorf("%d operations are noted", n)
	}
	if n := k.counters.Outstanding(1); n != 3 {
		t.Errorf("%d completions are expected", n)
	}
	j.ok(k.Put(1, 49, at(&dst[51]), at(&src[51]), at(&got), 0, 0))
	k.Enter()
	ticket, code := k.FenceBegin()
	j.ok(code)
	j.until("the fence", func() bool { k.Enter(); return k.Dispatch(ticket)&DispatchTicket != 0 })
	if string(dst) != string(src) || got != 3 {
		t.Errorf("after the fence the target has % x, and %d of 3 counts", dst, got)
	}
	j.until("the completions", func() bool { return *told == 4 })
	if n := k.counters.Outstanding(1); n != 0 {
		t.Errorf("%d completions are still expected", n)
	}
	if n := k.Stats() - sent; n != 103 {
		t.Errorf("%d bytes were sent, not 103", n)
	}
}

// TestOutboxOwesWhatHasNoCounter: where all puts that have joined are counted, their completions
// show that they are over; a put without a counter is owed until a flush.
func TestOutboxOwesWhatHasNoCounter(t *testing.T) {
	for _, counted := range []bool{true, false} {
		j, reserve, told := reservingJob(t, nil)
		k, want := j.tasks[0], int32(5)
		box := reserve()
		h := wire.Put{CmplCntr: at(told)}
		join(box, &h, nil)
		if !counted {
			h.CmplCntr, want = 0, 4
		}
		join(box, &h, nil)
		j.until("the completions", func() bool { k.Enter(); return *told == want })
		if _, owes := k.out.Owes(&k.peers[1]); owes == counted {
			t.Errorf("with a counter: %v, owed: %v", counted, owes)
		}
		j.fence(0)
	}
}

// Stats is how many bytes of data the task has sent over UDP.
func (k *testTask) Stats() uint64 { return k.net.UDP.Stats().DataSent }

// Nothing is reserved where C must not go by itself: the switch is off, a trace or a list of tasks
// notes each message, LAPI_Term has begun, user code runs.
func TestOutboxIsNotLent(t *testing.T) {
	if _, reserve, _ := reservingJob(t, nil); reserve().Room != maxJoining {
		t.Errorf("room for %d", reserve().Room)
	}
	for name, prepare := range map[string]func(c *Context){
		"list": func(c *Context) {
			list := new([4]uint64)
			list[3] = uint64(at(&list[1]))
			want(t, "list", c.ListCounter(1<<20, 1, at(&list[0]), at(&list[1]), at(&list[3])),
				codes.Success)
		},
		"user": func(c *Context) { c.outboxes.userCode++ },
		"term": func(c *Context) { c.term = &leaving{} },
		"pending": func(c *Context) {
			much := make([]byte, 1<<20)
			for waits := false; !waits; _, waits = c.out.Waits(&c.peers[1]) {
				want(t, "put", c.Xfer(XferPut, &Transfer{Tgt: 1, N: 1 << 20, TgtAddr: at(&much[0]),
					OrgAddr: at(&much[0])}), codes.Success)
			}
			c.Enter()
		},
	} {
		j, reserve, _ := reservingJob(t, nil)
		c := j.tasks[0].Context
		reserve()
		c.Enter()
		prepare(c)
		c.reserve(&c.peers[1])
		if box := c.outboxes.of[1]; box.Room != 0 || len(c.outboxes.reserved) != 0 {
			t.Errorf("%s: reserved all the same", name)
		}
		c.UnlistCounter(1 << 20)
		c.outboxes.userCode, c.term = 0, nil
	}
	for name, env := range map[string]map[string]string{"off": {"LAPI_FASTLANE": "off"},
		"trace": {"MP_LAPI_TRACE_LEVEL": "2", "LAPI_TRACE_DIR": t.TempDir()}} {
		if j := newJob(t, 2, merged(paths["udp"], env,
			map[string]string{"TEST_COMMITS": "yes"})); j.tasks[0].outboxes.Outboxes != nil {
			t.Errorf("%s: there are boxes", name)
		}
	}
}

// maxJoining is how many messages may join the waiting message, and leave a place for core's.
const maxJoining = 64 - 1 - 1

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// A handler's put reserves nothing, as the entry that the handler belongs to goes on.
func TestOutboxInHandler(t *testing.T) {
	j, reserve, _ := reservingJob(t, nil)
	k := j.tasks[0]
	ran, seen := false, uint32(0)
	k.headers[1<<40] = func(*headerCall, *HeaderResult) {
		ran = true
		seen = reserve().Room
	}
	j.ok(j.tasks[1].Amsend(0, 1<<40, 0, 0, 0, 0, 0, 0, 0))
	j.until("the handler", func() bool { k.Enter(); return ran })
	if seen != 0 || k.outboxes.userCode != 0 {
		t.Errorf("room for %d, %d handlers run", seen, k.outboxes.userCode)
	}
}
