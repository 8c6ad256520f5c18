package model

import (
	"errors"
	"fmt"
	"slices"

	"lapi/core/dat/rc"
)

// cause is why a request cannot succeed.
type cause uint8

const (
	nothing   cause = iota
	badLocal        // its own memory is not as it should be
	badRemote       // it may not access the peer's, or not invalidate
	badBind         // it has nothing to bind
)

func (c cause) String() string {
	return [...]string{"no fault", "bad local memory", "bad remote memory", "nothing to bind"}[c]
}

// status is the request's, if its turn comes.
func (c cause) status() rc.Status {
	return [...]rc.Status{rc.Success, rc.LocalProtection, rc.RemoteAccess, rc.BindFailed}[c]
}

// trouble is why requests and receives of a connection may fail; nil: none may.
type trouble struct {
	disconnect bool // of an end
	dead       bool // a process
	broken     []*request
	short      bool // a receive
	revoked    bool // a right
}

func (w *world) troubleOf(c *connection) (t trouble) {
	for _, e := range c.ends {
		t.disconnect = t.disconnect || e.disconnected
		t.dead = t.dead || w.isDead(e)
		t.revoked = t.revoked || e.revoked != 0 || e.windowsChange() || e.losesWindow()
		for _, r := range e.requests {
			if r.failing != nothing {
				t.broken = append(t.broken, r)
			}
		}
		t.short = t.short || e.mayBeShort(w)
	}
	return t
}

func (t *trouble) any() bool { return t.disconnect || t.dead || t.breaks() }

// breaks says whether the connection may break though both processes live.
func (t *trouble) breaks() bool { return len(t.broken) > 0 || t.short || t.revoked }

// windowsChange says whether an end's window is bound anew, while the peer may use it.
func (e *end) windowsChange() bool { return e.binds > 1 }

// losesWindow says whether an end has requests to its own window, and may lose that meanwhile.
func (e *end) losesWindow() bool {
	return e.ownWindow && (e.binds > 1 ||
		slices.ContainsFunc(e.peer().messages, func(m *request) bool { return m.invalidate }))
}

// mayBeShort says whether a receive is too short for the message that it gets, or may be, or could
// not be written.
func (e *end) mayBeShort(w *world) bool {
	if e.shared {
		return w.procs[e.process].shared.short
	}
	for i, m := range e.peer().messages {
		if m.op == rc.Send && i < len(e.receives) && e.receives[i].n < m.n {
			return true
		}
	}
	return false
}

// mayFail says why a request must not have that status; nil: it may.
func (w *world) mayFail(e *end, r *request, status rc.Status) error {
	p := e.peer()
	t := w.troubleOf(e.connection)
	switch {
	case status == rc.Flushed && t.any(), status == r.failing.status():
		return nil
	case status == rc.LocalProtection && r.op >= rc.Read && r.n > 0 &&
		(e.revoked&localWrite != 0 || r.window && e.losesWindow()):
		return nil
	case status == rc.RemoteAccess &&
		(p.revoked != 0 || (r.ofWindow || r.invalidate) && p.windowsChange()):
		return nil
	case status == rc.RemoteResponder && r.op == rc.Send &&
		(p.mayBeShort(w) || p.revoked&localWrite != 0):
		return nil
	}
	return fmt.Errorf("nothing is wrong: %+v", t)
}

// mayFailReceive is mayFail of a receive.
func (w *world) mayFailReceive(e *end, r *receive, status rc.Status) error {
	t := w.troubleOf(e.connection)
	switch {
	case status == rc.Flushed && t.any():
		return nil
	case status == rc.LocalLength && e.arrived < len(e.peer().messages) &&
		e.peer().messages[e.arrived].n > r.n && e.peer().messages[e.arrived].op == rc.Send:
		return nil
	case status == rc.LocalProtection && e.revoked&localWrite != 0:
		return nil
	}
	return fmt.Errorf("nothing is wrong: %+v", t)
}

// mayEnd says why a connection must not have ended so; nil: it may.
func (w *world) mayEnd(e *end) error {
	t := w.troubleOf(e.connection)
	p := e.peer()
	switch {
	case e.ending == rc.ByUser && e.disconnected,
		e.ending == rc.ByPeer && (p.disconnected || w.procs[p.process].closed),
		e.ending == rc.Broken && (t.breaks() || t.dead):
		return nil
	}
	return fmt.Errorf("nothing has done that: %+v", t)
}

// strict checks an end that has had one cause to fail at most: which that is says what has become
// of everything.
func (w *world) strict(e *end) error {
	t := w.troubleOf(e.connection)
	if t.dead || t.revoked || len(t.broken) > 1 || e.peer().disconnected {
		return nil
	}
	if t.short {
		return w.strictShort(e, &t)
	}
	switch {
	case len(t.broken) == 0 && !e.disconnected, len(t.broken) == 0 && e.graceful:
		if e.failed {
			return errors.New("a request has failed, though nothing was wrong")
		}
	case len(t.broken) == 1 && !e.disconnected:
		return w.strictFailure(e, t.broken[0])
	}
	return nil
}

// strictFailure: all before the request has succeeded, and it has its status.
func (w *world) strictFailure(e *end, r *request) error {
	if int(r.number) >= len(e.requests) || e.requests[r.number] != r || !e.ended {
		return nil // it is the peer's, or its turn has not come
	}
	if e.failedAt != int(r.number) || e.failedBy != r.failing.status() {
		return fmt.Errorf("%v: request %d has failed first, with %d", r, e.failedAt, e.failedBy)
	}
	return nil
}

// strictShort: a message that is longer than its receive fails, and so does the receive, but
// nothing before.
func (w *world) strictShort(e *end, t *trouble) error {
	p := e.peer()
	if t.disconnect || len(t.broken) > 0 || e.shared || p.shared || e.mayBeShort(w) || !e.ended {
		return nil
	}
	for i, m := range e.messages {
		if p.receives[i].n >= m.n || m.op != rc.Send {
			continue
		}
		if e.failedAt != int(m.number) || e.failedBy != rc.RemoteResponder || p.arrived != i {
			return fmt.Errorf("%v is too long: request %d has failed first, with %d; "+
				"%d have arrived", m, e.failedAt, e.failedBy, p.arrived)
		}
		return nil
	}
	return nil
}
