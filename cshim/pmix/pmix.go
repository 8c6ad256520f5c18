// Package pmix asks a PMIx server for this task's rank, and passes one card of each task to all
// others (mpirun, prun, srun --mpi=pmix). The C part (pmix.h) opens libpmix when it is needed;
// abi.h has the part of its binary interface that is used.
package pmix

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "pmix/pmix.h"
import "C"

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"lapi/invariant"
)

// library is the name by which Open MPI and Slurm know it, too.
const library = "libpmix.so.2"

// cardKey is not the server's: those begin with pmix.
const cardKey = "lapi.card"

// cardMax is more bytes than any card of a task of this library has.
const cardMax = 1 << 20

// Client is the process's connection. It is for one goroutine at a time.
type Client struct {
	rank, size int
	look       func() error
}

// Present says whether a PMIx server has started this process. Without one Open fails late.
func Present(getenv func(string) (string, bool)) bool {
	for _, name := range []string{"PMIX_NAMESPACE", "PMIX_RANK"} {
		if s, ok := getenv(name); !ok || s == "" {
			return false
		}
	}
	return true
}

// Open connects this process to its server, or finds the connection that it has. The process's exit
// handlers end it.
func Open() (*Client, error) { return open(library) }

func open(library string) (*Client, error) {
	file := C.CString(library)
	defer C.free(unsafe.Pointer(file))
	var rank, size C.uint32_t
	var why [C.CSHIM_PMIX_WHY]C.char
	if C.cshim_pmix_open(file, &rank, &size, &why[0]) != 0 {
		return nil, errors.New(C.GoString(&why[0]))
	}
	return &Client{rank: int(rank), size: int(size)}, nil
}

// Rank is this task's number, from 0.
func (c *Client) Rank() int { return c.rank }

// Size is the number of tasks.
func (c *Client) Size() int { return c.size }

// Look has look called every now and then while Exchange waits for the other tasks. Its error ends
// that, and with it what this process can ask.
func (c *Client) Look(look func() error) { c.look = look }

const lookEvery = 250 * time.Millisecond

// give waits for all tasks. The call that does so cannot be broken off: if look ends the wait, its
// thread stays in it.
func (c *Client) give(card []byte) error {
	key, bytes := C.CString(cardKey), C.CBytes(card)
	given := make(chan error, 1)
	invariant.Go(func() {
		defer C.free(unsafe.Pointer(key))
		defer C.free(bytes)
		var why [C.CSHIM_PMIX_WHY]C.char
		if C.cshim_pmix_give(key, bytes, C.size_t(len(card)), &why[0]) != 0 {
			given <- errors.New(C.GoString(&why[0]))
			return
		}
		given <- nil
	})
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case err := <-given:
			return err
		case <-look.C:
			if c.look == nil {
				continue
			}
			if err := c.look(); err != nil {
				C.cshim_pmix_give_up()
				return err
			}
		}
	}
}

// Exchange gives card to all tasks and returns theirs, by rank. All tasks call it, once: a server
// may keep the first card, and the connection may be left to an MPI of this process.
func (c *Client) Exchange(card []byte) ([][]byte, error) {
	if len(card) == 0 || len(card) > cardMax {
		return nil, fmt.Errorf("a card of %d bytes", len(card))
	}
	if err := c.give(card); err != nil {
		return nil, err
	}
	key := C.CString(cardKey)
	defer C.free(unsafe.Pointer(key))
	var why [C.CSHIM_PMIX_WHY]C.char
	cards := make([][]byte, c.size)
	for rank := range cards {
		var bytes unsafe.Pointer
		var length C.size_t
		if C.cshim_pmix_take(key, C.uint32_t(rank), &bytes, &length, &why[0]) != 0 {
			return nil, fmt.Errorf("task %d: %s", rank, C.GoString(&why[0]))
		}
		if length > cardMax {
			C.free(bytes)
			return nil, fmt.Errorf("task %d: a card of %d bytes", rank, length)
		}
		cards[rank] = C.GoBytes(bytes, C.int(length))
		C.free(bytes)
	}
	C.cshim_pmix_leave_to_mpi()
	return cards, nil
}

// Abort has the server end the whole job with that exit code. This process ends with it, now or a
// little later.
func (c *Client) Abort(code int) error {
	var why [C.CSHIM_PMIX_WHY]C.char
	if C.cshim_pmix_abort(C.int(code), &why[0]) != 0 {
		return errors.New(C.GoString(&why[0]))
	}
	return nil
}

// End does the exit handler's work, for a process that ends without running it: os.Exit of a Go
// program calls none. No call follows.
func End() { C.cshim_pmix_end() }
