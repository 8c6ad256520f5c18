package registration

import (
	"errors"

	"lapi/transport"
)

// Handle is an adapter's registration of memory.
type Handle struct {
	LKey uint32 // names it in requests of this process
	RKey uint32 // names it in requests of peers
	MR   any    // the device's own, for Deregister
}

// Device registers memory with an adapter. Its methods may be called by any thread, several at a
// time, without the owner's lock; they may free memory.
type Device interface {
	// Register pins n bytes at addr. Errors that wrap unix.ENOMEM or unix.EAGAIN are taken for
	// lack of lockable memory: others are given up, and it is tried again.
	Register(addr transport.Addr, n uint64, access transport.Access) (Handle, error)
	Deregister(Handle) error
}

// Config has the settings of a Cache.
type Config struct {
	// Bytes and Entries limit the memory registered at one time, in use or not; 0: the
	// defaults.
	Bytes   uint64
	Entries int
	// Off: nothing is kept; each Acquire registers.
	Off bool
	// ForkUnsafe: after a fork this process's registered pages may be the child's, so that
	// nothing may be kept (kernels before 5.12; ibv_is_fork_initialized says so).
	ForkUnsafe bool
	// Say gets one report why nothing is kept, where Off is false; may be nil. It runs inside New.
	Say func(text string)
}

// Limit is how many bytes may be registered.
func (c *Config) Limit() uint64 {
	if c.Bytes == 0 {
		return DefaultBytes
	}
	return c.Bytes
}

// Defaults of Config.
const (
	DefaultBytes   = 1 << 30
	DefaultEntries = 4096
)

// Stats counts what a cache has done.
type Stats struct {
	Hits          uint64 // Acquire found a registration
	Misses        uint64 // Acquire registered
	Evictions     uint64 // unused registrations given up for others
	Invalidations uint64 // registrations dropped because their memory has changed
	Unkept        uint64 // of the misses: registered for one transfer only
	Refused       uint64 // Acquire failed with ErrCopy
	Lost          uint64 // the device refused to deregister
	Entries       int    // registrations there are now
	Bytes         uint64 // and what they hold
}

// Errors of Acquire. ErrParam and ErrClosed are the caller's fault.
var (
	// ErrCopy: this memory cannot be registered now; transfer it by copies. The device's error
	// is wrapped as well, where there was one.
	ErrCopy   = errors.New("registration: memory cannot be registered")
	ErrParam  = errors.New("registration: no bytes, or beyond the end of memory")
	ErrClosed = errors.New("registration: closed")
)
