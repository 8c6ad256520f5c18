package wireup

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"lapi/core/job"
	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/udp"
	"lapi/transport/verbs"
)

// silentUDP is a UDP link over the loopback interface that has given up task 1.
type silentUDP struct {
	UDPLink
	last udp.Silence
}

func (l silentUDP) Locals() []netip.AddrPort {
	return []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7")}
}

func (l silentUDP) Silence(ep transport.Endpoint) (udp.Silence, bool) { return l.last, ep == 1 }

// TestReportsUnansweredTasks: one line a task, with the addresses, the interface and the kernel's
// error or what to look at, and no more than reportsMax lines.
func TestReportsUnansweredTasks(t *testing.T) {
	s := udp.Silence{For: 5 * time.Second, Peer: netip.MustParseAddrPort("10.0.0.2:9")}
	refused, heard, ever := s, s, s
	refused.Reason, heard.Heard, ever.Ever = errors.New("not permitted"), true, true
	for _, c := range []struct {
		silence udp.Silence
		listed  bool
		say     string
	}{
		{s, false, "nothing has come back: is a firewall in the way of UDP?"},
		{s, true, "has it been started?"},
		{refused, false, "the kernel says: not permitted"},
		{heard, false, "its packets arrive here, but ours are not answered"},
		{ever, false, "it has answered before"},
	} {
		var lines []string
		n := Net{me: 4, UDP: silentUDP{last: c.silence}, job: &job.Config{Launched: !c.listed},
			cfg: &Config{Message: func(level int, text string) {
				if level != 0 {
					t.Errorf("level %d: %s", level, text)
				}
				lines = append(lines, text)
			}}}
		for range 2 {
			n.unanswered(1, c.silence)
		}
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "task 4: task 1 has not answered for "+
			"5 s: UDP from 127.0.0.1:7 (lo) to 10.0.0.2:9: ") || !strings.Contains(lines[0], c.say) {
			t.Errorf("%q, want %q", lines, c.say)
		}
		if text := n.Silence(1); !strings.Contains(text, c.say) {
			t.Errorf("Silence says %q, want %q", text, c.say)
		}
		if text := n.Silence(2); text != "" {
			t.Errorf("of a task that was not given up Silence says %q", text)
		}
		for ep := range transport.Endpoint(100) {
			n.unanswered(ep, c.silence)
		}
		if len(lines) != reportsMax || !strings.Contains(lines[reportsMax-1], "not reported") {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
	}
}

// TestNoInterfaceHasTheAddress: an address that is gone is reported as such.
func TestNoInterfaceHasTheAddress(t *testing.T) {
	if name := interfaceOf(netip.MustParseAddr("192.0.2.77")); name != "" {
		t.Errorf("192.0.2.77 is of %s", name)
	}
	if name := interfaceOf(netip.MustParseAddr("127.3.2.1")); name == "" {
		t.Error("no interface has 127.3.2.1")
	}
}

// silentVerbs is a link over adapters that has given up task 1.
type silentVerbs struct {
	VerbsLink
	last   verbs.Silence
	failed *ibv.Failure
}

func (l silentVerbs) Failure(transport.Endpoint) (f ibv.Failure, ok bool) {
	if l.failed != nil {
		return *l.failed, true
	}
	return f, false
}

func (l silentVerbs) Silence(ep transport.Endpoint) (verbs.Silence, bool) { return l.last, ep == 1 }

// TestReportsTasksThatAdaptersDoNotReach: with both ports and the adapter's error or what to look
// at, once a task whichever link reports it; the UDP link reports none that adapters may reach.
func TestReportsTasksThatAdaptersDoNotReach(t *testing.T) {
	local := ibv.Info{Name: "rxe0", Port: 2,
		GID: netip.MustParseAddr("::ffff:10.0.0.1").As16()}
	s := verbs.Silence{For: 5 * time.Second, Local: local,
		Remote: ibv.Remote{GID: netip.MustParseAddr("fe80::2").As16()}}
	refused, heard, ever, spare, subnet := s, s, s, s, s
	refused.Reason, heard.Heard, ever.Ever = errors.New("no route"), true, true
	spare.Spare, subnet.Local.LID, subnet.Remote.LID = true, 3, 4
	ethernet := "adapter rxe0, port 2 (GID 10.0.0.1) to GID fe80::2: "
	for _, c := range []struct {
		silence verbs.Silence
		say     string
	}{
		{s, ethernet + "nothing has come back: is a firewall in the way of RoCE (UDP port 4791)?"},
		{refused, ethernet + "the adapter says: no route"},
		{heard, ethernet + "its packets arrive here, but ours are not answered"},
		{ever, ethernet + "it has answered before"},
		{spare, "It does not answer by UDP/IP either"},
		{subnet, "(LID 3) to LID 4: nothing has come back: is it in the same InfiniBand subnet"},
	} {
		var lines []string
		n := Net{me: 4, Verbs: silentVerbs{last: c.silence}, UDP: silentUDP{},
			job: &job.Config{Launched: true}, spareTo: make([]bool, 3),
			cfg: &Config{Message: func(_ int, text string) { lines = append(lines, text) }}}
		n.spareTo[2] = true
		n.unanswered(2, udp.Silence{For: 5 * time.Second})
		n.unansweredVerbs(1, c.silence)
		n.unanswered(1, udp.Silence{For: 5 * time.Second})
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "task 4: task 1 has not answered for "+
			"5 s: RDMA from adapter rxe0, port 2 (") || !strings.Contains(lines[0], c.say) {
			t.Errorf("%q, want %q", lines, c.say)
		}
		if text := n.Silence(1); !strings.Contains(text, c.say) {
			t.Errorf("Silence says %q, want %q", text, c.say)
		}
		if text := n.Silence(2); text != "" {
			t.Errorf("of a task that was not given up Silence says %q", text)
		}
	}
}

// TestTextOfLostTaskHasFailedRequest: the text of a task that was given up names the request that has
// failed, also where the task was not silent.
func TestTextOfLostTaskHasFailedRequest(t *testing.T) {
	f := ibv.Failure{Status: ibv.RetryExcErr, VendorErr: 0x81, Device: "rxe0", Port: 1, QPN: 0x11,
		Op: ibv.OpSend}
	for ep, silent := range map[transport.Endpoint]bool{1: true, 3: false} {
		n := Net{Verbs: silentVerbs{failed: &f}, job: &job.Config{Launched: true}, cfg: &Config{}}
		text := n.Silence(ep)
		if !strings.HasSuffix(text, "the last request to it has failed: "+f.String()) ||
			strings.Contains(text, "RDMA from adapter") != silent {
			t.Errorf("task %d: %s", ep, text)
		}
	}
}

// TestReportsFailedRequest: at MP_INFOLEVEL 2, with all that the adapter says.
func TestReportsFailedRequest(t *testing.T) {
	var said string
	n := Net{me: 4, cfg: &Config{Message: func(level int, text string) {
		if level == LevelInform {
			said += text
		}
	}}}
	f := ibv.Failure{Status: ibv.RemAccessErr, VendorErr: 0x88, Device: "rxe0", Port: 1}
	n.requestFailed(2, f)
	if !strings.HasPrefix(said, "task 4: a request to task 2 has failed: "+f.String()) {
		t.Error(said)
	}
}
