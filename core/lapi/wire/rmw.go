package wire

// The values of RMW_ops_t.
const (
	FetchAndAdd uint32 = iota
	FetchAndOr
	Swap
	CompareAndSwap

	// Further operations, of lapi_link_atomic_: CSHIM_FETCH_AND_AND of cshim/context/golapi.h, and so
	// on. CompareAndFetch is CompareAndSwap, whose result is the previous value.
	FetchAndAnd
	FetchAndXor
	FetchAndMin
	FetchAndMax
	CompareAndFetch
)
