package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"lapi/core/job/proved"
	"lapi/invariant"
)

const (
	spare       = 64 // connections beyond one for each task
	maxTold     = 8  // sentences about strangers and the refused
	farewell    = time.Second
	acceptPause = 50 * time.Millisecond
)

// host is task 0's side of an exchange.
type host struct {
	*rendezvous
	done chan struct{} // closed when everything ends
	says chan string   // sentences about visitors, for Exchange's goroutine
	told int           // how many of them it has said
	work invariant.Group

	mu       sync.Mutex
	over     bool // no new visitors
	visitors map[*visitor]struct{}
	arrived  uint64 // visitors so far
	members  members
}

// visitor is a connection to task 0.
type visitor struct {
	*proved.Stream
	from   string // its address
	order  uint64 // when it came
	member bool   // it is the connection of task, or was. Guarded by host.mu, as task
	task   int
	gone   chan struct{} // closed when it has left
}

func newHost(r *rendezvous, card []byte) *host {
	h := &host{rendezvous: r, done: make(chan struct{}), says: make(chan string, spare),
		visitors: make(map[*visitor]struct{})}
	h.members.begin(r.NumTasks, card)
	return h
}

// run is the exchange. All else happens in the goroutines of accept and serve.
func (h *host) run(ctx context.Context) ([][]byte, error) {
	h.work.Go(h.accept)
	err := h.wait(ctx)
	h.finish(err)
	for len(h.says) > 0 {
		h.tell(<-h.says)
	}
	if err != nil {
		return nil, err
	}
	return h.members.cards(), nil
}

// wait reports to the user what happens, until all have met or the exchange fails.
func (h *host) wait(ctx context.Context) error {
	tick := time.NewTicker(h.pauses.progress)
	defer tick.Stop()
	for {
		select {
		case <-h.members.complete:
			h.Say(levelInfo, fmt.Sprintf("%s: all %d tasks have met", Variable, h.NumTasks))
			return nil
		case err := <-h.members.failed:
			return err
		case text := <-h.says:
			h.tell(text)
		case <-tick.C:
			if missing := h.missing(); len(missing) > 0 {
				h.Say(levelError, fmt.Sprintf("%s: task 0 waits for %s of %d at %s", Variable,
					list(missing), h.NumTasks, h.Address))
			}
		case <-ctx.Done():
			return h.late(ctx)
		}
	}
}

// tell reports something about a visitor. There may be very many, so it reports only some.
func (h *host) tell(text string) {
	if h.told++; h.told == maxTold {
		text += ". Others like it are not reported any more"
	}
	if h.told <= maxTold {
		h.Say(levelError, Variable+": "+text)
	}
}

func (h *host) missing() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members.missing()
}

// late is the error of an exchange whose time is over, or which Abort has ended.
func (h *host) late(ctx context.Context) error {
	if ctx.Err() == context.Canceled {
		return errAborted
	}
	missing := h.missing()
	if len(missing) == 0 {
		return nil // just in time
	}
	return fmt.Errorf("%s of %d did not come within %v; start each with its MP_CHILD, and "+
		"MP_PROCS=%d, MP_PARTITION=%s and %s=%s as task 0 has them, on a host that reaches this "+
		"address", list(missing), h.NumTasks, h.Timeout, h.NumTasks, h.Partition, Variable,
		h.Address)
}

// finish sends tasks that still wait the reason of the failure, and ends everything.
func (h *host) finish(err error) {
	h.listener.Close()
	h.mu.Lock()
	h.over = true
	var waiting []*visitor
	if !h.members.full() { // else cards are on their way, where nothing else may come in between
		waiting = h.members.here()
	}
	h.mu.Unlock()
	if err != nil && err != errAborted {
		h.sendAll(waiting, kindFailed, proved.NewContent(cut(err.Error())))
	}
	close(h.done)
	h.mu.Lock()
	for v := range h.visitors {
		v.Close()
	}
	h.mu.Unlock()
	h.work.Wait()
}

// sendAll sends to all at once, and waits a moment at most.
func (h *host) sendAll(to []*visitor, k proved.Kind, c proved.Content) {
	var all invariant.Group
	for _, v := range to {
		all.Go(func() {
			if v.SetWriteDeadline(time.Now().Add(farewell)) == nil {
				_ = v.Send(k, c) // a task that does not take it sees the connection's end
			}
		})
	}
	all.Wait()
}

// accept takes connections in until the port is closed.
func (h *host) accept() {
	for told := false; ; {
		c, err := h.listener.Accept()
		switch {
		case err == nil:
			h.admit(c)
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many descriptors, mostly: some may be closed soon
			if !told {
				told = true
				h.report("task 0 cannot take a connection: %v (see ulimit -n)", err)
			}
			select {
			case <-time.After(acceptPause):
			case <-h.done:
				return
			}
		}
	}
}

// admit gives a connection a place; if none is free it closes the oldest that has not said hello.
func (h *host) admit(c net.Conn) {
	s, err := proved.New(c, h.key, proved.ToCaller)
	if err != nil {
		c.Close()
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		c.Close()
		return
	}
	for len(h.visitors) >= h.NumTasks+spare {
		oldest := (*visitor)(nil)
		for v := range h.visitors {
			if !v.member && (oldest == nil || v.order < oldest.order) {
				oldest = v
			}
		}
		oldest.Close() // there is one: there are more places than tasks
		delete(h.visitors, oldest)
	}
	h.arrived++
	v := &visitor{Stream: s, from: c.RemoteAddr().String(), order: h.arrived,
		gone: make(chan struct{})}
	h.visitors[v] = struct{}{}
	h.work.Go(func() { h.serve(v) })
}

// serve serves a connection until it ends.
func (h *host) serve(v *visitor) {
	defer h.leave(v)
	if v.SetDeadline(time.Now().Add(h.pauses.stranger)) != nil {
		return
	}
	said, ok := h.hear(v)
	if !ok {
		return
	}
	if v.SetDeadline(time.Time{}) != nil {
		return
	}
	if why := h.join(v, said); why != "" {
		h.report("%s", why)
		if said.partition != h.partition && !h.keyed {
			why = "task 0 has another MP_PARTITION than " + strconv.Quote(said.shown) +
				", which this task has; task 0 says which"
		}
		h.sendAll([]*visitor{v}, kindRefused, proved.NewContent(cut(why)))
		return
	}
	k, _, err := v.Receive(func(k proved.Kind) int {
		if k == kindBye {
			return 0
		}
		return -1
	})
	if err == nil && k == kindBye {
		h.mu.Lock()
		h.members.bye(v)
		h.mu.Unlock()
	}
}

// hear handles a connection up to hello. A caller that does not prove hello gets no more messages.
func (h *host) hear(v *visitor) (said hello, ok bool) {
	theirs, err := v.Challenge(proved.NewOpening(h.version, h.keyed))
	switch {
	case err != nil:
		return said, false // it has not shown that it is of this job
	case theirs.Version != h.version:
		h.report("who came from %s speaks version %d of the protocol, task 0 version %d", v.from,
			theirs.Version, h.version)
		return said, false
	}
	k, b, err := v.Receive(func(k proved.Kind) int {
		if k == kindHello {
			return maxHello
		}
		return -1
	})
	if err == nil && k == kindHello {
		if said, err = decodeHello(b); err == nil {
			return said, true
		}
	}
	switch {
	case theirs.Keyed != h.keyed:
		h.report("who came from %s has %s, task 0 has %s; give all tasks the same "+
			"LAPI_JOB_KEY_FILE", v.from, hasKey(theirs.Keyed), hasKey(h.keyed))
	case errors.Is(err, proved.ErrUnproved), errors.Is(err, proved.ErrStranger):
		h.report("who came from %s is dropped: %v", v.from, err)
	}
	return said, false
}

func hasKey(keyed bool) string {
	if keyed {
		return "a job key"
	}
	return "none"
}

// report makes Exchange report something. If Exchange has too much to report already, it is
// dropped.
func (h *host) report(format string, args ...any) {
	select {
	case h.says <- printable(fmt.Sprintf(format, args...)):
	default:
	}
}

// cut is a reason, shortened for a message.
func cut(text string) []byte { return []byte(text[:min(len(text), maxReason)]) }

// printable is another process's text without characters that would move a terminal's cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
