package lapi

import (
	"fmt"
	"slices"
	"sync/atomic"

	"lapi/core/lapi/codes"
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
	qLast = 37
)

// Qenv is LAPI_Qenv (guide, Chapter 18 and Appendix D): stores the attribute at ret, an int unless the query says more.
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
		for i := range c.tasks {
			b = order.AppendUint32(b, uint32(int32(slices.Index(c.shmTasks, i))))
		}
	case qStatistics, qShmStatistics, qLocalSendStatistics:
		b = encodeStats(c.statistics(query))
	case qPrintStatistics:
		c.printStatistics()
		return codes.Success
	default:
		b = order.AppendUint32(b, uint32(c.attribute(query)))
	}
	if err := memory.CopyIn(ret, b); err != nil {
		c.fault(err, codes.ErrRetPtrNull, IntErr, c.me)
		return codes.ErrRetPtrNull
	}
	return codes.Success
}

// attribute is the value of a query that returns one int. Queries that only legacy code makes, and those about adapters, give 0.
func (c *Context) attribute(query uint32) int64 {
	switch query {
	case qTaskID:
		return int64(c.me)
	case qNumTasks:
		return int64(len(c.tasks))
	case qMaxUhdrSz:
		return MaxUhdrSize
	case qMaxDataSz:
		return 0xffffffff
	case qErrorChk:
		return boolean(c.errorCheck)
	case qTimeout:
		return c.timeout
	case qMinTimeout:
		return minTimeout
	case qMaxTimeout:
		return maxTimeout
	case qInterruptSet:
		return int64(atomic.LoadUint32(&c.shared.Progress.Interrupts))
	case qMaxPorts:
		return MaxContexts
	case qMaxPktSz:
		return int64(c.packetSize())
	case qNumRexBufs:
		return int64(c.cfg.RexmitBufCount)
	case qRexBufSz:
		return int64(c.cfg.RexmitBufSize)
	case qLocAddrtblSz:
		return AddressTableSize
	case qMaxAtomSize:
		return MaxAtomSize
	case qBufCpSize:
		return int64(c.bufCopy)
	case qMaxPktsOut:
		return udp.MaxPacketsOut
	case qAckThreshold:
		return int64(c.ackThreshold)
	case qShmEnabled:
		return boolean(c.shmTasks != nil)
	case qShmNumTasks:
		return int64(len(c.shmTasks))
	case qBulkXfer:
		return boolean(c.bulkEnabled())
	case qBulkMinMsgSize:
		return int64(c.cfg.BulkMin)
	}
	return 0
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// packetSize is what one packet holds of user header and data: a datagram's where there are any, else a slot message's.
func (c *Context) packetSize() int {
	for i := range c.tasks {
		if t := &c.tasks[i]; !t.shared && !t.isSelf {
			return t.link.Limits().SendMax - amHeaderSize
		}
	}
	if c.shm != nil {
		return c.shm.Limits().SendMax - amHeaderSize
	}
	return c.self.Limits().SendMax - amHeaderSize
}

// Senv is LAPI_Senv.
func (c *Context) Senv(query uint32, v int32) codes.Code {
	toggle := v == 0 || v == 1
	switch query {
	case qErrorChk:
		if !toggle {
			return codes.ErrSetVal
		}
		c.errorCheck = v == 1
		if c.lane != nil {
			c.lane.ErrorCheck = uint32(v)
		}
	case qInterruptSet:
		if !toggle {
			return codes.ErrSetVal
		}
		setInterrupt(c.shared, v == 1)
		kick(c.shared)
	case qTimeout:
		if v < minTimeout || v > maxTimeout {
			return codes.ErrSetVal
		}
		c.timeout = int64(v)
		c.applyTimeout()
	case qAckThreshold:
		if v < 1 || v > 30 {
			return codes.ErrSetVal
		}
		c.ackThreshold = int(v)
		if c.udp != nil {
			c.udp.SetAckThreshold(int(v))
		}
	default:
		return codes.ErrQueryType
	}
	return codes.Success
}

// statistics of one path. The local path does not cut messages into packets: it reports none.
func (c *Context) statistics(query uint32) transport.Stats {
	switch {
	case query == qLocalSendStatistics:
		s := *c.self.Stats()
		s.PacketsSent, s.PacketsReceived = 0, 0
		return s
	case query == qShmStatistics && c.shm != nil:
		return *c.shm.Stats()
	case query == qStatistics && c.udp != nil:
		return *c.udp.Stats()
	}
	return transport.Stats{}
}

// encodeStats is lapi_statistics_t.
func encodeStats(s transport.Stats) (b []byte) {
	for _, v := range [...]uint64{s.DuplicatePackets, s.RetransmittedPackets, s.GhostPackets, s.PacketsSent, s.PacketsReceived,
		s.DataSent, s.DataReceived, s.AcksSent, s.AcksReceived} {
		b = order.AppendUint64(b, v)
	}
	return b
}

func (c *Context) printStatistics() {
	for _, p := range [...]struct {
		name  string
		query uint32
	}{{"UDP/IP", qStatistics}, {"shared memory", qShmStatistics}, {"local copy", qLocalSendStatistics}} {
		s := c.statistics(p.query)
		c.host.Print(fmt.Sprintf("task %d: %s: packets sent %d received %d, bytes sent %d received %d, retransmitted %d duplicate %d ghost %d, acknowledgements sent %d received %d\n",
			c.me, p.name, s.PacketsSent, s.PacketsReceived, s.DataSent, s.DataReceived, s.RetransmittedPackets, s.DuplicatePackets, s.GhostPackets, s.AcksSent, s.AcksReceived))
	}
}

// AddrSet is LAPI_Addr_set: registers a header handler's address under an index.
func (c *Context) AddrSet(a transport.Addr, index int32) codes.Code {
	if index < 1 || index >= AddressTableSize {
		return codes.ErrAddrHndlRange
	}
	c.handlerTable()[index] = uint64(a)
	return codes.Success
}

// AddrGet is LAPI_Addr_get.
func (c *Context) AddrGet(index int32) (transport.Addr, codes.Code) {
	if index < 1 || index >= AddressTableSize {
		return 0, codes.ErrAddrHndlRange
	}
	return transport.Addr(c.handlerTable()[index]), codes.Success
}

// handlerTable holds the addresses of LAPI_Addr_set by index, 0: none. The lane has it where there is one.
func (c *Context) handlerTable() *[AddressTableSize]uint64 {
	if c.lane != nil {
		return &c.lane.Handlers
	}
	return &c.handlers
}
