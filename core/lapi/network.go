package lapi

import (
	"fmt"
	"net/netip"
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/udp"
)

// openUDP binds this task's sockets: one to each address in MP_LAPI_INET_ADDR, or to its adapter's, or one to its own entry of the user's list.
func (s *setup) openUDP() codes.Code {
	key, err := s.jobKey()
	if err != nil {
		return s.o.report(err)
	}
	locals := s.locals()
	if !s.cfg.Launched {
		if code := s.standaloneAddresses(s.localAddress()); code != codes.Success {
			return code
		}
		locals = []udp.Local{{Addr: s.udpAddrs[s.me]}}
	} else if len(locals) == 0 {
		s.say(0, "MP_LAPI_INET_ADDR is not set; it names the addresses of this task, as in @1:127.0.0.1,lo")
		return codes.ErrNoNetstrSet
	}
	cfg := udp.Config{
		Task: s.me, NumTasks: s.cfg.NumTasks, Key: key, Level: levelOf[s.cfg.Auth], Disagreement: s.disagreement, Partition: s.cfg.Partition,
		Instance: s.instance, PacketSize: s.cfg.UDPPacketSize, Plain: s.cfg.UDPPlain, AckThreshold: s.cfg.AckThreshold, PollingInterval: s.cfg.PollingInterval,
		RetransmitInterval: s.cfg.RetransmitInterval, RexmitBufCount: s.cfg.RexmitBufCount, RexmitBufSize: s.cfg.RexmitBufSize, CopyMax: s.bufCopy,
		Timeout: defaultTimeout * time.Second, NoTimeout: s.cfg.NoTimeout, PeerFailed: s.peerFailed, PathChanged: s.pathChanged,
		SendMaxChanged: s.sendMaxChanged, Clock: s.clock,
	}
	if loss := s.cfg.UDPLoss; loss.Percent > 0 {
		cfg.Drop = udp.Losing(loss.Percent, loss.Seed, s.me)
		s.say(0, "LAPI_UDP_LOSS is set: %v %% of this task's datagrams are lost on purpose", loss.Percent)
	}
	l, err := s.openPaths(cfg, locals)
	if err != nil {
		s.say(0, "cannot open a UDP socket on %v: %v", locals[0].Addr, err)
		return codes.ErrUDPSocket
	}
	s.udp = l
	for _, a := range l.Locals() {
		s.attention(levelInform, codes.AttPortStart, "(instance %d, bound to %v)", s.instance, a)
	}
	return codes.Success
}

// openPaths opens the link with all of locals, or, as tasks' addresses pair by their number, with those before the first that cannot be used: then there
// is less, or no, failover. The error is about the first address.
func (s *setup) openPaths(cfg udp.Config, locals []udp.Local) (l udpLink, err error) {
	open := s.o.OpenUDP
	if open == nil {
		open = func(c udp.Config) (udpLink, error) { return udp.New(c) }
	}
	var why error
	for n := len(locals); n > 0; n-- {
		cfg.Locals = locals[:n]
		if l, err = open(cfg); err == nil {
			break
		}
		why = err
	}
	if err == nil && why != nil {
		s.attention(levelFailure, codes.AttFrSetupInternal, "(%v; %d of %d addresses are used)", why, len(cfg.Locals), len(locals))
	}
	return l, err
}

// locals are this task's addresses under a launcher: those in MP_LAPI_INET_ADDR that are its adapter's, if one was asked for. Of several
// each is bound to its interface, so that two in one subnet are two paths.
func (s *setup) locals() (all []udp.Local) {
	for _, a := range s.cfg.Adapters {
		if s.onOwnAdapter(a.Addr) {
			all = append(all, udp.Local{Addr: netip.AddrPortFrom(a.Addr, 0), Device: a.Device})
		}
	}
	if all == nil && s.adapter != nil {
		all = []udp.Local{{Addr: netip.AddrPortFrom(s.adapter[0], 0)}}
	}
	if len(all) == 1 {
		all[0].Device = "" // nothing to keep apart, and a wrong name does no harm
	}
	return all
}

// standaloneAddresses asks the user's handler or list where the tasks of a job started by hand are.
func (s *setup) standaloneAddresses(local netip.AddrPort) codes.Code {
	if s.o.UDP == nil {
		if s.cfg.InetSet {
			s.say(0, "started by hand, over UDP: lapi_info_t.add_info must give a udp_hndlr or an add_udp_addrs list; or use lapirun")
			return codes.ErrNoUDPHndlr
		}
		s.say(0, "MP_LAPI_INET_ADDR is not set and add_info gives no UDP addresses; use lapirun, or set up the job as in docs/environment.md")
		return codes.ErrNoNetstrSet
	}
	remote := s.remote
	if s.shm == nil { // then not even this task is reached by shared memory: the list is to have all tasks
		remote = s.cfg.NumTasks
	}
	addrs, code := s.o.UDP(local, s.me, s.cfg.NumTasks, remote)
	if code != codes.Success {
		s.say(0, "the user's UDP handler failed")
		return code
	}
	if !addrs[s.me].Addr().IsValid() || addrs[s.me].Port() == 0 {
		s.say(0, "the UDP address list has no address and port for this task")
		return codes.ErrUDPPortInfo
	}
	var err error
	if addrs[s.me], err = s.onAdapter(addrs[s.me]); err != nil {
		s.say(0, "%v", err)
		return codes.ErrUDPPortInfo
	}
	s.udpAddrs = addrs
	return codes.Success
}

// pathChanged is what the UDP link calls when one of several paths to a task is left or used again.
func (c *Context) pathChanged(ep transport.Endpoint, path udp.Path, used bool) {
	text := "no answer comes by it, others are tried"
	if used {
		text = "it is used again"
	}
	c.host.Message(levelInform, fmt.Sprintf("task %d: path %d to task %d: %s", c.me, path, ep, text))
}

// sendMaxChanged is what the UDP link calls when a packet on the way to a task holds more, or less, than before. What was cut already goes as it is.
func (c *Context) sendMaxChanged(ep transport.Endpoint, sendMax int) { c.tasks[ep].cutFor(sendMax) }

// cutFor says how long messages to t are to be: sendMax bytes of header and data.
func (t *task) cutFor(sendMax int) {
	t.packet = sendMax
	t.sendMax = (sendMax - wire.PutFragmentSize) &^ 7
}

// room is how much data goes in one message to t with a header of so many bytes.
func (t *task) room(header int) uint64 { return uint64(max(t.packet-header, 0)) }
