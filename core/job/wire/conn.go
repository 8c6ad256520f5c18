package wire

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
)

// Scratch is memory for Receive, which several Conns of one user may share.
type Scratch struct {
	record  [headerSize + MaxRecord]byte
	control [4 * (MaxRecordFiles + 16)]byte
}

// Conn sends and receives messages over one socket. It waits only for Patience.
type Conn struct {
	// Patience is for how long Flush waits where more descriptors of this user are under way
	// than it may have open, until their receivers take them.
	Patience time.Duration
	// Whole: a message that does not come in one record is malformed. So a peer that is not known
	// yet takes no memory.
	Whole bool

	fd  int
	in  assembler
	out []*cutter
}

// patience is that of a Conn by default.
const patience = 8 * time.Second

// NewConn takes over fd, an AF_UNIX SOCK_SEQPACKET socket.
func NewConn(fd int) (*Conn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Conn{Patience: patience, fd: fd}, nil
}

// Fd is the socket; -1 after Close.
func (c *Conn) Fd() int { return c.fd }

// Close closes the socket and the descriptors of a half-received message. Descriptors queued for
// sending stay open: they are the sender's.
func (c *Conn) Close() {
	if c.fd >= 0 {
		unix.Close(c.fd)
		c.fd = -1
	}
	c.in.drop()
	c.out = nil
}

// Drop discards a half-received message and closes its descriptors; for a caller that closes the
// socket by other means.
func (c *Conn) Drop() { c.in.drop() }

// Queue appends m to what Flush sends. The data and the descriptors must stay as they are until it
// is sent.
func (c *Conn) Queue(m Message) { c.out = append(c.out, &cutter{m: m}) }

// Flush sends what it can. It returns true when nothing is left, false when the socket must become
// writable first. An error is final.
func (c *Conn) Flush() (bool, error) {
	for len(c.out) > 0 {
		record, files, last := c.out[0].peek()
		err := sendRecord(c.fd, record, files, c.Patience)
		if err == unix.EAGAIN {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		c.out[0].consume(record, files)
		if last {
			c.out = c.out[1:]
		}
	}
	return true, nil
}

// sendRecord retries where waiting for the socket would not help.
func sendRecord(fd int, record []byte, files []int, patience time.Duration) error {
	var control []byte
	if len(files) > 0 {
		control = unix.UnixRights(files...)
	}
	for wait := time.Millisecond; ; {
		_, err := unix.SendmsgN(fd, record, control, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
		case err == unix.ETOOMANYREFS && 2*wait <= patience:
			time.Sleep(wait)
			wait *= 2
		case errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE):
			return io.EOF
		default:
			return err
		}
	}
}

// Receive returns the next message if it is complete. io.EOF: the other end has closed the socket;
// every other error is final too.
func (c *Conn) Receive(s *Scratch) (m Message, ok bool, err error) {
	for {
		record, files, err := receiveRecord(c.fd, s)
		if err == unix.EAGAIN {
			return Message{}, false, nil
		}
		if err != nil {
			return Message{}, false, err
		}
		m, done, err := c.in.add(record, files)
		if !done && err == nil && c.Whole {
			c.in.drop()
			err = fmt.Errorf("%w: more than a record", ErrMalformed)
		}
		if done || err != nil {
			return m, done, err
		}
	}
}

func receiveRecord(fd int, s *Scratch) ([]byte, []int, error) {
	var n, control, flags int
	var err error
	for {
		n, control, flags, _, err = unix.Recvmsg(fd, s.record[:], s.control[:],
			unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		// ECONNRESET comes once, when the other end closed without having read all; what it
		// had sent can still be read.
		if err != unix.EINTR && err != unix.ECONNRESET {
			break
		}
	}
	if err == nil && n == 0 {
		return nil, nil, io.EOF
	}
	if err != nil {
		return nil, nil, err
	}
	files, err := parseFiles(s.control[:control])
	descriptor.OwnAll(files)
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = fmt.Errorf("descriptors were lost on the way in: %w (see ulimit -n)", unix.EMFILE)
	}
	if err == nil && flags&unix.MSG_TRUNC != 0 {
		err = fmt.Errorf("%w: longer than %d bytes", ErrMalformed, len(s.record))
	}
	if err != nil {
		lost := Message{Files: files}
		lost.CloseFiles()
		return nil, nil, err
	}
	return s.record[:n], files, nil
}

// parseFiles reads the numbers of the descriptors in control messages, also with an error: those that are
// to be closed then.
func parseFiles(control []byte) ([]int, error) {
	if len(control) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, err
	}
	var files []int
	for i := range messages {
		if messages[i].Header.Level != unix.SOL_SOCKET ||
			messages[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		if len(messages[i].Data)%4 != 0 { // ParseUnixRights would read beyond its end
			return files, fmt.Errorf("%w: %d bytes of descriptors", ErrMalformed,
				len(messages[i].Data))
		}
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		files = append(files, fds...)
	}
	return files, nil
}

// SendTo sends m over a socket that other threads or processes may use too, waiting for room. m
// must fit one record. io.EOF: no process reads it any more.
func SendTo(fd int, m Message) error {
	c := cutter{m: m}
	record, files, last := c.peek()
	if !last {
		return fmt.Errorf("%w: longer than a record", ErrMalformed)
	}
	for {
		err := sendRecord(fd, record, files, patience)
		if err != unix.EAGAIN {
			return err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}},
			-1); err != nil && err != unix.EINTR {
			return err
		}
	}
}
