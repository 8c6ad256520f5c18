package descriptor

import (
	"net"
	"os"
)

// hold keeps the numbers 0 to 2 taken, as far as the program has closed them, until release.
var hold, release = func() {}, func() {}

// Bracket sets both; before any other goroutine runs. It is C's (cshim/start), which brackets whole
// calls too. lapirun has none: what it opens is its own.
func Bracket(holds, releases func()) { hold, release = holds, releases }

// AboveStandard calls a function by which another library opens descriptors: none is 0, 1 or 2.
func AboveStandard(open func()) {
	hold()
	defer release()
	open()
}

// Conn does with a connection of package net what Low does with a descriptor. It takes what Dial
// and Accept return, and closes the connection where it fails.
func Conn(c net.Conn, err error) (net.Conn, error) {
	if err != nil || !isStandard(c) {
		return c, err
	}
	defer c.Close()
	var moved net.Conn
	AboveStandard(func() { moved, err = again(c) })
	return moved, err
}

func isStandard(c net.Conn) bool {
	is := false
	if s, ok := c.(*net.TCPConn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { is = fd < standard })
		}
	}
	return is
}

// again is the same connection with another number.
func again(c net.Conn) (net.Conn, error) {
	f, err := c.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileConn(f)
}
