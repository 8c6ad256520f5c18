package hub

import (
	"fmt"
	"os"

	"lapi/core/job/wire"
	"lapi/core/poll"
	"lapi/invariant"
)

// Admit serves the control socket of a task of this node. The task has connected to a listening
// socket of the hub's owner; its first message says which task it is.
func (h *Hub) Admit(socket int) error {
	link, err := newLink(socket)
	if err != nil {
		return err
	}
	if !h.guestComes() {
		link.close()
		return errRetired
	}
	invariant.Go(func() {
		defer h.guestGoes()
		task, err := h.identify(link)
		if err != nil {
			link.sendAndClose(wire.Message{Kind: wire.Refuse, Data: []byte(err.Error())})
			return
		}
		h.control(task, link, true)
	})
	return nil
}

// identify reads which task a control socket belongs to, and which of its sessions go on.
func (h *Hub) identify(control *link) (task int, err error) {
	m, err := control.receive()
	if err != nil {
		return 0, err
	}
	g, stands, err := h.parse(&m)
	if err != nil {
		m.CloseFiles()
		return 0, err
	}
	var links []*link
	for len(m.Files) > 0 {
		l, err := newLink(m.Files[0])
		if m.Files = m.Files[1:]; err != nil {
			m.CloseFiles()
			for _, l := range links {
				l.close()
			}
			return 0, err
		}
		links = append(links, l)
	}
	watchProcess(control)
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &h.tasks[g.Task]
	if h.hand != nil && (!h.succeed(g.Task) || control.ended()) || // another one may be there
		h.hand == nil && (t.came || t.ended) {
		for _, l := range links {
			l.close()
		}
		return 0, fmt.Errorf("task %d is here already", g.Task)
	}
	t.control, t.came = control, true
	h.changed.Broadcast()
	h.resume(g.Task, &stands, links)
	return g.Task, nil
}

// parse reads the first message of a task.
func (h *Hub) parse(m *wire.Message) (g wire.Greeting, s standing, err error) {
	if m.Kind != wire.Hello || len(m.Data) < wire.GreetingSize {
		return g, s, errStanding
	}
	if g, err = wire.ParseGreeting(m.Data[:wire.GreetingSize]); err != nil {
		return g, s, err
	}
	if h.hand == nil && (g.NumTasks != len(h.tasks) || !h.isOwn(g.Task)) {
		return g, s, fmt.Errorf("task %d of %d is none of this hub's", g.Task, g.NumTasks)
	}
	s, err = decodeStanding(m.Data[wire.GreetingSize:], g.NumTasks)
	if err == nil && len(s.goOn) != len(m.Files) {
		err = errStanding
	}
	if err == nil && h.hand != nil {
		err = h.hand.check(h, g, s.mates)
	}
	return g, s, err
}

// Came says whether a task of this node has come to this hub, has ended, or is of no interest as
// the hub has retired.
func (h *Hub) Came(taskID int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tasks[taskID].came || h.tasks[taskID].ended || h.hand != nil && h.hand.retired
}

// watchProcess ends a control socket when the process at its other end ends: a child that it has
// forked may keep the socket open. It is called before any other goroutine knows the link.
func watchProcess(link *link) {
	process := -1
	_ = link.raw.Control(func(fd uintptr) { process = wire.PeerProcess(int(fd)) })
	if process < 0 {
		return // the end of the socket is noticed nevertheless
	}
	f := os.NewFile(uintptr(process), "process")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return
	}
	link.process = f
	invariant.Go(func() {
		_ = raw.Read(func(fd uintptr) bool { return poll.Readable(int(fd)) })
		f.Close()
		link.shutdown()
	})
}
