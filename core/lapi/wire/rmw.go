package wire

// The values of RMW_ops_t.
const (
	FetchAndAdd uint32 = iota
	FetchAndOr
	Swap
	CompareAndSwap
)
