package pair

// State is where a queue pair is.
type State uint8

// The states.
const (
	None   State = iota // there is no queue pair
	Said                // Hello goes until it is answered
	Joined              // it can receive
	Open                // so can the peer's
	Failed              // it does not work; the next turn replaces it
	states
	never State = 255
)

// step is what befalls a queue pair.
type step uint8

const (
	made    step = iota // there is a queue pair
	joined              // it was joined to the peer's
	opened              // a Hello with its own number, or a packet
	parted              // it was reset, to be joined to another
	failed              // a request has failed, or its port is gone
	dropped             // it was ended
	steps
)

// transitions is the whole machine: the state after a step. A queue pair that can receive is not
// open before its peer's can, too: a packet sent earlier would be lost until the adapter resends
// it.
var transitions = [steps][states]State{
	made:    row(None, Said),
	joined:  row(Said, Joined),
	opened:  row(Joined, Open),
	parted:  row(Joined, Said),
	failed:  row(Said, Failed, Joined, Failed, Open, Failed, Failed, Failed),
	dropped: row(None, None, Said, None, Joined, None, Open, None, Failed, None),
}

// row is a row of the table: from one state to the other, in pairs.
func row(pairs ...State) (r [states]State) {
	for i := range r {
		r[i] = never
	}
	for i := 0; i < len(pairs); i += 2 {
		r[pairs[i]] = pairs[i+1]
	}
	return r
}

// step does a step. False: it cannot be now, and changes nothing.
func (p *Pair) step(s step) bool {
	to := transitions[s][p.state]
	if to == never {
		return false
	}
	p.state = to
	return true
}

func (p *Pair) State() State { return p.state }           // where the queue pair is
func (p *Pair) Works() bool  { return p.state == Open }   // whether packets, or RDMA, can go over it
func (p *Pair) Broken() bool { return p.state == Failed } // whether it is to be replaced
