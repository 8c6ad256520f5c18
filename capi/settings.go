package main

// #include <stdlib.h>
// #include <sys/auxv.h>
// #include <unistd.h>
//
// extern char **environ;
import "C"

import (
	"sync"
	"unsafe"

	"lapi/core/settings"
)

// settingsFiles are read once, when the first setting is looked up.
var settingsFiles = sync.OnceValue(func() *settings.Files {
	return settings.Read(variable, C.getauxval(C.AT_SECURE) != 0)
})

// variable asks C: programs may set variables with setenv after the Go run-time has taken its copy.
func variable(name string) (string, bool) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	v := C.getenv(s)
	if v == nil {
		return "", false
	}
	return C.GoString(v), true
}

// getenv returns a setting: of the environment, or else of the settings files.
func getenv(name string) (string, bool) { return settingsFiles().Over(variable)(name) }

// badSettings are sentences about settings that have no effect.
func badSettings() []string {
	var environ []string
	for e := C.environ; e != nil && *e != nil; e = (**C.char)(unsafe.Add(unsafe.Pointer(e), unsafe.Sizeof(*e))) {
		environ = append(environ, C.GoString(*e))
	}
	all := settingsFiles().Notices
	if check, _ := getenv(settings.CheckVariable); check != "no" {
		all = append(all[:len(all):len(all)], settings.Unknown(environ)...)
	}
	return all
}
