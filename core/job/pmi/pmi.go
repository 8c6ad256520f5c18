// Package pmi asks the launcher of an MPI for this task's number, and passes one card of each task
// to all others: by PMI-1, lines of text over an inherited socket (mpiexec.hydra; srun --mpi=pmi2).
//
//	pmi.go       Launcher; a session of PMI-1
//	port.go      the same by a socket of the process's own (mpiexec.hydra -pmi-port)
//	exchange.go  cards as values of the launcher's key-value space
//	line.go      lines of the protocol
//
// The space is for one exchange. It is slow, and after the launcher's finalize there is no second
// time. So nothing here finalizes: that is for the end of the process.
package pmi

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/sys/unix"
)

// Launcher is what a task can ask of its launcher. It is not for concurrent use.
type Launcher interface {
	Rank() int
	Size() int
	// Exchange gives card to all tasks and returns theirs, by rank. All tasks call it, once.
	Exchange(card []byte) ([][]byte, error)
	// Abort makes the launcher end the whole job with that exit code. It does not wait.
	Abort(code int) error
}

// Shelf is a Launcher from which each card is asked for by itself. Get comes after Put, which all
// tasks call, once, instead of Exchange.
type Shelf interface {
	Launcher
	Put(card []byte) error
	Get(rank int) ([]byte, error)
}

// Patient is a Launcher that can stop waiting for the other tasks.
type Patient interface {
	Launcher
	// Look makes the session call look every now and then while this task waits; its error ends the
	// wait, and with that the session.
	Look(look func() error)
}

// lookEvery is between two calls of it.
const lookEvery = 250 // ms

// Client is a session of PMI-1.
type Client struct {
	fd         int
	rank, size int
	space      string // the job's key-value space
	value      int    // most bytes of a value
	rest       []byte // received, after the last line
	look       func() error
}

var (
	_ Shelf   = (*Client)(nil)
	_ Patient = (*Client)(nil)
)

// Limits of what a launcher may say.
const (
	maxLine    = 64 << 10
	minValue   = 64
	firstValue = 600 // longer values are cut by some, and a line of 1024 hangs others
)

// Open begins a session over the socket fd, which stays the process's: MPI may use it as well.
// Programs that the task starts do not inherit it any more.
func Open(fd, rank, size int) (*Client, error) {
	if size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("rank %d of %d tasks", rank, size)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("descriptor %d is no socket", fd)
	}
	c := &Client{fd: fd, rank: rank, size: size}
	if err := c.begin(); err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	return c, nil
}

// begin asks for the values that a session needs.
func (c *Client) begin() error {
	if _, err := c.ask("init", "response_to_init", "pmi_version=1 pmi_subversion=1"); err != nil {
		return err
	}
	sizes, err := c.ask("get_maxes", "maxes", "")
	if err != nil {
		return err
	}
	if c.value, err = strconv.Atoi(sizes["vallen_max"]); err != nil || c.value < minValue {
		return fmt.Errorf("values of %q bytes", sizes["vallen_max"])
	}
	c.value = min(c.value-1, firstValue)
	name, err := c.ask("get_my_kvsname", "my_kvsname", "")
	if err != nil {
		return err
	}
	if c.space = name["kvsname"]; c.space == "" {
		return errors.New("the launcher names no key-value space")
	}
	return nil
}

// Socket is the session's socket.
func (c *Client) Socket() int { return c.fd }

// Rank implements Launcher.
func (c *Client) Rank() int { return c.rank }

// Size implements Launcher.
func (c *Client) Size() int { return c.size }

// Abort implements Launcher. There is no answer: the launcher kills.
func (c *Client) Abort(code int) error {
	return c.send(fmt.Sprintf("cmd=abort exitcode=%d\n", code))
}

// Look implements Patient.
func (c *Client) Look(look func() error) { c.look = look }

// ask sends a command and returns the words of its answer, whose command must be want.
func (c *Client) ask(command, want, words string) (map[string]string, error) {
	line := "cmd=" + command
	if words != "" {
		line += " " + words
	}
	if err := c.send(line + "\n"); err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	answer, err := c.line()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	got, err := parse(answer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	if got["cmd"] != want {
		return nil, fmt.Errorf("%s is answered by %q", command, got["cmd"])
	}
	if rc, ok := got["rc"]; ok && rc != "0" {
		return nil, fmt.Errorf("%s: refused (rc=%s %s)", command, rc, got["msg"])
	}
	return got, nil
}

// send writes a line. A launcher that has closed its end is an error, not a signal.
func (c *Client) send(line string) error {
	b := []byte(line)
	for len(b) > 0 {
		n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_NOSIGNAL)
		switch err {
		case nil:
			b = b[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			if err := c.wait(unix.POLLOUT); err != nil {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// line returns the next line, without its end, however long it takes, unless look ends that: others
// may be late.
func (c *Client) line() (string, error) {
	var room [4096]byte
	for {
		if line, rest, ok := cutLine(c.rest); ok {
			c.rest = rest
			return line, nil
		}
		if len(c.rest) > maxLine {
			return "", errors.New("the launcher's line has no end")
		}
		if c.look != nil { // the socket may be blocking
			if err := c.wait(unix.POLLIN); err != nil {
				return "", err
			}
		}
		n, err := unix.Read(c.fd, room[:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			if err := c.wait(unix.POLLIN); err != nil {
				return "", err
			}
		case err != nil:
			return "", err
		case n == 0:
			return "", fmt.Errorf("the launcher has closed the connection: %w", io.EOF)
		default:
			c.rest = append(c.rest, room[:n]...)
		}
	}
}

func (c *Client) wait(events int16) error {
	limit := -1
	if c.look != nil {
		limit = lookEvery
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: events}}, limit)
		if err != nil && err != unix.EINTR {
			return err
		}
		if n > 0 {
			return nil
		}
		if c.look != nil {
			if err := c.look(); err != nil {
				return err
			}
		}
	}
}
