package transport

// MessagesOnly is embedded by links that have nothing but messages: it says so of puts, gets and
// atomics, and that memory needs no registration. Package emul makes them of messages.
type MessagesOnly struct{}

// Put implements Link: not supported.
func (MessagesOnly) Put(Endpoint, *Op) (Status, error) { return 0, ErrNotSupported }

// Get implements Link: not supported.
func (MessagesOnly) Get(Endpoint, *Op) (Status, error) { return 0, ErrNotSupported }

// Atomic implements Link: not supported.
func (MessagesOnly) Atomic(Endpoint, AtomicKind, *Op) (Status, error) { return 0, ErrNotSupported }

// Register implements Link. The region has no key.
func (MessagesOnly) Register(a Addr, n uint64, _ Access) (Region, error) {
	return Region{Addr: a, N: n}, nil
}

// Deregister implements Link.
func (MessagesOnly) Deregister(Region) error { return nil }
