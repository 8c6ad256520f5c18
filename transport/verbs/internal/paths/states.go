package paths

// State is where a port is.
type State uint8

// States of a port, as its owner learns them: those behind Gone are Gone, too.
const (
	Up   State = iota
	Down       // it may come up again
	Gone       // the adapter has failed or was taken away; see Config.Reopen

	failed   // a queue has failed and the adapter works: it is opened again at once
	released // the port's parts of its adapter were given back: it has none
	states
	never State = 255
)

// step is what befalls a port.
type step uint8

const (
	wentUp    step = iota // as its adapter says
	wentDown              // likewise
	queueDied             // a queue has failed
	lost                  // the adapter was
	emptied               // its objects were given back, and it was closed
	reopened              // there is an adapter again
	steps
)

// transitions is the whole machine: the state after a step.
var transitions = [steps][states]State{
	wentUp:    row(Down, Up),
	wentDown:  row(Up, Down),
	queueDied: row(Up, failed, Down, failed),
	lost:      row(Up, Gone, Down, Gone),
	emptied:   row(Gone, released, failed, released),
	reopened:  row(released, Up),
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
func (pt *Port) step(s step) bool {
	to := transitions[s][pt.state]
	if to == never {
		return false
	}
	pt.state = to
	return true
}

// gone says whether the port has no adapter that works.
func (pt *Port) gone() bool { return pt.state >= Gone }

// State is what the port's owner knows of it.
func (pt *Port) State() State { return min(pt.state, Gone) }
