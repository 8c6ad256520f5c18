package transport

// Range is a piece of some task's memory: N bytes from Addr on.
type Range struct {
	Addr Addr
	N    uint64
}

// RangesMax is how many ranges each list of a vectored operation may have: as many as the kernel
// takes in one call.
const RangesMax = 1024

// Vectored is offered by links that copy between lists of ranges without the peer's help, at once.
// The lists hold equally many bytes, at most RangesMax ranges each, and may be cut differently:
// byte i of one goes to byte i of the other. They are the link's to change during the call. Errors
// are those of Link.Put and Link.Get; an operation that fails may have moved a part.
type Vectored interface {
	PutVector(ep Endpoint, local, remote []Range) error
	GetVector(ep Endpoint, local, remote []Range) error
}

// VectorOp is an operation between lists of ranges, which takes its time. Of Op, Done, Owner, Notice
// and Link are used.
type VectorOp struct {
	Op
	Get bool // to Here; else to There
	// Here is this process's memory, There the peer's. They hold equally many bytes, at most
	// RangesMax ranges each, and may be cut differently. The lists are the link's to read until
	// Done runs.
	Here, There []Range
	// Notices: the peer's owner gets Op.Notice, as of a PutNotice or GetNotice, when all is in
	// place.
	Notices bool
}

// Mover is offered by links that move data between lists of ranges without the peer's processor.
type Mover interface {
	// Move begins op. Op.Done runs once, later, as that of a Put or Get; ErrNotSupported there:
	// the data must go in messages, as memory cannot be registered, or an address is bad. A part
	// may have been moved then, and the peer's owner got no notice. ErrBusy, ErrBadParam,
	// ErrNotSupported and ErrUnreachable from Move itself: nothing was begun.
	Move(ep Endpoint, op *VectorOp) error
}

// Gathering is offered by links that copy a message's data before Send returns: they let its maker
// write it where they would copy it.
type Gathering interface {
	// SendGathered is Send of n bytes of data that from writes, and never Queued. from is
	// called at most once, and only if there is room and n is not 0; its error is returned, and
	// then nothing was sent.
	SendGathered(ep Endpoint, id MsgID, hdr []byte, n uint64, from Gatherer) error
	// GatherMax is how many bytes the next SendGathered to ep may have, with any header; it
	// depends on the operations under way.
	GatherMax(ep Endpoint) int
}

// Gatherer writes a message's data. dst starts on a multiple of 8 bytes; it is the link's, and must
// not be kept.
type Gatherer interface {
	Gather(dst []byte) error
}

// Sum is the number of bytes in a list.
func Sum(list []Range) (n uint64) {
	for i := range list {
		n += list[i].N
	}
	return n
}

// Advance takes n bytes off the front of a list and returns what is left; n is at most the list's
// sum. Ranges without bytes are dropped on the way.
func Advance(list []Range, n uint64) []Range {
	for len(list) > 0 && n >= list[0].N {
		n -= list[0].N
		list = list[1:]
	}
	if len(list) > 0 {
		list[0].Addr += Addr(n)
		list[0].N -= n
	}
	return list
}
