package rendezvous

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"lapi/core/job/proved"
)

// members is which tasks are there. It is guarded by host.mu, but for the channels.
type members struct {
	all      []member
	absent   int            // tasks without a card
	unready  int            // tasks that have not said bye
	cardsOut proved.Content // all cards, once they are there
	complete chan struct{}
	failed   chan error // holds the first
}

// member is one task.
type member struct {
	card []byte
	here *visitor // nil: it is not connected
	lost *visitor // the latest connection that has broken
	bye  bool
}

func (m *members) begin(numTasks int, card []byte) {
	m.all = make([]member, numTasks)
	m.all[0] = member{card: card, bye: true}
	m.absent, m.unready = numTasks-1, numTasks-1
	m.complete, m.failed = make(chan struct{}), make(chan error, 1)
}

// full says whether all tasks have met.
func (m *members) full() bool { return m.absent == 0 }

// missing are the tasks that all wait for: those that are not there, or, when all have met, those
// that have not said bye.
func (m *members) missing() (tasks []int) {
	for i := range m.all {
		if !m.all[i].bye && (m.all[i].here == nil || m.full()) {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// here are the connections of the tasks that are there.
func (m *members) here() (all []*visitor) {
	for i := range m.all {
		if v := m.all[i].here; v != nil {
			all = append(all, v)
		}
	}
	return all
}

// cards are copies: the others hold parts of messages.
func (m *members) cards() [][]byte {
	cards := make([][]byte, len(m.all))
	for i := range m.all {
		cards[i] = bytes.Clone(m.all[i].card)
	}
	return cards
}

// bye takes note that the task of v, which is a member, has all cards.
func (m *members) bye(v *visitor) {
	if one := &m.all[v.task]; m.full() && !one.bye {
		one.bye = true
		if m.unready--; m.unready == 0 {
			close(m.complete)
		}
	}
}

// join makes v the connection of the task that hello names. If that must not be, it returns why.
func (h *host) join(v *visitor, said hello) (why string) {
	switch {
	case said.partition != h.partition:
		return fmt.Sprintf("task %d at %s has MP_PARTITION=%s, task 0 has MP_PARTITION=%s",
			said.task, v.from, strconv.Quote(said.shown), strconv.Quote(shown(h.Partition)))
	case said.numTasks != h.NumTasks:
		return fmt.Sprintf("task %d at %s has MP_PROCS=%d, task 0 has MP_PROCS=%d", said.task,
			v.from, said.numTasks, h.NumTasks)
	case said.task == 0:
		return fmt.Sprintf("the process at %s has MP_CHILD=0, as the one at %s; give each task its "+
			"own", v.from, h.Address)
	case said.task >= h.NumTasks:
		return fmt.Sprintf("the process at %s has MP_CHILD=%d, with MP_PROCS=%d", v.from, said.task,
			h.NumTasks)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	one := &h.members.all[said.task]
	if old := one.here; old != nil {
		h.mu.Unlock()
		h.awaitEnd(old)
		h.mu.Lock()
	}
	switch {
	case h.over:
		return "the exchange has ended"
	case one.here != nil:
		return fmt.Sprintf("the processes at %s and %s both have MP_CHILD=%d; give each task its "+
			"own", one.here.from, v.from, said.task)
	case h.members.full() && (one.bye || !bytes.Equal(one.card, said.card)):
		return fmt.Sprintf("task %d at %s came after all tasks had met; start the job again",
			said.task, v.from)
	}
	one.here, v.member, v.task = v, true, said.task
	if h.members.full() {
		h.pass(v)
		return ""
	}
	one.card = said.card
	if h.members.absent--; h.members.full() {
		h.members.cardsOut = proved.NewContent(encodeCards(h.members.cards()))
		for _, v := range h.members.here() {
			h.pass(v)
		}
	}
	return ""
}

// awaitEnd waits a moment for a connection's end: its task has come again, perhaps before the
// notice of that end.
func (h *host) awaitEnd(old *visitor) {
	select {
	case <-old.gone:
	case <-time.After(h.pauses.duplicate):
	case <-h.done:
	}
}

// pass sends all cards to v. Caller holds mu.
func (h *host) pass(v *visitor) {
	c := h.members.cardsOut
	h.work.Go(func() {
		if v.Send(kindCards, c) != nil {
			v.Close() // serve sees it
		}
	})
}

// leave is the end of a connection.
func (h *host) leave(v *visitor) {
	v.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.visitors, v)
	close(v.gone)
	if !v.member {
		return
	}
	one := &h.members.all[v.task]
	one.here, one.lost = nil, v
	switch {
	case !h.members.full():
		one.card = nil
		h.members.absent++
	case !one.bye && !h.over:
		h.work.Go(func() { h.awaitReturn(v) })
	}
}

// awaitReturn ends the exchange if the task of v, which has broken, does not come for its cards.
// Others have them already.
func (h *host) awaitReturn(v *visitor) {
	select {
	case <-time.After(h.pauses.again):
	case <-h.done:
		return
	}
	h.mu.Lock()
	one := &h.members.all[v.task]
	lost := one.here == nil && one.lost == v && !one.bye
	h.mu.Unlock()
	if !lost {
		return
	}
	select {
	case h.members.failed <- fmt.Errorf("task %d was lost while all tasks were told of each other; "+
		"start the job again", v.task):
	default:
	}
}
