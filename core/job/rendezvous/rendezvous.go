package rendezvous

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"lapi/core/job/pmi"
	"lapi/core/job/proved"
	"lapi/core/job/wire"
)

// Variable is the environment variable with the address. Messages name it.
const Variable = "LAPI_RENDEZVOUS"

// Levels of messages. A task that waits or is refused always reports it, like an error.
const (
	levelError = 0
	levelInfo  = 2
)

// Config is what a task knows before it has met the others.
type Config struct {
	// Address is task 0's, as the other tasks reach it: a name, an IPv4 address or an IPv6
	// address in brackets; a colon; a port.
	Address        string
	Task, NumTasks int
	// Partition is what the tasks of the job have in common and no other job has.
	Partition string
	// Key is the job key, wire.KeySize bytes; nil: tasks do not prove that they are of the job. It
	// is read in Open and not kept.
	Key []byte
	// Timeout is how long Exchange waits for all tasks; 0: as long as it takes.
	Timeout time.Duration
	// Say gets sentences for the user, and the MP_INFOLEVEL from which they are shown. Only
	// Exchange calls it, from its own goroutine. Nil: they are dropped.
	Say func(level int, text string)
}

// pauses are times that tests shorten.
type pauses struct {
	stranger  time.Duration // until a connection without hello is closed
	progress  time.Duration // between two sentences about missing tasks
	duplicate time.Duration // for the notice of a connection's end, when its task comes again
	again     time.Duration // for a task to come again after all had met
	first     time.Duration // until a caller says that it waits
	retry     time.Duration // at most between two tries of a caller
	dial      time.Duration // of one try to connect
}

var usual = pauses{stranger: 10 * time.Second, progress: 10 * time.Second,
	duplicate: 3 * time.Second, again: 10 * time.Second, first: 3 * time.Second,
	retry: time.Second, dial: 5 * time.Second}

// rendezvous is the launcher that Open returns.
type rendezvous struct {
	Config    // without the key
	key       []byte
	keyed     bool
	partition digest
	version   uint16
	pauses    pauses
	listener  net.Listener // of task 0
	ctx       context.Context
	cancel    context.CancelFunc
	used      bool
}

var _ pmi.Launcher = (*rendezvous)(nil)

// errAborted is the error of an Exchange that Abort has interrupted.
var errAborted = errors.New("aborted")

// Open makes the launcher of one task. Task 0 listens from then on until Exchange or Abort: one of
// them must be called. A port in use is an error.
func Open(cfg Config) (pmi.Launcher, error) {
	r, err := open(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", Variable, cfg.Address, err)
	}
	return r, nil
}

func open(cfg Config) (*rendezvous, error) {
	if cfg.NumTasks < 1 || cfg.NumTasks > wire.MaxTasks || cfg.Task < 0 ||
		cfg.Task >= cfg.NumTasks {
		return nil, fmt.Errorf("task %d of %d; 1 to %d tasks are possible", cfg.Task, cfg.NumTasks,
			wire.MaxTasks)
	}
	if err := checkAddress(cfg.Address); err != nil {
		return nil, err
	}
	r := &rendezvous{Config: cfg, keyed: cfg.Key != nil, version: version, pauses: usual,
		partition: sha256.Sum256([]byte("lapi rendezvous " + cfg.Partition))}
	r.Key = nil
	if r.Say == nil {
		r.Say = func(int, string) {}
	}
	var err error
	if r.key, err = proved.Key(cfg.Key, "lapi rendezvous"); err != nil {
		return nil, err
	}
	if cfg.Task == 0 && cfg.NumTasks > 1 {
		if r.listener, err = listen(cfg.Address); err != nil {
			wire.Wipe(r.key)
			return nil, err
		}
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Rank implements pmi.Launcher.
func (r *rendezvous) Rank() int { return r.Task }

// Size implements pmi.Launcher.
func (r *rendezvous) Size() int { return r.NumTasks }

// Exchange implements pmi.Launcher. A card has at most MaxCard bytes. When it returns, connections,
// task 0's port and all goroutines are gone, but for one of the system that still looks up a name.
func (r *rendezvous) Exchange(card []byte) ([][]byte, error) {
	if r.used {
		return nil, fmt.Errorf("%s: a second exchange", Variable)
	}
	r.used = true
	defer r.close()
	ctx := r.ctx
	if r.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, r.Timeout)
		defer stop()
	}
	cards, err := r.exchange(ctx, card)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w", Variable, r.Address, err)
	}
	return cards, nil
}

func (r *rendezvous) exchange(ctx context.Context, card []byte) ([][]byte, error) {
	switch {
	case len(card) > MaxCard:
		return nil, fmt.Errorf("a card of %d bytes; %d are possible", len(card), MaxCard)
	case ctx.Err() == context.Canceled:
		return nil, errAborted
	case r.NumTasks == 1:
		return [][]byte{append([]byte(nil), card...)}, nil
	case r.Task == 0:
		return newHost(r, card).run(ctx)
	}
	return r.call(ctx, card)
}

// Abort implements pmi.Launcher. There is no launcher to notify: an Exchange under way ends. It may
// be called from any goroutine.
func (r *rendezvous) Abort(int) error {
	r.cancel()
	if r.listener != nil {
		r.listener.Close()
	}
	return nil
}

func (r *rendezvous) close() {
	r.Abort(0)
	wire.Wipe(r.key)
}

// list names tasks: the first of them, and how many more there are.
func list(tasks []int) string {
	const most = 8
	if len(tasks) == 1 {
		return fmt.Sprintf("task %d", tasks[0])
	}
	var b strings.Builder
	for i, t := range tasks[:min(len(tasks), most)] {
		b.WriteString([]string{"tasks ", ", "}[min(i, 1)])
		fmt.Fprint(&b, t)
	}
	if more := len(tasks) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
