package dat

import "encoding/binary"

// EventNumber says what an event reports (DAT_EVENT_NUMBER).
type EventNumber uint32

// The events.
const (
	EventDTO                   EventNumber = 0x1
	EventBind                  EventNumber = 0x1001
	EventConnectionRequest     EventNumber = 0x2001
	EventEstablished           EventNumber = 0x4001
	EventPeerRejected          EventNumber = 0x4002
	EventNonPeerRejected       EventNumber = 0x4003
	EventAcceptCompletionError EventNumber = 0x4004
	EventDisconnected          EventNumber = 0x4005
	EventBroken                EventNumber = 0x4006
	EventTimedOut              EventNumber = 0x4007
	EventUnreachable           EventNumber = 0x4008
	EventEVDOverflow           EventNumber = 0x8001
	EventIACatastrophic        EventNumber = 0x8002
	EventEPBroken              EventNumber = 0x8003
	EventSoftware              EventNumber = 0x10001
	EventExtendedDTO           EventNumber = 0x40000
	EventUDRequest             EventNumber = 0x40001
	EventUDEstablished         EventNumber = 0x40002
	EventUDReject              EventNumber = 0x40003
	EventUDError               EventNumber = 0x40004
	EventCollective            EventNumber = 0x40005
)

// Event is one event. It has the layout of DAT_EVENT, 120 bytes.
type Event struct {
	Number    EventNumber
	_         uint32
	EVD       Handle
	Data      [40]byte
	Extension [64]byte
}

func (e *Event) put64(at int, v uint64) { binary.LittleEndian.PutUint64(e.Data[at:], v) }
func (e *Event) put32(at int, v uint32) { binary.LittleEndian.PutUint32(e.Data[at:], v) }

// dtoEvent is a DAT_DTO_COMPLETION_EVENT_DATA.
func dtoEvent(number EventNumber, ep Handle, cookie uint64, status uint8, length, operation,
	context uint32) (e Event) {
	e.Number = number
	e.put64(0, uint64(ep))
	e.put64(8, cookie)
	e.put32(16, uint32(status))
	e.put32(20, length)
	e.put32(24, operation)
	e.put32(28, context)
	return e
}

// bindEvent is a DAT_RMR_BIND_COMPLETION_EVENT_DATA.
func bindEvent(rmr Handle, cookie uint64, status uint8) (e Event) {
	e.Number = EventBind
	e.put64(0, uint64(rmr))
	e.put64(8, cookie)
	e.put32(16, uint32(status))
	return e
}

// requestEvent is a DAT_CR_ARRIVAL_EVENT_DATA; local is the address of a sockaddr.
func requestEvent(number EventNumber, sp Handle, local, qualifier uint64, cr Handle) (e Event) {
	e.Number = number
	e.put64(0, uint64(sp))
	e.put64(8, local)
	e.put64(16, qualifier)
	e.put64(24, uint64(cr))
	return e
}

// connectionEvent is a DAT_CONNECTION_EVENT_DATA; private is the address of the data.
func connectionEvent(number EventNumber, ep Handle, size int, private uint64) (e Event) {
	e.Number = number
	e.put64(0, uint64(ep))
	e.put32(8, uint32(size))
	e.put64(16, private)
	return e
}

// asyncEvent is a DAT_ASYNCH_ERROR_EVENT_DATA.
func asyncEvent(number EventNumber, h Handle, reason uint32) (e Event) {
	e.Number = number
	e.put64(0, uint64(h))
	e.put32(8, reason)
	return e
}

// Extension types (DAT_IB_EXT_TYPE).
const (
	extFetchAdd      = 0
	extCompareSwap   = 1
	extWriteImmed    = 2
	extWriteImmedEnd = 3 // at the target
	extUDRequest     = 5
	extUDRemoteAH    = 6
	extUDPassiveAH   = 7
	extUDSend        = 8
	extUDReceive     = 9
	extUDReject      = 10
	extUDError       = 11
)

// proposed are the types that the proposal of 2005 has (DAT_EXT_EVENT_TYPE).
var proposed = map[uint32]uint32{extWriteImmed: 1, extWriteImmedEnd: 3, extFetchAdd: 5,
	extCompareSwap: 6}

// extend sets type, status and immediate data of a DAT_IB_EXTENSION_EVENT_DATA. Of what the
// proposal of 2005 knows its type and immediate data, too: behind the DTO (DAT_EXTENSION_DATA).
func (e *Event) extend(kind uint32, status uint8, immediate uint32) {
	if t := proposed[kind]; t != 0 && e.Number == EventExtendedDTO {
		e.put32(32, t)
		e.put32(36, immediate)
	}
	le := binary.LittleEndian
	le.PutUint32(e.Extension[0:], kind)
	le.PutUint32(e.Extension[4:], uint32(status))
	le.PutUint32(e.Extension[8:], immediate)
}

// collectiveEvent is an event of a group, with its DAT_IB_COLLECTIVE_EVENT_DATA.
func collectiveEvent(kind uint32, failed bool, group Handle, context uint64) (e Event) {
	e.Number = EventCollective
	status := uint8(0)
	if failed {
		status = statusCollective
	}
	e.extend(kind, status, 0)
	binary.LittleEndian.PutUint64(e.Extension[16:], uint64(group))
	binary.LittleEndian.PutUint64(e.Extension[24:], context)
	return e
}

// setPlace says, in the event of a group that was made, which member this is, and of how many.
func (e *Event) setPlace(rank, size int) {
	binary.LittleEndian.PutUint32(e.Extension[32:], uint32(rank))
	binary.LittleEndian.PutUint32(e.Extension[36:], uint32(size))
}

// statusCollective is DAT_IB_COLL_COMP_ERR.
const statusCollective = 2
