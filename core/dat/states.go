package dat

import "lapi/core/dat/codes"

// EPState is the state of an endpoint (DAT_EP_STATE).
type EPState uint32

// The states.
const (
	Unconnected             EPState = 0
	UnconfiguredUnconnected EPState = 1
	Reserved                EPState = 2
	UnconfiguredReserved    EPState = 3
	PassivePending          EPState = 4
	UnconfiguredPassive     EPState = 5
	ActivePending           EPState = 6
	TentativePending        EPState = 7
	UnconfiguredTentative   EPState = 8
	Connected               EPState = 9
	DisconnectPending       EPState = 10
	Disconnected            EPState = 11
	CompletionPending       EPState = 12
	numStates                       = 13
	notAllowed              EPState = 255
	stays                           = notAllowed - 1
)

// step is what befalls an endpoint.
type step int

// The steps. Those of a call are refused in the states where the table says notAllowed; the others
// cannot happen there.
const (
	stepConnect     step = iota // dat_ep_connect, dat_ep_dup_connect
	stepAccept                  // dat_cr_accept
	stepReserve                 // dat_rsp_create
	stepUnreserve               // dat_rsp_free
	stepRequest                 // a request at the endpoint's RSP
	stepEstablished             // the connection is established
	stepFailed                  // it could not be made
	stepGraceful                // dat_ep_disconnect
	stepEnded                   // the connection is over
	stepReset                   // dat_ep_reset
	stepReject                  // dat_cr_reject
	stepConfigured              // dat_ep_modify has given it what it lacked
	stepFree                    // dat_ep_free
	numSteps
)

// transitions is the whole machine: the state after a step.
var transitions = [numSteps][numStates]EPState{
	stepConnect: row(Unconnected, ActivePending),
	stepAccept: row(Unconnected, CompletionPending, PassivePending, CompletionPending,
		TentativePending, CompletionPending),
	stepReserve: row(Unconnected, Reserved, UnconfiguredUnconnected, UnconfiguredReserved),
	stepUnreserve: row(Reserved, Unconnected, UnconfiguredReserved, UnconfiguredUnconnected,
		Disconnected, stays, Connected, stays, CompletionPending, stays, DisconnectPending, stays,
		PassivePending, stays, UnconfiguredPassive, stays, Unconnected, stays,
		UnconfiguredUnconnected, stays),
	stepRequest:     row(Reserved, PassivePending, UnconfiguredReserved, UnconfiguredPassive),
	stepEstablished: row(ActivePending, Connected, CompletionPending, Connected),
	stepFailed: row(ActivePending, Disconnected, CompletionPending, Disconnected,
		DisconnectPending, Disconnected),
	stepGraceful: row(Connected, DisconnectPending, ActivePending, Disconnected,
		CompletionPending, Disconnected,
		DisconnectPending, stays, Disconnected, stays),
	stepEnded: row(Connected, Disconnected, DisconnectPending, Disconnected),
	stepReset: row(Disconnected, Unconnected, Unconnected, stays, UnconfiguredUnconnected, stays),
	stepReject: row(PassivePending, Unconnected, UnconfiguredPassive, UnconfiguredUnconnected,
		TentativePending,
		Unconnected, UnconfiguredTentative, UnconfiguredUnconnected),
	stepConfigured: row(UnconfiguredUnconnected, Unconnected, UnconfiguredReserved, Reserved,
		UnconfiguredPassive,
		PassivePending, UnconfiguredTentative, TentativePending),
	stepFree: row(Unconnected, stays, UnconfiguredUnconnected, stays, ActivePending, stays,
		Connected, stays,
		DisconnectPending, stays, Disconnected, stays, CompletionPending, stays),
}

// row is a row of the table: from one state to the other, in pairs.
func row(pairs ...EPState) (r [numStates]EPState) {
	for i := range r {
		r[i] = notAllowed
	}
	for i := 0; i < len(pairs); i += 2 {
		if r[pairs[i]] = pairs[i+1]; pairs[i+1] == stays {
			r[pairs[i]] = pairs[i]
		}
	}
	return r
}

// why is the subtype for a call that a state does not allow.
var why = [numStates]codes.Subtype{
	Unconnected:             codes.InvalidStateEPUnconnected,
	UnconfiguredUnconnected: codes.InvalidStateEPUnconfigured,
	Reserved:                codes.InvalidStateEPReserved,
	UnconfiguredReserved:    codes.InvalidStateEPUnconfreserved,
	PassivePending:          codes.InvalidStateEPPassconnpending,
	UnconfiguredPassive:     codes.InvalidStateEPUnconfpassive,
	ActivePending:           codes.InvalidStateEPActconnpending,
	TentativePending:        codes.InvalidStateEPTentconnpending,
	UnconfiguredTentative:   codes.InvalidStateEPUnconftentative,
	Connected:               codes.InvalidStateEPConnected,
	DisconnectPending:       codes.InvalidStateEPDiscpending,
	Disconnected:            codes.InvalidStateEPDisconnected,
	CompletionPending:       codes.InvalidStateEPComplpending,
}

// may says whether a step is allowed now.
func (e *EP) may(s step) codes.Return {
	if transitions[s][e.State] == notAllowed {
		return codes.InvalidState.With(why[e.State])
	}
	return codes.Success
}

// step does a step that is allowed.
func (e *EP) step(s step) {
	e.State = transitions[s][e.State]
	e.publish()
}
