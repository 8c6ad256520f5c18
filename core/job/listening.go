package job

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// listening is the sockets that listen at a TCP port, as links in /proc name them. The kernel is asked
// for these alone (sock_diag(7)): its files in /proc list all connections, for which it looks through
// a table of them that is as large as the machine's memory suggests.
func listening(port uint16) map[string]bool {
	sockets := make(map[string]bool)
	if port == 0 { // the kernel's word for any
		return sockets
	}
	if err := askListening(port, sockets); err != nil {
		readListening(port, sockets)
	}
	return sockets
}

// Of inet_diag_req_v2 and inet_diag_msg (linux/inet_diag.h), in bytes.
const (
	diagRequest = 56
	diagPort    = 8 // in the request
	diagMessage = 72
	diagInode   = 68 // in the message
	tcpListen   = 10
)

// askListening adds the sockets that the kernel lists. An error: the kernel does not know this
// request, or a filter forbids it.
func askListening(port uint16, sockets map[string]bool) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		b := make([]byte, unix.NLMSG_HDRLEN+diagRequest)
		binary.NativeEndian.PutUint32(b, uint32(len(b)))
		binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
		binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
		ask := b[unix.NLMSG_HDRLEN:]
		ask[0], ask[1] = family, unix.IPPROTO_TCP
		binary.NativeEndian.PutUint32(ask[4:], 1<<tcpListen)
		binary.BigEndian.PutUint16(ask[diagPort:], port)
		if err := unix.Sendmsg(s, b, nil, &unix.SockaddrNetlink{Family: unix.AF_NETLINK},
			unix.MSG_NOSIGNAL); err != nil {
			return err
		}
		for more := true; more; {
			if more, err = takeListening(s, sockets); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeListening adds the sockets of one part of the kernel's answer; more: further parts follow.
func takeListening(s int, sockets map[string]bool) (more bool, err error) {
	b := make([]byte, 32<<10) // the kernel's parts are shorter
	n, _, err := unix.Recvfrom(s, b, 0)
	if err != nil {
		return err == unix.EINTR, nonInterrupt(err)
	}
	all, err := syscall.ParseNetlinkMessage(b[:n])
	if err != nil {
		return false, err
	}
	for _, m := range all {
		switch {
		case m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR:
			if len(m.Data) >= 4 {
				if code := int32(binary.NativeEndian.Uint32(m.Data)); code < 0 {
					return false, unix.Errno(-code)
				}
			}
			return false, nil
		case len(m.Data) >= diagMessage:
			sockets[fmt.Sprintf("socket:[%d]", binary.NativeEndian.Uint32(m.Data[diagInode:]))] = true
		}
	}
	return true, nil
}

func nonInterrupt(err error) error {
	if err == unix.EINTR {
		return nil
	}
	return err
}

// readListening adds the sockets that the files in /proc list.
func readListening(port uint16, sockets map[string]bool) {
	const listens = "0A"
	end := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, _ := os.ReadFile(table) // no IPv6, perhaps
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[3] == listens && strings.HasSuffix(f[1], end) {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
}
