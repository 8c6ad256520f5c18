package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lookUp is how long task 0 waits for the addresses of its own name.
const lookUp = 5 * time.Second

// checkAddress says what is wrong with an address.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil && host == "" {
		err = errors.New("it names no host")
	}
	if err == nil {
		if n, failed := strconv.ParseUint(port, 10, 16); failed != nil || n == 0 {
			err = fmt.Errorf("the port %q is not a number from 1 to 65535", port)
		}
	}
	if err != nil {
		return fmt.Errorf("%w; set it to host:port, or [IPv6]:port, of task 0", err)
	}
	return nil
}

// listen listens at the address if it is one of this host's. Else the other tasks know this host by
// an address that it does not know itself: then at that port of all its addresses.
func listen(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{KeepAliveConfig: keepAlive} // reuses addresses, as net always does
	at := func(host string) (net.Listener, error) {
		return config.Listen(context.Background(), "tcp", net.JoinHostPort(host, port))
	}
	l, err := at(ownAddress(host))
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
		l, err = at("")
	}
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("port %s is in use on task 0's host, by another job or program; "+
			"give this job another one", port)
	}
	return l, err
}

// ownAddress is the one address that a name means, "" where that does not say at which address the
// others look for it. Many a host knows itself as 127.0.1.1, by which no other host finds it.
func ownAddress(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookUp)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil || len(all) != 1 || all[0].IsLoopback() && host != "localhost" {
		return ""
	}
	return all[0].Unmap().String()
}
