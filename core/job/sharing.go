package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/pmi"
	"lapi/core/job/wire"
	"lapi/core/poll"
	"lapi/invariant"
)

// Where a launcher's space is slow, one task of each node gets all cards and passes them on to the
// others of its node, which ask for none but task 0's. The kernel decides which: the first to bind
// a name that all tasks of the node know.

// sharedFrom is from how many tasks on that pays.
const sharedFrom = 16

// exchange has all cards, this task's among them.
func (m *meeting) exchange(c *Config, l pmi.Launcher, card []byte) ([][]byte, error) {
	shelf, ok := l.(pmi.Shelf)
	if !ok || c.NumTasks < sharedFrom {
		return l.Exchange(card)
	}
	if err := shelf.Put(card); err != nil {
		return nil, err
	}
	first, err := shelf.Get(0)
	if err != nil {
		return nil, fmt.Errorf("task 0: %w", err)
	}
	f, err := decodeFieldCard(first)
	if err != nil || len(f.secret) == 0 {
		return nil, fmt.Errorf("task 0: %w", errCard)
	}
	mine, err := decodeFieldCard(card)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(f.secret[:nameSize]) // the name itself is for what comes later
	name := fmt.Sprintf("@lapi/%d/%x/cards/%x", os.Geteuid(), sum[:8], mine.node[:8])
	cards := make([][]byte, c.NumTasks)
	cards[0] = first
	if fd, err := wire.Listen(name); err == nil {
		return cards, fetch(shelf, cards, &mine, fd)
	}
	if err := ask(cards, name); err != nil {
		return cards, fetch(shelf, cards, nil, -1)
	}
	return cards, nil
}

// fetch gets all cards but the first. With a node's card it then passes them on by the listening
// socket, which it takes over.
func fetch(shelf pmi.Shelf, cards [][]byte, node *fieldCard, listener int) (err error) {
	mates := -1
	for rank := range cards {
		if rank > 0 {
			if cards[rank], err = shelf.Get(rank); err != nil {
				err = fmt.Errorf("task %d: %w", rank, err)
				break
			}
		}
		f, err := decodeFieldCard(cards[rank])
		if node != nil && err == nil && f.node == node.node {
			mates++
		}
	}
	if err != nil || mates <= 0 {
		unix.Close(listener)
		return err
	}
	var all []wire.Contribution
	for rank := 1; rank < len(cards); rank++ {
		all = append(all, wire.Contribution{Task: rank, Data: cards[rank]})
	}
	data, _ := wire.EncodeParts(all) // a copy
	invariant.Go(func() {
		defer unix.Close(listener)
		pass(listener, mates, data)
	})
	return nil
}

// pass gives the cards to count tasks. A task that gets none here gets them from the launcher.
func pass(listener, count int, data []byte) {
	end := time.Now().Add(hubLimit)
	for count > 0 {
		if ok, err := poll.Until([]unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}},
			end); !ok || err != nil {
			return
		}
		fd, _, err := wire.Accept(listener)
		switch err {
		case nil:
		case wire.ErrStranger:
			continue
		default: // no descriptors: poll would report at once that a task waits
			time.Sleep(lastRetry)
			continue
		}
		count--
		conn, err := wire.NewConn(fd)
		if err != nil {
			continue
		}
		conn.Queue(wire.Message{Kind: wire.Parts, Data: data})
		for {
			sent, err := conn.Flush()
			if sent || err != nil {
				break
			}
			if ok, _ := poll.Until([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, end); !ok {
				break
			}
		}
		conn.Close()
	}
}

// ask gets the cards from the task of this node that has them.
func ask(cards [][]byte, name string) error {
	fd, err := dialPatiently(name)
	if err != nil {
		return err
	}
	conn, err := wire.NewConn(fd)
	if err != nil {
		return err
	}
	defer conn.Close()
	m, err := await(conn, new(wire.Scratch))
	if err != nil {
		return err
	}
	all, err := wire.DecodeParts(m.Data, m.Files, len(cards))
	if err != nil || m.Kind != wire.Parts || len(all) != len(cards)-1 || all[0].Task != 1 {
		m.CloseFiles()
		return errors.New("not what was asked for")
	}
	for _, p := range all {
		cards[p.Task] = p.Data
	}
	return nil
}
