package lapi

import (
	"fmt"
	"slices"
	"time"

	"lapi/core/lapi/codes"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/memory"
	"lapi/transport/udp"
)

// The values of lapi_query_t.
const (
	qTaskID uint32 = iota
	qNumTasks
	qMaxUhdrSz
	qMaxDataSz
	qErrorChk
	qTimeout
	qMinTimeout
	qMaxTimeout
	qInterruptSet
	qMaxPorts
	qMaxPktSz
	qNumRexBufs
	qRexBufSz
	qLocAddrtblSz
	qEpochNum
	qUseThresh
	qRcvFifoSize
	qMaxAtomSize
	qBufCpSize
	qMaxPktsOut
	qAckThreshold
	qShmEnabled
	qShmNumTasks
	qShmTasks
	qStatistics
	qPrintStatistics
	qShmStatistics
	qLocalSendStatistics
	qBulkXfer
	qBulkMinMsgSize
	_ // RDMA_REMOTE_RCXT_AVAIL and RDMA_REMOTE_RCXT_TOTAL: of hardware that had contexts
	_
	qRCMaxQP
	qRCQPInUse
	_ // RC_QP_USE_LRU, RC_QP_USE_LMC, RC_QP_INIT_SETUP: not supported
	_
	_
	qLast
)

// defaultBufCopy is BUF_CP_SIZE, bytes, unless MP_REXMIT_BUF_SIZE is set: to copy so much takes less
// time than to notify the program later that its buffer is free.
const defaultBufCopy = 4096

// attributes are what LAPI_Senv sets, and what LAPI_Init has found.
type attributes struct {
	errorCheck   bool
	ackThreshold int   // ACK_THRESHOLD, packets
	timeout      int64 // seconds
	bufCopy      int   // BUF_CP_SIZE, bytes
	persistent   bool  // LAPI_PSS_GPFS
	// reached by shared memory, this one included; nil if shared memory is not used
	shmTasks []int
}

// timeout is TIMEOUT in ns; negative: there is none.
func (c *Context) timeout() int64 {
	if c.cfg.NoTimeout {
		return -1
	}
	return c.attributes.timeout * int64(time.Second)
}

// Qenv is LAPI_Qenv (guide, Chapter 18 and Appendix D): stores the attribute at ret, an int unless
// the query says more.
func (c *Context) Qenv(query uint32, ret transport.Addr) codes.Code {
	memory.Guard()
	if query >= qLast {
		return codes.ErrQueryType
	}
	if ret == 0 {
		return codes.ErrRetPtrNull
	}
	var b []byte
	switch query {
	case qShmTasks:
		for i := range c.peers {
			b = wire.Order.AppendUint32(b, uint32(int32(slices.Index(c.attributes.shmTasks, i))))
		}
	case qStatistics, qShmStatistics, qLocalSendStatistics:
		b = encodeStats(c.statistics(query))
	case qPrintStatistics:
		c.printStatistics()
		return codes.Success
	default:
		b = wire.Order.AppendUint32(b, c.attribute(query))
	}
	if err := memory.CopyIn(ret, b); err != nil {
		c.faults.Here(err, codes.ErrRetPtrNull, codes.IntErr)
		return codes.ErrRetPtrNull
	}
	return codes.Success
}

// attribute is the value of a query that returns one int. Queries that only legacy code makes, and
// those about queue pairs that this library does not support, give 0.
func (c *Context) attribute(query uint32) uint32 {
	a := &c.attributes
	return [qLast]uint32{
		qTaskID: uint32(c.me), qNumTasks: uint32(len(c.peers)), qMaxUhdrSz: wire.MaxUhdrSize,
		qMaxDataSz: 0xffffffff, qErrorChk: flag(a.errorCheck), qTimeout: uint32(a.timeout),
		qMinTimeout: minTimeout, qMaxTimeout: maxTimeout,
		qInterruptSet: flag(c.wake.Interrupt()), qMaxPorts: MaxContexts,
		qMaxPktSz: uint32(c.packetSize()), qNumRexBufs: uint32(c.cfg.RexmitBufCount),
		qRexBufSz: uint32(c.cfg.RexmitBufSize), qLocAddrtblSz: wire.HandlerIndices,
		qMaxAtomSize: MaxAtomSize, qBufCpSize: uint32(a.bufCopy), qMaxPktsOut: udp.MaxPacketsOut,
		qAckThreshold: uint32(a.ackThreshold), qShmEnabled: flag(a.shmTasks != nil),
		qShmNumTasks: uint32(len(a.shmTasks)), qBulkXfer: flag(c.bulkEnabled()),
		qBulkMinMsgSize: uint32(c.cfg.BulkMin), qRCMaxQP: uint32(c.reachedByRDMA()),
		qRCQPInUse: c.queuePairs(),
	}[query]
}

// packetSize is what one packet holds of user header and data: a datagram's where there are any,
// else a slot message's.
func (c *Context) packetSize() int {
	l := c.net.Self
	if c.net.Shm != nil {
		l = c.net.Shm
	}
	for i := range c.peers {
		if p := &c.peers[i]; !p.Shared && !p.IsSelf {
			l = p.Link
		}
	}
	return l.Limits().SendMax - wire.AmSize
}

// Senv is LAPI_Senv.
func (c *Context) Senv(query uint32, v int32) codes.Code {
	from, to := int32(0), int32(1)
	switch query {
	case qErrorChk, qInterruptSet:
	case qTimeout:
		from, to = minTimeout, maxTimeout
	case qAckThreshold:
		from, to = 1, 30
	default:
		return codes.ErrQueryType
	}
	if v < from || v > to {
		return codes.ErrSetVal
	}
	switch query {
	case qErrorChk:
		c.attributes.errorCheck = v == 1
		c.in.SetCheck(v == 1)
		if c.lane != nil {
			c.lane.ErrorCheck = uint32(v)
		}
	case qInterruptSet:
		c.wake.SetInterrupt(v == 1)
		c.wake.Kick()
	case qTimeout:
		c.attributes.timeout = int64(v)
		for _, l := range c.links.All() {
			if t, ok := l.(interface{ SetTimeout(time.Duration) }); ok {
				t.SetTimeout(time.Duration(v) * time.Second)
			}
		}
	case qAckThreshold:
		c.attributes.ackThreshold = int(v)
		if c.net.UDP != nil {
			c.net.UDP.SetAckThreshold(int(v))
		}
	}
	return codes.Success
}

// statistics of one path. The local path does not cut messages into packets: it reports none.
func (c *Context) statistics(query uint32) transport.Stats {
	switch {
	case query == qLocalSendStatistics:
		s := *c.net.Self.Stats()
		s.PacketsSent, s.PacketsReceived = 0, 0
		return s
	case query == qShmStatistics && c.net.Shm != nil:
		return *c.net.Shm.Stats()
	case query == qStatistics:
		return c.remoteStatistics()
	}
	return transport.Stats{}
}

// remoteStatistics are those of UDP/IP and RDMA together.
func (c *Context) remoteStatistics() (sum transport.Stats) {
	if c.net.UDP != nil {
		sum = *c.net.UDP.Stats()
	}
	if c.net.Verbs == nil {
		return sum
	}
	s := c.net.Verbs.Stats()
	for _, pair := range [...]struct {
		to   *uint64
		more uint64
	}{{&sum.DuplicatePackets, s.DuplicatePackets},
		{&sum.RetransmittedPackets, s.RetransmittedPackets},
		{&sum.GhostPackets, s.GhostPackets}, {&sum.PacketsSent, s.PacketsSent},
		{&sum.PacketsReceived, s.PacketsReceived}, {&sum.DataSent, s.DataSent},
		{&sum.DataReceived, s.DataReceived}, {&sum.AcksSent, s.AcksSent},
		{&sum.AcksReceived, s.AcksReceived}} {
		*pair.to += pair.more
	}
	return sum
}

// encodeStats is lapi_statistics_t.
func encodeStats(s transport.Stats) (b []byte) {
	for _, v := range [...]uint64{s.DuplicatePackets, s.RetransmittedPackets, s.GhostPackets,
		s.PacketsSent, s.PacketsReceived,
		s.DataSent, s.DataReceived, s.AcksSent, s.AcksReceived} {
		b = wire.Order.AppendUint64(b, v)
	}
	return b
}

func (c *Context) printStatistics() {
	for _, t := range c.traffic() {
		c.host.Print(fmt.Sprintf("task %d: %s\n", c.me, t))
	}
}

// AddrSet is LAPI_Addr_set: registers a header handler's address under an index.
func (c *Context) AddrSet(a transport.Addr, index int32) codes.Code {
	if index < 1 || index >= wire.HandlerIndices {
		return codes.ErrAddrHndlRange
	}
	c.in.Indices()[index] = uint64(a)
	return codes.Success
}

// AddrGet is LAPI_Addr_get.
func (c *Context) AddrGet(index int32) (transport.Addr, codes.Code) {
	if index < 1 || index >= wire.HandlerIndices {
		return 0, codes.ErrAddrHndlRange
	}
	return transport.Addr(c.in.Indices()[index]), codes.Success
}

// reachedDirectly is to how many other tasks data can go by a single copy, or RDMA.
func (c *Context) reachedDirectly() (n int) {
	for i := range c.peers {
		if p := &c.peers[i]; p.SingleCopy && !p.IsSelf {
			n++
		}
	}
	return n + c.reachedByRDMA()
}

// reachedByRDMA is how many tasks are reached over an adapter.
func (c *Context) reachedByRDMA() (n int) {
	for i := range c.peers {
		if c.byRDMA(&c.peers[i]) {
			n++
		}
	}
	return n
}

// byRDMA says whether p is reached over an adapter.
func (c *Context) byRDMA(p *peer.Peer) bool {
	return c.net.Verbs != nil && untraced(p.Link) == transport.Link(c.net.Verbs)
}

// queuePairs is RC_QP_IN_USE.
func (c *Context) queuePairs() uint32 {
	if c.net.Verbs == nil {
		return 0
	}
	return uint32(c.net.Verbs.QueuePairs())
}

// bulkEnabled is BULK_XFER: bulk transfer was asked for and there is someone to use it with.
func (c *Context) bulkEnabled() bool { return c.cfg.UseBulk && c.reachedDirectly() > 0 }
