package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
)

// A task that was started by hand is found by the others of its node at a name which holds user,
// partition, instance and task, from the beginning of its LAPI_Init to its LAPI_Term.
//
// A process that the task has forked, and that lives on, keeps the name taken. So each task has a
// few name slots: it takes the first that no living process listens on, and a task that looks for
// it tries them all.

const (
	nameSlots = 4
	bindLimit = 2 * time.Second // a task that has just ended may still hold its name
	// a name that is taken and refuses belongs to a task that is about to listen, so long at
	// most
	mayListen = 20 * time.Millisecond
	bindPause = time.Millisecond
)

// slotName is the abstract socket of a name slot. A partition that is long or no plain word appears
// as its hash.
func slotName(c *Config, instance, task, slot int) string {
	partition := c.Partition
	if len(partition) > 32 ||
		strings.Trim(partition,
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") != "" {
		sum := sha256.Sum256([]byte(partition))
		partition = fmt.Sprintf("#%x", sum[:12])
	}
	name := fmt.Sprintf("@lapi/%d/%s/%d/%d", os.Geteuid(), partition, instance, task)
	if slot > 0 {
		name += fmt.Sprintf("/%d", slot)
	}
	return name
}

// listen takes a name slot of this task and listens there.
func listen(c *Config, instance int) (fd int, err error) {
	for began := time.Now(); ; time.Sleep(bindPause) {
		fd, err := takeSlot(c, instance, time.Since(began) > mayListen)
		switch {
		case err == nil:
			return fd, nil
		case err != unix.EADDRINUSE:
			return -1, fmt.Errorf("a socket for the tasks of this node: %w", err)
		case time.Since(began) > bindLimit:
			return -1, fmt.Errorf("another process is task %d of MP_PARTITION=%s already; give each task its own MP_CHILD and each job its own MP_PARTITION",
				c.Task, c.Partition)
		}
	}
}

// takeSlot takes the first name slot that is free, or whose owner is no more. EADDRINUSE: a living
// process listens there, or, unless patient, may be about to.
func takeSlot(c *Config, instance int, patient bool) (fd int, err error) {
	for slot := range nameSlots {
		name := slotName(c, instance, c.Task, slot)
		if fd, err = wire.Listen(name); err != unix.EADDRINUSE {
			return fd, err
		}
		conn, _, err := dial(name)
		if conn >= 0 {
			unix.Close(conn)
		}
		// a forked process has the socket
		abandoned := err == errNobody || err == unix.ECONNREFUSED && patient
		if !abandoned {
			break
		}
	}
	return -1, unix.EADDRINUSE
}

// errNobody: the process that listened at a name has ended; only what it forked keeps the socket.
var errNobody = errors.New("its owner has ended")

// dial connects to a name; conn is -1 if there is an error. ECONNREFUSED: nobody listens there.
func dial(name string) (conn, pid int, err error) {
	conn, pid, err = wire.Dial(name)
	if err == nil && poll.Ended(pid) {
		unix.Close(conn)
		return -1, 0, errNobody
	}
	return conn, pid, err
}

// find connects to another task, in whichever slot it listens. conn is -1 if there is an error:
// errNobody if it does not listen, EAGAIN if a later attempt may succeed.
func find(c *Config, instance, task int) (conn, pid int, err error) {
	for slot := range nameSlots {
		conn, pid, err = dial(slotName(c, instance, task, slot))
		switch err {
		case nil:
			return conn, pid, nil
		case unix.EAGAIN, unix.EINTR: // its queue is full
			return -1, 0, unix.EAGAIN
		case unix.ECONNREFUSED, errNobody:
		default:
			return -1, 0, fmt.Errorf("the socket of task %d: %w", task, err)
		}
	}
	return -1, 0, errNobody
}
