package codes

// ErrType is lapi_err_t: the kind of operation that an error concerns.
type ErrType int32

// The values of lapi_err_t.
const (
	GetErr ErrType = iota
	PutErr
	RmwErr
	AmErr
	IntErr
	TmrErr
)

// String names the kind as the user called it.
func (k ErrType) String() string {
	switch k {
	case GetErr:
		return "get"
	case PutErr:
		return "put"
	case RmwErr:
		return "read-modify-write"
	case AmErr:
		return "active message"
	case TmrErr:
		return "timer"
	}
	return "internal operation"
}
