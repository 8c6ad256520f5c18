package dat

import "lapi/core/dat/codes"

// LinkErrors are what a network interface has counted since it is there, in the order of
// DCNT_IA_LNK_ERR_RCV and those behind it. What Ethernet does not have is 0.
type LinkErrors [iaDiag - iaLinks]uint64

// linkCount is an adapter's count of them: from when it was started.
type linkCount struct {
	on   bool
	last LinkErrors
}

// Groups of an adapter's counters (DAT_IA_COUNTER_TYPE).
const (
	groupCM   = 0
	groupLink = 1
	groupDiag = 2
)

// readLinks adds what the interface has counted since the last look.
func (ia *IA) readLinks() {
	if !ia.errors.on {
		return
	}
	now, ok := ia.library.cfg.LinkErrors(ia.port.Name)
	if !ok {
		return
	}
	for i, v := range now {
		if v >= ia.errors.last[i] { // else the interface was made anew
			v -= ia.errors.last[i]
		}
		ia.counters[iaLinks+i] += v
	}
	ia.errors.last = now
}

// StartCounters is dat_ib_start_counter: a group's counters begin at 0, and run. Those of the
// connection manager run from the opening of the adapter on.
func (ia *IA) StartCounters(group int) codes.Return {
	switch group {
	case groupCM:
		clear(ia.counters[iaCMListen:iaLinks])
		ia.stopped = false
	case groupLink:
		if ia.library.cfg.LinkErrors == nil {
			return codes.ModelNotSupported.With(codes.NoSubtype)
		}
		now, ok := ia.library.cfg.LinkErrors(ia.port.Name)
		if !ok {
			return codes.ModelNotSupported.With(codes.NoSubtype)
		}
		clear(ia.counters[iaLinks:iaDiag])
		ia.errors = linkCount{on: true, last: now}
	case groupDiag: // there is no adapter chip
		return codes.ModelNotSupported.With(codes.NoSubtype)
	default:
		return codes.Arg(2)
	}
	return codes.Success
}

// StopCounters is dat_ib_stop_counter: a group's counters stay as they are.
func (ia *IA) StopCounters(group int) codes.Return {
	switch group {
	case groupCM:
		ia.stopped = true
	case groupLink:
		ia.readLinks()
		ia.errors.on = false
	case groupDiag:
		return codes.ModelNotSupported.With(codes.NoSubtype)
	default:
		return codes.Arg(2)
	}
	return codes.Success
}
