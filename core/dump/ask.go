package dump

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// answerTime bounds the wait for a task. It takes itself a third of a second for each context
	// whose lock it cannot have.
	answerTime = 3 * time.Second
	// answerMost is more than any answer has, bytes.
	answerMost = 1 << 18
	// endMark is the last line of a whole answer.
	endMark = "\nend\n"
)

// sockets are the abstract names of sockets for dumps, by process, in the network namespace of
// process pid. Those of other users are left out.
func sockets(pid int) (map[int]string, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	mine := fmt.Sprintf("@lapi-dump.%d.", os.Geteuid())
	all := map[int]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 8 {
			continue
		}
		rest, ok := strings.CutPrefix(words[7], mine)
		number, _, named := strings.Cut(rest, ".")
		if process, err := strconv.Atoi(number); ok && named && err == nil {
			all[process] = words[7]
		}
	}
	return all, nil
}

// ask is the answer of the process behind a socket. Only a process of this user is trusted.
func ask(name string) (string, error) {
	conn, err := net.DialTimeout("unix", name, answerTime)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := isOurs(conn.(*net.UnixConn)); err != nil {
		return "", err
	}
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, answerMost))
	if err == nil && !strings.HasSuffix(string(text), endMark) {
		err = io.ErrUnexpectedEOF
	}
	return string(text), err
}

func isOurs(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var other *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		other, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	switch {
	case err != nil:
		return err
	case asked != nil:
		return asked
	case int(other.Uid) != os.Geteuid():
		return fmt.Errorf("the socket belongs to user %d", other.Uid)
	}
	return nil
}
