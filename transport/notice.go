package transport

// Notice is two words of the origin's owner for the target's, which a transfer takes along. The
// link does not look at them.
type Notice [2]uint64

// NoticeKind says what a notice tells the target.
type NoticeKind uint8

const (
	NoticePut NoticeKind = iota // a PutNotice is complete: its data is in place
	NoticeGet                   // a GetNotice has read its data
	NoticeRmw                   // of a fault only: an atomic operation
)

// NoticeHandler runs inside Progress, or where a fast path of the owner receives, under the owner's
// lock. from is the origin. n is how many bytes were moved.
type NoticeHandler func(kind NoticeKind, from Endpoint, n uint64, notice Notice)

// FaultHandler is called, under the owner's lock, when an operation of from named an address of
// this task that cannot be accessed. The origin of a get or atomic operation learns of it by the
// operation's error; that of a put does not.
type FaultHandler func(kind NoticeKind, from Endpoint, at Addr)

// Route is the owner's wish which way a transfer goes.
type Route uint8

const (
	RouteAny        Route = iota // the link's choice
	RouteSingleCopy              // one of the two processes copies, or ErrNotSupported
	RouteMessages                // in messages: both ends copy
)

// Values of OpState.Kind for a PutNotice or GetNotice that was, or is being, made by a single copy.
const (
	CopiedTo   uint8 = 1
	CopiedFrom uint8 = 2
)

// Noticing is offered by links that move data of any length to and from a peer by themselves, with
// the peer's library to help where that is faster, and tell the peer's owner.
type Noticing interface {
	// PutNotice copies op.N bytes to op.Remote of the peer and gives op.Notice to its notice
	// handler then. Done means, as of Send, that Local may be reused; Flush says when all is in
	// place. ErrBusy: nothing was sent.
	PutNotice(ep Endpoint, op *Op) (Status, error)
	// GetNotice copies op.N bytes at op.Remote of the peer to op.Local. Done: they are here.
	// The peer's notice handler gets op.Notice, if it is not zero, once they were read.
	GetNotice(ep Endpoint, op *Op) (Status, error)
	// HandleNotices sets the handlers, before the first Progress.
	HandleNotices(n NoticeHandler, f FaultHandler)
}
