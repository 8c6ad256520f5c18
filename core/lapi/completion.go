package lapi

import "lapi/transport"

// completion is a completion handler to run, and what follows it.
type completion struct {
	handler, info     transport.Addr
	origin            int
	session           uint32 // task.session of the origin when its message came
	tgtCntr, cmplCntr transport.Addr
}

// completionQueue holds completion handlers for the handler threads: a ring that grows, and those that run now, by id.
type completionQueue struct {
	ring    []completion
	head, n int
	running []completion // index = id - 1; handler 0: free
	active  int
}

func (q *completionQueue) push(d completion) {
	if q.n == len(q.ring) {
		grown := make([]completion, max(64, 2*len(q.ring)))
		for i := range q.n {
			grown[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = d
	q.n++
}

// queueCompletion hands a completion handler to the handler threads.
func (c *Context) queueCompletion(d completion) {
	c.completions.push(d)
	c.wake.Completion()
}

// NextCompletion takes the oldest queued completion handler; its thread calls it without the lock and then CompletionDone.
func (c *Context) NextCompletion() (handler, info transport.Addr, id uint64, ok bool) {
	q := &c.completions
	if q.n == 0 {
		return 0, 0, 0, false
	}
	d := q.ring[q.head]
	q.head = (q.head + 1) % len(q.ring)
	q.n--
	q.active++
	for i := range q.running {
		if q.running[i].handler == 0 {
			q.running[i] = d
			return d.handler, d.info, uint64(i + 1), true
		}
	}
	q.running = append(q.running, d)
	return d.handler, d.info, uint64(len(q.running)), true
}

// CompletionDone follows a completion handler's return: the target counter, then the completion counter at the origin.
func (c *Context) CompletionDone(id uint64) {
	q := &c.completions
	if id == 0 || id > uint64(len(q.running)) || q.running[id-1].handler == 0 {
		return
	}
	d := q.running[id-1]
	q.running[id-1] = completion{}
	q.active--
	c.handlerReturned(&d)
	c.wake.Changed() // LAPI_Term waits for the queue
	c.publish()
}

func (c *Context) handlerReturned(d *completion) {
	c.count(d.tgtCntr, AmErr, d.origin)
	if d.session == c.tasks[d.origin].session {
		c.tellComplete(d.origin, d.cmplCntr)
	}
}
