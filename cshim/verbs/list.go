package verbs

// #include <stdlib.h>
// #include "verbs/verbs.h"
import "C"

import (
	"errors"
	"unsafe"
)

// Port names a port of an adapter.
type Port struct {
	Name   string // of the adapter
	Number int
}

// portsMost is how many ports List tells of.
const portsMost = 64

// List is the ports that work, by adapter. The error says why it is not known.
func List() ([]Port, error) { return list(library) }

func list(library string) (all []Port, err error) {
	file := C.CString(library)
	defer C.free(unsafe.Pointer(file))
	var why [C.CSHIM_VERBS_WHY]C.char
	var found [portsMost]C.struct_cshim_verbs_port
	n := C.cshim_verbs_list(file, portsMost, &found[0], &why[0])
	if n < 0 {
		return nil, errors.New(C.GoString(&why[0]))
	}
	for _, p := range found[:n] {
		all = append(all, Port{C.GoString(&p.name[0]), int(p.port)})
	}
	return all, nil
}
