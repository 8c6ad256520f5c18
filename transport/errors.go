package transport

import (
	"errors"
	"fmt"
)

// Errors of links. Core maps them to LAPI and DAT codes.
var (
	ErrBusy         = errors.New("transport: no room, make progress and try again")
	ErrBadParam     = errors.New("transport: over a limit of the link")
	ErrNotSupported = errors.New("transport: operation or alignment not supported by the link")
	ErrUnreachable  = errors.New("transport: no path to the peer")
	ErrTimeout      = errors.New("transport: the peer did not answer in time")
	ErrAdaptersDown = errors.New("transport: every address of this task is down")
	ErrClosed       = errors.New("transport: link closed")
)

// FaultError reports an address that could not be read or written. The operation may have moved a
// part of the data.
type FaultError struct {
	Addr   Addr // the first bad address known, or the start of the bad range
	Remote bool // in the peer's memory, not in this process's
	Told   bool // of a remote one: the peer's owner has been notified
}

func (e *FaultError) Error() string {
	side := "local"
	if e.Remote {
		side = "remote"
	}
	return fmt.Sprintf("transport: %s address %#x is not accessible", side, uint64(e.Addr))
}
