package simnet

// event is something that will happen: a packet arrives (what >= 0, its number in Net.packets), or
// an event that a test or a disturbance asked for (what < 0).
type event struct {
	at     int64
	serial uint32 // of events at one time the earlier made comes first
	what   int32
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && int32(e.serial-f.serial) < 0
}

// queue is the events to come: a heap with four children a node, which is flatter than a binary one
// and faster here.
type queue struct {
	heap   []event
	serial uint32
}

func (q *queue) add(at int64, what int32) {
	q.serial++
	e := event{at, q.serial, what}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&q.heap[up]) {
			break
		}
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

// take removes the first event; there must be one.
func (q *queue) take() event {
	first := q.heap[0]
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	if n == 0 {
		return first
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= n {
			break
		}
		for c := least + 1; c < min(4*i+5, n); c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(&last) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	q.heap[i] = last
	return first
}
