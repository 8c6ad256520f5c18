// Package munge seals a secret so that only processes of this user open it, on any host whose
// munged has the same key. The C part (munge.h) opens libmunge when it is needed.
package munge

// #cgo CFLAGS: -D_GNU_SOURCE -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include <string.h>
// #include "munge/munge.h"
import "C"

import (
	"errors"
	"unsafe"
)

const library = "libmunge.so.2"

// Client asks the daemon of this host. It is for one goroutine at a time.
type Client struct{ library string }

// New is a Client. Whether there is a daemon its calls tell.
func New() *Client { return &Client{library} }

// Seal makes a credential of secret: printable text.
func (c *Client) Seal(secret []byte) ([]byte, error) {
	file := C.CString(c.library)
	defer C.free(unsafe.Pointer(file))
	var why [C.CSHIM_MUNGE_WHY]C.char
	var credential *C.char
	if C.cshim_munge_seal(file, unsafe.Pointer(unsafe.SliceData(secret)), C.size_t(len(secret)),
		&credential, &why[0]) != 0 {
		return nil, errors.New(C.GoString(&why[0]))
	}
	defer C.free(unsafe.Pointer(credential))
	return []byte(C.GoString(credential)), nil
}

// Open writes what credential was made of to secret, which must have just that size.
func (c *Client) Open(credential, secret []byte) error {
	file, text := C.CString(c.library), C.CString(string(credential))
	defer C.free(unsafe.Pointer(file))
	defer C.free(unsafe.Pointer(text))
	var why [C.CSHIM_MUNGE_WHY]C.char
	var data unsafe.Pointer
	var length C.size_t
	if C.cshim_munge_open(file, text, &data, &length, &why[0]) != 0 {
		return errors.New(C.GoString(&why[0]))
	}
	defer func() {
		C.explicit_bzero(data, length)
		C.free(data)
	}()
	if length != C.size_t(len(secret)) {
		return errors.New("something else was sealed")
	}
	copy(secret, unsafe.Slice((*byte)(data), length))
	return nil
}
