// Package fortran is the Fortran entry points and LAPI_ADDR_NULL.
package fortran

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
