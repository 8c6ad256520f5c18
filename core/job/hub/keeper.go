package hub

import (
	"errors"
	"os"
	"sync"
	"time"

	"lapi/core/job/wire"
	"lapi/invariant"
)

// Keeper stands between the sessions of a process and its node's hub, in whichever process that is.
// To the sessions it is the hub. It passes messages on in both directions, and keeps what another
// hub has to know (see Successors above).
//
// Its mutex guards everything; it is not held while sockets are read or written. Its goroutines
// live as long as the process, or until there is no hub to be had.
type Keeper struct {
	Owner

	mu     sync.Mutex
	opened [wire.MaxInstances]int
	lost   []groupID
	all    []*kept
	front  *link   // of sessions' hellos
	hub    *outlet // the control socket; nil while there is no hub
	why    string  // the hub has refused this task
	over   bool    // no hub is looked for any more
}

// Owner describes the process that a keeper is in.
type Owner struct {
	Task, NumTasks int
	// In a job that was started by hand these are all tasks of this node, ascending. Else nil.
	Mates []int
	// Reach connects to the hub of the node and returns the socket, however long it takes; an
	// error: there will be none. It is called anew whenever the hub has ended, in a goroutine.
	Reach func() (int, error)
	// Answered is called for each Ending of a session that a hub has answered. It may be nil.
	Answered func()
	// Over is called when the keeper is about to end, as a hub has refused its task, with the
	// reason, or as there is none. It may be nil.
	Over func(why string)
}

var errRetired = errors.New("this process has no more sessions")

// comeAgain is the pause between two tries to reach a hub: a hub that it finds may be about to end,
// too.
const comeAgain = time.Millisecond

// Keep begins a keeper. Sessions say Hello on control. Retire ends it when its owner has no more
// sessions; Over is not called then.
func Keep(o Owner) (control int, retire func(), err error) {
	socket, err := o.Reach()
	if err != nil {
		return -1, nil, err
	}
	control, mine, err := wire.Pair()
	if err != nil {
		closeFiles([]int{socket})
		return -1, nil, err
	}
	front, err := newLink(mine)
	if err != nil {
		closeFiles([]int{socket, control})
		return -1, nil, err
	}
	k := &Keeper{Owner: o, front: front}
	invariant.Go(k.serve)
	invariant.Go(func() { k.run(socket) })
	return control, k.retire, nil
}

func (k *Keeper) retire() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	k.front.shutdown()
	if k.hub != nil {
		k.hub.link.shutdown()
	}
}

// isOver says whether no hub is looked for any more.
func (k *Keeper) isOver() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over
}

// run connects to one hub after another, until a hub refuses this task: then the others take it for
// ended.
func (k *Keeper) run(socket int) {
	var err error
	for refused := false; err == nil && !refused; {
		if control, err := newLink(socket); err == nil {
			refused = k.follow(control)
		}
		if k.isOver() {
			return
		}
		if !refused {
			time.Sleep(comeAgain)
			socket, err = k.Reach()
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return
	}
	if k.Over != nil {
		k.Over(k.why)
	}
	k.over = true
	k.front.shutdown()
	for _, s := range k.all {
		if k.Mates == nil || k.why == "" || s.round > 0 || s.part != nil {
			s.end()
		}
	}
}

// follow connects to a hub, and returns when the hub has ended, or has refused this task.
func (k *Keeper) follow(control *link) (refused bool) {
	defer control.close()
	watchProcess(control)
	if k.come(control) == nil {
		var err error
		for err == nil {
			var m wire.Message
			m, err = control.receive()
			m.CloseFiles()
			if err == nil && m.Kind == wire.Refuse {
				refused = true
				k.mu.Lock()
				k.why = string(m.Data)
				k.mu.Unlock()
			}
		}
	}
	k.mu.Lock()
	if k.hub != nil {
		k.hub.endQueue()
		k.hub = nil
	}
	var ways []*keptWay
	for _, s := range k.all {
		if s.way != nil {
			ways = append(ways, s.way)
		}
	}
	k.mu.Unlock()
	for _, w := range ways { // the hub's last messages can still be read
		w.link.shutdown()
		<-w.ended
	}
	return refused
}

// come sends a hub the state of this task's sessions.
func (k *Keeper) come(control *link) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return errRetired
	}
	stands := standing{opened: k.opened, lost: k.lost, mates: k.Mates}
	var theirs []int
	for _, s := range k.all {
		s.way = nil
		fd, err := s.begin()
		if err != nil {
			closeFiles(theirs)
			return err
		}
		theirs = append(theirs, fd)
		stands.goOn = append(stands.goOn, s.standing())
		s.repeat()
	}
	k.hub = newOutlet(control)
	invariant.Go(k.hub.writeAll)
	g := wire.Greeting{Purpose: wire.Join, Task: k.Task, NumTasks: k.NumTasks, PID: os.Getpid()}
	k.hub.send(wire.Message{Kind: wire.Hello, Data: stands.encode(g.Encode()), Files: theirs},
		func() { closeFiles(theirs) })
	return nil
}

// serve takes the sessions' hellos.
func (k *Keeper) serve() {
	defer k.front.close()
	for {
		m, err := k.front.receive()
		if err != nil {
			return
		}
		g, err := wire.ParseGreeting(m.Data)
		if m.Kind != wire.Hello || len(m.Files) != 1 || err != nil {
			m.CloseFiles()
			continue
		}
		if l, err := newLink(m.Files[0]); err == nil {
			k.open(l, g)
		}
	}
}

// open begins a session.
func (k *Keeper) open(l *link, g wire.Greeting) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &kept{outlet: newOutlet(l), keeper: k,
		id: groupID{g.Instance, k.opened[g.Instance]}}
	for i := range s.known {
		s.known[i] = make([]bool, k.NumTasks)
	}
	k.opened[g.Instance]++
	k.all = append(k.all, s)
	s.send(wire.Message{Kind: wire.Welcome}, nil)
	invariant.Go(s.writeAll)
	invariant.Go(s.readAll)
	if k.hub == nil {
		return
	}
	theirs, err := s.begin()
	if err == nil {
		files := []int{theirs}
		k.hub.send(wire.Message{Kind: wire.Hello, Data: g.Encode(), Files: files},
			func() { closeFiles(files) })
		return
	}
	s.link.shutdown()
}

// lose notes a session that has ended without Leave. Hubs of tasks that were started by hand do not
// ask for it. mu is held.
func (k *Keeper) lose(id groupID) {
	if k.Mates == nil {
		k.lost = append(k.lost, id)
	}
}
