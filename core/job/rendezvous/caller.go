package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"lapi/core/job/proved"
)

// refusal is an error that no further try would mend.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

var (
	errUnreachable = errors.New("cannot be reached")
	errWaited      = errors.New("task 0 has heard this task")
)

// keepAlive finds a peer whose host is gone within half a minute.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second,
	Interval: 4 * time.Second, Count: 5}

// firstPause is the pause after the first try.
const firstPause = 20 * time.Millisecond

// call is the exchange of all tasks but 0.
func (r *rendezvous) call(ctx context.Context, card []byte) ([][]byte, error) {
	begin, waits, told := time.Now(), false, make(map[string]bool)
	var last error // the latest error not caused by the end of the context
	for pause := firstPause; ; pause = min(2*pause, r.pauses.retry) {
		cards, err := r.try(ctx, card)
		if !over(ctx) || last == nil || errors.Is(err, errWaited) {
			last = err
		}
		var final *refusal
		switch {
		case err == nil:
			r.Say(levelInfo, fmt.Sprintf("%s: all %d tasks have met", Variable, r.NumTasks))
			return cards, nil
		case errors.As(err, &final):
			return nil, final
		case ctx.Err() != nil:
			return nil, r.ended(ctx, last)
		case errors.Is(err, errUnreachable):
			if !waits && time.Since(begin) >= r.pauses.first {
				waits = true
				r.Say(levelError, fmt.Sprintf("task %d waits for task 0 at %s=%s, which %v",
					r.Task, Variable, r.Address, err))
			}
		default: // some process is there
			if text := reason(err); !told[text] && len(told) < maxTold {
				told[text] = true
				r.Say(levelError, fmt.Sprintf("task %d tries again: task 0 at %s=%s: %s", r.Task,
					Variable, r.Address, text))
			}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, r.ended(ctx, last)
		}
	}
}

// over says whether the context's time is up. The context itself may learn that after a connection
// that was to be ended by the same time has been.
func over(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(deadline)
}

// reason is an error without the addresses of its connection, which differ each time.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return "the connection broke: " + op.Err.Error()
	}
	if errors.Is(err, proved.ErrUnproved) || errors.Is(err, proved.ErrStranger) {
		return err.Error()
	}
	return "the connection broke"
}

// ended is the error of an exchange whose time is over, or which Abort has ended.
func (r *rendezvous) ended(ctx context.Context, last error) error {
	if ctx.Err() == context.Canceled {
		return errAborted
	}
	switch {
	case errors.Is(last, errUnreachable):
		return fmt.Errorf("task 0 was not there within %v: it %w. Start task 0, on the host and "+
			"with the port that %s names", r.Timeout, last, Variable)
	case errors.Is(last, errWaited):
		return fmt.Errorf("task 0 was there, but not all %d tasks came within %v. Task 0 says "+
			"which; start them with the same %s", r.NumTasks, r.Timeout, Variable)
	}
	return fmt.Errorf("task 0 was not there within %v, but somebody is at its address: %s. Give "+
		"all tasks the same LAPI_JOB_KEY_FILE, and this job a port of its own", r.Timeout,
		reason(last))
}

// try is one connection to task 0.
func (r *rendezvous) try(ctx context.Context, card []byte) ([][]byte, error) {
	dialer := net.Dialer{Timeout: r.pauses.dial, KeepAliveConfig: keepAlive,
		FallbackDelay: -1} // one address after the other: no goroutine stays behind
	c, err := dialer.DialContext(ctx, "tcp", r.Address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Err != nil {
			err = op.Err // without the address, which the sentence has already
		}
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		c.Close()
		close(closed)
	})
	defer func() {
		c.Close()
		if !stop() {
			<-closed
		}
	}()
	s, err := proved.New(c, r.key, proved.ToHost)
	if err != nil {
		return nil, err
	}
	if err := r.introduce(s, card); err != nil {
		return nil, err
	}
	cards, err := r.await(s)
	if err != nil && !errors.Is(err, proved.ErrUnproved) && !errors.Is(err, proved.ErrStranger) {
		err = fmt.Errorf("%w: %w", errWaited, err)
	}
	return cards, err
}

// introduce is a connection up to hello.
func (r *rendezvous) introduce(s *proved.Stream, card []byte) error {
	if err := s.SetDeadline(time.Now().Add(r.pauses.stranger)); err != nil {
		return err
	}
	theirs, err := s.Greet(proved.NewOpening(r.version, r.keyed))
	switch {
	case err == nil && theirs.Version != r.version:
		return &refusal{fmt.Sprintf("task 0 speaks version %d of the protocol, task %d version "+
			"%d; give all tasks the same release of the library", theirs.Version, r.Task,
			r.version)}
	case theirs.Keyed && !r.keyed: // it proves as little as any process without a key
		return &refusal{fmt.Sprintf("task 0 has a job key, task %d has none; give all tasks the "+
			"same LAPI_JOB_KEY_FILE", r.Task)}
	case errors.Is(err, proved.ErrUnproved) && !theirs.Keyed:
		return fmt.Errorf("%w: it has none", err)
	case err != nil:
		return err
	}
	h := hello{task: r.Task, numTasks: r.NumTasks, partition: r.partition,
		shown: shown(r.Partition), card: card}
	if err := s.Send(kindHello, proved.NewContent(h.encode())); err != nil {
		return err
	}
	return s.SetDeadline(time.Time{}) // the last task may come late
}

// await is a connection after hello.
func (r *rendezvous) await(s *proved.Stream) ([][]byte, error) {
	k, b, err := s.Receive(func(k proved.Kind) int {
		switch k {
		case kindCards:
			return maxCards(r.NumTasks)
		case kindRefused, kindFailed:
			return maxReason
		}
		return -1
	})
	if err != nil {
		return nil, err
	}
	if k != kindCards {
		return nil, &refusal{printable(string(b))}
	}
	cards, err := decodeCards(b, r.NumTasks)
	if err != nil {
		return nil, err
	}
	// Only task 0 minds whether this arrives: this task has all it needs.
	_ = s.Send(kindBye, proved.NewContent(nil))
	return cards, nil
}
