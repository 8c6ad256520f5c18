package main

import (
	"bytes"
	"encoding/gob"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Orders come over as they were given, with their files in turn: also where the environment is not
// text only, and is larger than a socket's buffer.
func TestOrdersTravel(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "end")
		conn, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		ends[i] = conn.(*net.UnixConn)
	}
	lapirun := &watchdog{conn: ends[0]}
	lapirun.encoder = gob.NewEncoder(&lapirun.buffer)
	orders := make(chan received)
	go receive(ends[1], orders)
	large := "L=" + strings.Repeat("\xff", 3<<20)
	for _, o := range []order{
		{Verb: startTask, Task: 3, Path: "/bin/true", Args: []string{"", "a b"},
			Env: []string{large}},
		{Verb: startTask, Task: 4},
		{Verb: letGo},
	} {
		var files, sent []*os.File
		if o.Verb == startTask {
			for range taskFiles {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				files, sent = append(files, r), append(sent, w)
			}
		}
		done := make(chan error)
		go func() { done <- lapirun.send(o, sent...) }()
		got := <-orders
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.order, o) || len(got.files) != len(sent) {
			t.Errorf("order of task %d came as one of task %d with %d files", o.Task, got.Task,
				len(got.files))
		}
		for i, fd := range got.files {
			buffer := make([]byte, 1)
			if _, err := unix.Write(fd, []byte{byte(i)}); err != nil {
				t.Error(err)
			}
			if _, err := files[i].Read(buffer); err != nil ||
				!bytes.Equal(buffer, []byte{byte(i)}) {
				t.Errorf("file %d is another: %v %v", i, buffer, err)
			}
			unix.Close(fd)
		}
	}
	lapirun.conn.Close()
	if _, ok := <-orders; ok {
		t.Error("the end of lapirun is not noticed")
	}
}
