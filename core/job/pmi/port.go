package pmi

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
)

const dialTime = 30 * time.Second // to reach the launcher

// Dial begins a session with the launcher that listens at an address, host:port, and knows this
// process as id. The launcher says rank and size.
func Dial(address string, id int) (*Client, error) {
	conn, err := net.DialTimeout("tcp", address, dialTime)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	c := &Client{fd: -1}
	var dup error
	err = raw.Control(func(fd uintptr) {
		c.fd, dup = descriptor.Own(descriptor.Dup(int(fd)))
	})
	if err == nil {
		err = dup
	}
	if err == nil {
		err = c.introduce(id)
	}
	if err == nil {
		err = c.begin()
	}
	if err != nil && c.fd >= 0 {
		unix.Close(c.fd)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// introduce sends this process's id. The answer has a line for each value: size, rank and debug,
// each in a word of that name.
func (c *Client) introduce(id int) error {
	if _, err := c.ask("initack", "initack", fmt.Sprintf("pmiid=%d", id)); err != nil {
		return err
	}
	numbers := make(map[string]int)
	for range 3 {
		line, err := c.line()
		if err != nil {
			return err
		}
		words, err := parse(line)
		if err != nil || words["cmd"] != "set" {
			return fmt.Errorf("initack is answered by %q", line)
		}
		for name, value := range words {
			if n, err := strconv.Atoi(value); err == nil {
				numbers[strings.ToLower(name)] = n
			}
		}
	}
	rank, known := numbers["rank"]
	size := numbers["size"]
	if !known || rank < 0 || rank >= size {
		return fmt.Errorf("the launcher says rank %d of %d tasks", rank, size)
	}
	c.rank, c.size = rank, size
	return nil
}
