package job

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"lapi/core/job/hub"
)

// TestIdleStrangers: connections that say nothing, of which each stays as long as it may, do not
// keep another node's hub out.
func TestIdleStrangers(t *testing.T) {
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	key := make([]byte, 64)
	n := &nodeHub{task: 0, nodes: []int{0, 1}, mates: []int{0}, key: key, in: entrances{door: door},
		ended: map[int]bool{}, hub: hub.New(2, key)}
	n.hub.Span(n.nodes, 0, nil)
	go n.hearHubs()
	defer door.Close()
	var idle []net.Conn
	for range 3 * maxComing {
		c, err := net.Dial("tcp", door.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	conn, err := net.Dial("tcp", door.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	w, err := hub.Call(conn, key, 1, 2, time.Minute)
	if err != nil {
		t.Fatalf("the other hub: %v", err)
	}
	defer w.Close()
	open := 0
	for _, c := range idle {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	if open == 0 || open >= maxComing {
		t.Errorf("%d connections that say nothing are open when the other hub is answered", open)
	}
}
