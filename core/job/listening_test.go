package job

import (
	"fmt"
	"maps"
	"net"
	"os"
	"testing"
)

// TestListeningAsked: the kernel names the same sockets that its files in /proc do, those that listen at
// the port, of both versions of IP, and no connection there.
func TestListeningAsked(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		defer l.Close()
		port := uint16(l.Addr().(*net.TCPAddr).Port)
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		asked, read := map[string]bool{}, map[string]bool{}
		if err := askListening(port, asked); err != nil {
			t.Skipf("skipped: the kernel does not answer: %v", err)
		}
		readListening(port, read)
		if len(asked) != 1 || !maps.Equal(asked, read) {
			t.Errorf("%s: asked %v, read %v", at, asked, read)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		link, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if !asked[link] {
			t.Errorf("%s is not in %v", link, asked)
		}
	}
}
