// Package cpu is C: the calls by which the parts of cshim ask the processor (cpu.h). It has no Go
// code.
package cpu

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
import "C"
