package job

import (
	"net"
	"slices"
	"sync"
)

// maxComing is how many connections that have not proved the job key a process has.
const maxComing = 64

// coming are connections that have not proved the job key yet, oldest first. Of more than maxComing
// the oldest is closed, so that connections that say nothing keep nobody out; a caller that is
// closed too early comes again.
type coming struct {
	mu   sync.Mutex // list
	list []net.Conn
}

// add adds a connection, and closes the oldest if there are too many.
func (c *coming) add(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == maxComing {
		c.list[0].Close()
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = append(c.list, conn)
}

// leave removes a connection that has proved the key or failed; false: it was closed.
func (c *coming) leave(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.list, conn)
	if at >= 0 {
		c.list = slices.Delete(c.list, at, at+1)
	}
	return at >= 0
}
