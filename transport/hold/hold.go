// Package hold keeps copies of messages until their handler accepts them: what a task sends to
// itself, and what a handler refused.
//
// A refused message is offered again in the next pass, and if it is refused then too, after 10
// microseconds, 20, 40 and so on up to one millisecond; others pass meanwhile.
package hold

import (
	"math"

	"lapi/transport"
	"lapi/transport/arena"
)

const (
	firstPause = 10_000    // ns after the second refusal
	lastPause  = 1_000_000 // ns: the longest pause
	never      = math.MaxInt64
)

// Message is a held message. Its memory is outside the Go heap.
type Message struct {
	transport.Msg
	ID      transport.MsgID
	Mark    uint64 // the owner's number; ascending in a Queue
	Refused bool   // the handler has refused it at least once

	buffer []byte
	pause  int64 // ns, before the next offer but one
	due    int64 // when to offer it; on the owner's clock
	next   *Message
}

// Pool is where Queues of one owner take messages from. The zero Pool is ready; not safe for
// concurrent use.
type Pool struct {
	arena arena.Arena
	free  *Message
}

// Release gives all memory back; no Queue of the pool may be used any more.
func (p *Pool) Release() {
	p.arena.Release()
	p.free = nil
}

func (p *Pool) get(n int) (*Message, error) {
	buffer, err := p.arena.Get(n)
	if err != nil {
		return nil, err
	}
	m := p.free
	if m == nil {
		m = new(Message)
	} else {
		p.free = m.next
	}
	*m = Message{buffer: buffer}
	return m, nil
}

func (p *Pool) put(m *Message) {
	p.arena.Put(m.buffer)
	*m = Message{next: p.free}
	p.free = m
}

// Queue holds messages in the order of their arrival. It belongs to one owner and is not safe for
// concurrent use; the handlers that Offer calls may use it.
type Queue struct {
	pool       *Pool
	deliver    func(m *Message) transport.Verdict
	head, tail *Message
	count      int
	due        int64 // no message is due before; 0: perhaps now
	bytes      int
	offering   bool
	clearing   bool // Clear was called while offering
}

// Init makes q ready: messages come from pool, Offer gives them to deliver.
func (q *Queue) Init(pool *Pool, deliver func(m *Message) transport.Verdict) {
	*q = Queue{pool: pool, deliver: deliver}
}

// New returns a message with a copy of hdr and room for n bytes of data, to be filled and then
// given to Append or Drop. It fails if the kernel has no memory or the message is over
// arena.Largest bytes.
func (q *Queue) New(from transport.Endpoint, id transport.MsgID, hdr []byte,
	n int) (*Message, error) {
	data := (len(hdr) + 7) &^ 7 // data is 8-aligned
	m, err := q.pool.get(data + n)
	if err != nil {
		return nil, err
	}
	m.ID, m.From = id, from
	m.Hdr = m.buffer[:len(hdr):len(hdr)]
	m.Data = m.buffer[data : data+n : data+n]
	copy(m.Hdr, hdr)
	return m, nil
}

// Drop gives back a message of New that was not appended.
func (q *Queue) Drop(m *Message) { q.pool.put(m) }

// Append adds a message of New at the end; mark must not be lower than those before.
func (q *Queue) Append(m *Message, mark uint64) {
	m.Mark = mark
	if q.tail == nil {
		q.head = m
	} else {
		q.tail.next = m
	}
	q.tail = m
	q.due = 0
	q.count++
	q.bytes += cap(m.buffer)
}

// Len is how many messages are held.
func (q *Queue) Len() int { return q.count }

// Bytes is how much memory the held messages take.
func (q *Queue) Bytes() int { return q.bytes }

// Oldest is the mark of the oldest held message; ok is false if there is none.
func (q *Queue) Oldest() (mark uint64, ok bool) {
	if q.head == nil {
		return 0, false
	}
	return q.head.Mark, true
}

// Due is the earliest time at which a message is to be offered, or a little before it; 0 if there
// is none, 1 if a message is to be offered now.
func (q *Queue) Due() int64 {
	if q.head == nil {
		return 0
	}
	return max(q.due, 1)
}

// Offer gives at most max of the messages that are due and that were there when it began to the
// handler. It returns how many were accepted. clock is read at most once, and only if a message has
// been refused before.
func (q *Queue) Offer(max int, clock transport.Clock) (accepted int) {
	if q.head == nil || q.offering {
		return 0
	}
	var now int64
	if q.due != 0 {
		if now = clock(); now < q.due {
			return 0
		}
	}
	q.offering = true
	q.due = never
	accepted = q.pass(max, now, clock)
	q.offering = false
	if q.clearing {
		q.Clear()
	}
	return accepted
}

// pass walks the list up to its present end and collects in q.due when the next pass is worth
// while.
func (q *Queue) pass(max int, now int64, clock transport.Clock) (accepted int) {
	last := q.tail
	var before *Message
	for m, offered := q.head, 0; ; {
		isLast := m == last
		if m.due != 0 && now == 0 {
			now = clock()
		}
		verdict := transport.Refuse
		if m.due <= now {
			if offered == max {
				q.due = 0
				return accepted
			}
			offered++
			if verdict = q.deliver(m); q.clearing {
				return accepted
			}
			if verdict == transport.Refuse {
				if m.Refused && now == 0 {
					now = clock()
				}
				m.refuse(now)
			}
		}
		if verdict == transport.Accept {
			accepted++
			m = q.remove(before, m)
		} else {
			q.due = min(q.due, m.due)
			before, m = m, m.next
		}
		if isLast {
			return accepted
		}
	}
}

// refuse sets when m is offered again: in the next pass after the first refusal, then after growing
// pauses.
func (m *Message) refuse(now int64) {
	if !m.Refused {
		m.Refused = true
		return
	}
	m.pause = min(max(2*m.pause, firstPause), lastPause)
	m.due = now + m.pause
}

// remove takes m, which follows before (nil: m is the head), out of the list and returns its
// successor.
func (q *Queue) remove(before, m *Message) *Message {
	next := m.next
	if before == nil {
		q.head = next
	} else {
		before.next = next
	}
	if q.tail == m {
		q.tail = before
	}
	q.count--
	q.bytes -= cap(m.buffer)
	q.pool.put(m)
	return next
}

// Clear drops all messages. From inside a handler that Offer calls it takes effect when the handler
// returns.
func (q *Queue) Clear() {
	if q.offering {
		q.clearing = true
		return
	}
	for q.head != nil {
		q.remove(nil, q.head)
	}
	q.clearing = false
}
