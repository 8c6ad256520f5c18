package main

// #include "progress/say.h"
import "C"
import "unsafe"

// say writes a line on the standard error, as C does: Go ends a process if no process reads its
// standard error, also where the program ignores SIGPIPE.
func say(line string) {
	b := []byte(line + "\n")
	C.cshim_say((*C.char)(unsafe.Pointer(&b[0])), C.size_t(len(b)))
}
