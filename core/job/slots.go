package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"lapi/core/job/wire"
	"lapi/core/poll"
)

// Tasks that were started by hand meet at names of sockets that hold user and partition: each has
// one while it has a session, and so has the hub of those that list each other.
//
// A process that the owner of a name has forked, and that lives on, keeps the name taken. So each
// name has a few slots. A task takes the first slot on which no living process listens; a task that
// looks for the name tries them all.

const nameSlots = 4

// slotName is the abstract socket of a name slot: of a task, by its number, or of something else
// with a name. A partition that is long or no plain word appears as its hash.
func slotName(c *Config, what string, slot int) string {
	partition := c.Partition
	if len(partition) > 32 ||
		strings.Trim(partition,
			"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-") != "" {
		sum := sha256.Sum256([]byte(partition))
		partition = fmt.Sprintf("#%x", sum[:12])
	}
	name := fmt.Sprintf("@lapi/%d/%s/%s", os.Geteuid(), partition, what)
	if slot > 0 {
		name += fmt.Sprintf("/%d", slot)
	}
	return name
}

// errNobody: the process that listened at a name has ended; only what it forked keeps the socket.
var errNobody = errors.New("its owner has ended")

// dial connects to a name; conn is -1 if there is an error. ECONNREFUSED: no process listens there.
func dial(name string) (conn, pid int, err error) {
	conn, pid, err = wire.Dial(name)
	if err == nil && poll.Ended(pid) {
		unix.Close(conn)
		return -1, 0, errNobody
	}
	return conn, pid, err
}

// find connects to the process that has a name, in whichever slot. ECONNREFUSED: no process has it.
func find(c *Config, what string) (conn int, err error) {
	for slot := range nameSlots {
		conn, _, err = dial(slotName(c, what, slot))
		if err != unix.ECONNREFUSED && err != errNobody {
			return conn, err
		}
	}
	return -1, unix.ECONNREFUSED
}

// take takes a name and listens there. EADDRINUSE: a living process has it, or, unless patient, may
// be about to.
func take(c *Config, what string, patient bool) (fd int, err error) {
	for slot := range nameSlots {
		fd, err = wire.Listen(slotName(c, what, slot))
		if err == nil {
			// Of two processes that take different slots at one time, the later listener
			// sees the other.
			if err = nobodyBut(c, what, slot); err != nil {
				unix.Close(fd)
				return -1, err
			}
			return fd, nil
		}
		if err != unix.EADDRINUSE {
			return -1, err
		}
		switch err = owned(slotName(c, what, slot)); {
		case err == nil || err == unix.ECONNREFUSED && patient: // the next one
		case err == unix.ECONNREFUSED:
			return -1, unix.EADDRINUSE
		default:
			return -1, err
		}
	}
	return -1, unix.EADDRINUSE
}

// nobodyBut is EADDRINUSE if a living process has a name in another slot.
func nobodyBut(c *Config, what string, own int) error {
	for slot := range nameSlots {
		if slot == own {
			continue
		}
		if err := owned(slotName(c, what, slot)); err != nil && err != unix.ECONNREFUSED {
			return err
		}
	}
	return nil
}

// unlisten frees a name, also where a child that this process has forked has the socket, too.
func unlisten(socket *os.File) {
	if raw, err := socket.SyscallConn(); err == nil {
		// an error: it is closed already
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	}
	socket.Close()
}

// owned is EADDRINUSE if a living process listens at a name, ECONNREFUSED if none does now, and nil
// if that one has ended. Another error: it is another user's.
func owned(name string) error {
	conn, _, err := dial(name)
	switch err {
	case nil:
		unix.Close(conn)
		return unix.EADDRINUSE
	case unix.EAGAIN, unix.EINTR: // its queue is full
		return unix.EADDRINUSE
	case errNobody:
		return nil
	}
	return err
}
