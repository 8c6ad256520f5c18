// Package cpu is C: what the parts of cshim ask of the processor (cpu.h). It has no Go code.
package cpu

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
import "C"
