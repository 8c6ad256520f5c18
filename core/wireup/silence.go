package wireup

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"lapi/transport"
	"lapi/transport/ibv"
	"lapi/transport/udp"
	"lapi/transport/verbs"
)

// reportsMax is how many tasks that do not answer one context reports: where a firewall stops all,
// or all wait for one task, more lines say nothing new.
const reportsMax = 4

// unanswered is what the UDP link calls when a task has not answered for some seconds.
func (n *Net) unanswered(ep transport.Endpoint, s udp.Silence) {
	if !n.isSpare(ep) { // else the link over adapters reports it
		n.reportSilence(ep, s.For, n.silenceText(s))
	}
}

// unansweredVerbs is unanswered for the link over adapters.
func (n *Net) unansweredVerbs(ep transport.Endpoint, s verbs.Silence) {
	n.reportSilence(ep, s.For, n.verbsSilenceText(s))
}

// reportSilence reports, once, that a task has not answered for that time.
func (n *Net) reportSilence(ep transport.Endpoint, since time.Duration, text string) {
	if n.reported[ep] || len(n.reported) == reportsMax {
		return
	}
	if n.reported == nil {
		n.reported = map[transport.Endpoint]bool{}
	}
	n.reported[ep] = true
	more := ""
	if len(n.reported) == reportsMax {
		more = ". Other tasks that do not answer are not reported"
	}
	n.cfg.Message(0, fmt.Sprintf("task %d: task %d has not answered for %d s: %s%s", n.me, ep,
		int(since.Seconds()), text, more))
}

// Silence says why task ep may have been silent when it was given up, and which request has failed;
// "" if that is not known.
func (n *Net) Silence(ep transport.Endpoint) string {
	if n.Verbs != nil {
		text := ""
		if f, ok := n.Verbs.Failure(ep); ok {
			text = "the last request to it has failed: " + f.String()
		}
		s, ok := n.Verbs.Silence(ep)
		switch {
		case ok && text != "":
			return n.verbsSilenceText(s) + "; " + text
		case ok:
			return n.verbsSilenceText(s)
		case text != "":
			return text
		}
	}
	if n.UDP != nil {
		if s, ok := n.UDP.Silence(ep); ok {
			return n.silenceText(s)
		}
	}
	return ""
}

// silenceText says by which path, and with what result, a task was asked.
func (n *Net) silenceText(s udp.Silence) string {
	text := fmt.Sprintf("UDP from %s to %v: ", n.localName(int(s.Path)), s.Peer)
	switch {
	case s.Reason != nil:
		return text + fmt.Sprintf("the kernel says: %v", s.Reason)
	case s.Heard:
		return text + "its packets arrive here, but ours are not answered: is a firewall in the way " +
			"of UDP?"
	case s.Ever:
		return text + "it has answered before"
	case !n.job.Gathered():
		return text + "nothing has come back: has it been started? Is a firewall in the way of UDP?"
	}
	return text + "nothing has come back: is a firewall in the way of UDP? (In polling mode a task " +
		"answers in LAPI calls only)"
}

// verbsSilenceText says between which adapters' ports, and with what result, a task was asked.
func (n *Net) verbsSilenceText(s verbs.Silence) string {
	text := fmt.Sprintf("RDMA from adapter %s, port %d (%s) to %s: ", s.Local.Name, s.Local.Port,
		portPlace(s.Local.GID, s.Local.LID), portPlace(s.Remote.GID, s.Remote.LID))
	switch {
	case s.Reason != nil:
		text += fmt.Sprintf("the adapter says: %v", s.Reason)
	case s.Heard:
		text += "its packets arrive here, but ours are not answered"
	case s.Ever:
		text += "it has answered before"
	case s.Local.LID != 0:
		text += "nothing has come back: is it in the same InfiniBand subnet and partition?"
	default:
		text += "nothing has come back: is a firewall in the way of RoCE (UDP port 4791)?"
	}
	if s.Spare {
		text += " It does not answer by UDP/IP either"
	}
	if s.Reason == nil && !s.Heard && !s.Ever {
		text += " (In polling mode a task answers in LAPI calls only)"
	}
	return text
}

// portPlace is where an adapter's port is, as its administrator knows it.
func portPlace(gid ibv.GID, lid uint16) string {
	if lid != 0 {
		return fmt.Sprintf("LID %d", lid)
	}
	return "GID " + netip.AddrFrom16(gid).Unmap().String()
}

// localName is this task's address of that number, with its interface.
func (n *Net) localName(path int) string {
	locals := n.UDP.Locals()
	if path >= len(locals) {
		return "nowhere"
	}
	name := interfaceOf(locals[path].Addr())
	if name == "" {
		name = "of no interface that is up"
	}
	return fmt.Sprintf("%v (%s)", locals[path], name)
}

// interfaceOf is the name of the interface that has an address; "": none has.
func interfaceOf(a netip.Addr) string {
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, i := range all {
		addrs, _ := i.Addrs()
		for _, of := range addrs {
			p, err := netip.ParsePrefix(of.String())
			if err == nil && (p.Addr().Unmap() == a.WithZone("").Unmap() ||
				i.Flags&net.FlagLoopback != 0 && p.Contains(a)) {
				return i.Name
			}
		}
	}
	return ""
}
