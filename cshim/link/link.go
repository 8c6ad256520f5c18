// Package link is lapi_link_*: one-sided operations for libraries that move data for others, such as
// an MPI (include/lapi_link.h). It is a user of LAPI's calls, in an instance of its own. It has no Go
// code.
package link

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
