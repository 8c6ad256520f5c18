package lapi

import (
	"bytes"
	"testing"
)

// TestLargeBuffersAreFree: with MP_REXMIT_BUF_SIZE set, BUF_CP_SIZE is its value, and data up to it
// may be overwritten on return on every path: the target of an active message must not read it
// later.
func TestLargeBuffersAreFree(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"shm":             {"LAPI_USE_SHM": "only"},
		"udp":             {"LAPI_USE_SHM": "no"},
		"small datagrams": {"LAPI_USE_SHM": "no", "MP_UDP_PACKET_SIZE": "1024"},
	} {
		t.Run(name, func(t *testing.T) {
			env["MP_REXMIT_BUF_SIZE"] = "65536"
			j := newJob(t, 2, env)
			for _, n := range []int{5000, 20000, 60000} {
				testOverwritten(t, j, n)
			}
		})
	}
}

// testOverwritten sends n bytes by put and by active message, several times, and spoils the buffer
// after each call.
func testOverwritten(t *testing.T, j *testJob, n int) {
	const handler, times = 0x1000, 20
	var arrived int32
	src := make([]byte, n)
	want := make([][]byte, times)
	puts, messages := make([][]byte, times), make([][]byte, times)
	j.tasks[1].headers[handler] = func(c *headerCall, r *HeaderResult) {
		r.Buffer = addrOf(messages[c.uhdr[0]])
	}
	for i := range times {
		want[i], puts[i], messages[i] = pattern(n, uint64(i)), make([]byte, n), make([]byte, n)
		uhdr := []byte{byte(i), 0, 0, 0}
		copy(src, want[i])
		j.ok(j.tasks[0].Put(1, uint64(n), addrOf(puts[i]), addrOf(src), at(&arrived), 0, 0))
		clear(src)
		copy(src, want[i])
		j.ok(j.tasks[0].Amsend(1, handler, addrOf(uhdr), 4, addrOf(src), uint64(n), at(&arrived), 0,
			0))
		clear(src)
	}
	j.until("the target counters", func() bool { return arrived == 2*times })
	for i := range times {
		if !bytes.Equal(puts[i], want[i]) {
			t.Errorf("put %d of %d bytes: data changed after the call arrived", i, n)
		}
		if !bytes.Equal(messages[i], want[i]) {
			t.Errorf("active message %d of %d bytes: data changed after the call arrived", i, n)
		}
	}
}
