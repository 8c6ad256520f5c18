package wireup

import (
	"fmt"
	"net/netip"

	"lapi/transport"
	"lapi/transport/udp"
)

// openUDP binds this task's sockets: one to each address in MP_LAPI_INET_ADDR, or to its adapter's,
// or one to its own entry of the user's list.
func (n *Net) openUDP() error {
	key, err := n.jobKey()
	if err != nil {
		return err
	}
	locals := n.locals()
	if !n.job.Gathered() {
		if err := n.listed(n.localAddress()); err != nil {
			return err
		}
		locals = []udp.Local{{Addr: n.Listed[n.me]}}
	} else if len(locals) == 0 {
		return n.fail(NoAddresses,
			"MP_LAPI_INET_ADDR is not set; it names the addresses of this task, as in "+
				"@1:127.0.0.1,lo")
	}
	cfg := udp.Config{
		Task: n.me, NumTasks: n.job.NumTasks, Key: key, Level: levelOf[n.job.Auth],
		Disagreement: n.disagreement, Partition: n.job.Partition,
		Instance: n.cfg.Instance, PacketSize: n.job.UDPPacketSize, Plain: n.job.UDPPlain,
		AckThreshold:    n.job.AckThreshold,
		PollingInterval: n.job.PollingInterval, RetransmitInterval: n.job.RetransmitInterval,
		RexmitBufCount: n.job.RexmitBufCount,
		RexmitBufSize:  n.job.RexmitBufSize, CopyMax: n.cfg.CopyMax, Timeout: n.cfg.Timeout,
		NoTimeout:  n.job.NoTimeout,
		PeerFailed: n.udpFailed, Unanswered: n.unanswered, Expected: n.cfg.Expected,
		PathChanged: n.pathChanged, SendMaxChanged: n.sendMaxChanged, Clock: n.cfg.Clock,
	}
	if loss := n.job.UDPLoss; loss.Percent > 0 {
		cfg.Drop = udp.Losing(loss.Percent, loss.Seed, n.me)
		n.say(0, "LAPI_UDP_LOSS is set: %v %% of this task's datagrams are lost on purpose",
			loss.Percent)
	}
	l, err := n.openPaths(cfg, locals)
	if err != nil {
		return n.fail(NoSocket, "cannot open a UDP socket on %v: %v", locals[0].Addr, err)
	}
	n.UDP = l
	for _, a := range l.Locals() {
		n.happened(LevelInform, SocketBound, "(instance %d, bound to %v)", n.cfg.Instance, a)
	}
	return nil
}

// openPaths opens the link with all of locals. Tasks' addresses pair by their number, so if one
// cannot be used, only those before it are: then there is less, or no, failover. The error is about
// the first address.
func (n *Net) openPaths(cfg udp.Config, locals []udp.Local) (l UDPLink, err error) {
	open := n.cfg.OpenUDP
	if open == nil {
		open = func(c udp.Config) (UDPLink, error) { return udp.New(c) }
	}
	var why error
	for used := len(locals); used > 0; used-- {
		cfg.Locals = locals[:used]
		if l, err = open(cfg); err == nil {
			break
		}
		why = err
	}
	if err == nil && why != nil {
		n.happened(LevelFailure, FewerPaths, "(%v; %d of %d addresses are used)", why,
			len(cfg.Locals), len(locals))
	}
	return l, err
}

// locals are this task's addresses under a launcher: those in MP_LAPI_INET_ADDR that are its
// adapter's, if one was asked for. Of several each is bound to its interface, so that two in one
// subnet are two paths.
func (n *Net) locals() (all []udp.Local) {
	for _, a := range n.job.Adapters {
		if n.onOwnAdapter(a.Addr) {
			all = append(all, udp.Local{Addr: netip.AddrPortFrom(a.Addr, 0), Device: a.Device})
		}
	}
	if all == nil && n.adapter != nil {
		all = []udp.Local{{Addr: netip.AddrPortFrom(n.adapter[0], 0)}}
	}
	if len(all) == 1 {
		all[0].Device = "" // nothing to keep apart, and a wrong name does no harm
	}
	return all
}

// listed asks the user where the tasks of a job started by hand are.
func (n *Net) listed(local netip.AddrPort) error {
	if n.cfg.Addresses == nil {
		if n.job.InetSet {
			return n.fail(NoHandler,
				"started by hand, over UDP: lapi_info_t.add_info must give a udp_hndlr or an "+
					"add_udp_addrs list; or use lapirun")
		}
		return n.fail(NoAddresses,
			"MP_LAPI_INET_ADDR is not set and add_info gives no UDP addresses; use lapirun, or "+
				"set up the job as in docs/environment.md")
	}
	remote := n.remote
	// then not even this task is reached by shared memory: the list is to have all tasks
	if n.Shm == nil {
		remote = n.job.NumTasks
	}
	addrs := n.cfg.Addresses(local, n.me, n.job.NumTasks, remote)
	if addrs == nil {
		return n.fail(UserFailed, "the user's UDP handler failed")
	}
	if !addrs[n.me].Addr().IsValid() || addrs[n.me].Port() == 0 {
		return n.fail(BadAddress, "the UDP address list has no address and port for this task")
	}
	own, err := n.onAdapter(addrs[n.me])
	if err != nil {
		return n.fail(BadAddress, "%v", err)
	}
	addrs[n.me] = own
	n.Listed = addrs
	return nil
}

// udpFailed is what the UDP link calls when it gives a task up: the link over adapters decides
// about a task that is reached by these.
func (n *Net) udpFailed(ep transport.Endpoint, err error) {
	if n.isSpare(ep) {
		n.Verbs.SpareFailed(ep)
		return
	}
	n.cfg.PeerFailed(ep, err)
}

// sendMaxChanged is what the UDP link calls when packets to a task hold more, or less: the owner's
// messages to a task that is reached by adapters are not cut for UDP.
func (n *Net) sendMaxChanged(ep transport.Endpoint, sendMax int) {
	if n.cfg.SendMaxChanged != nil && !n.isSpare(ep) {
		n.cfg.SendMaxChanged(ep, sendMax)
	}
}

// pathChanged is what the UDP link calls when one of several paths to a task is left or used again.
func (n *Net) pathChanged(ep transport.Endpoint, path udp.Path, used bool) {
	text := "no answer comes by it, others are tried"
	if used {
		text = "it is used again"
	}
	n.cfg.Message(LevelInform, fmt.Sprintf("task %d: path %d to task %d: %s", n.me, path, ep, text))
}
