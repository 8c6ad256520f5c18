package job_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job"
	"lapi/core/job/wire"
)

// idle is how many connections another user makes to a socket of the node.
const idle = 300

func init() { roles["idlers"] = idlersRole }

// idlersRole is another user's process that connects often to a socket, says nothing, and counts
// how many connections are closed.
func idlersRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	name := os.Getenv("SOCKET")
	if name == "" {
		name = job.HubName(c)
	}
	if err := syscall.Setuid(nobody); err != nil {
		return err
	}
	end := time.Now().Add(guard)
	var all []int
	for len(all) < idle && time.Now().Before(end) {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return err
		}
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
		switch {
		case err == nil:
			all = append(all, fd)
			continue
		case !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.EAGAIN):
			return err
		}
		unix.Close(fd)
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready")
	closed := 0
	for _, fd := range all {
		set := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP comes unasked
		if n, _ := unix.Poll(set, int(time.Until(end)/time.Millisecond)); n == 1 {
			closed++
		}
	}
	fmt.Println("closed", closed)
	return nil
}

// TestIdleStrangersOfNode: connections of another user to a hub's socket that say nothing hold no
// place there, and keep no task out.
func TestIdleStrangersOfNode(t *testing.T) {
	needRoot(t)
	j := &tasks{t: t}
	j.startByHand(0, 2, "exchange")
	j.startByHand(1, 2, "idlers")
	if rest := j.all[1].expect(t, "closed "); rest != fmt.Sprint(idle) {
		t.Errorf("%s of %d are closed", rest, idle)
	}
	j.startByHand(1, 2, "exchange")
	j.succeed()
}

// TestIdleStrangersAtCards: those at the socket by which a task passes cards on, which takes nobody
// in before it has them, take no other task's turn.
func TestIdleStrangersAtCards(t *testing.T) {
	needRoot(t)
	j := &tasks{t: t}
	name := "@lapi/test/cards/" + j.partition()
	listener, err := wire.Listen(name)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(listener)
	j.startByHand(1, 2, "idlers", "SOCKET="+name)
	j.all[0].expect(t, "ready")
	want := [][]byte{nil, []byte("one"), []byte("two")}
	data, _ := wire.EncodeParts([]wire.Contribution{{Task: 1, Data: want[1]},
		{Task: 2, Data: want[2]}})
	passed := make(chan struct{})
	go func() { job.PassCards(listener, 1, data); close(passed) }()
	cards := make([][]byte, len(want))
	if err := job.AskForCards(cards, name); err != nil {
		t.Fatal(err)
	}
	<-passed
	for task := range cards {
		if string(cards[task]) != string(want[task]) {
			t.Errorf("task %d has the card %q", task, cards[task])
		}
	}
	j.all[0].expect(t, "closed ")
}
