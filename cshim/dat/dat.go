// Package dat is the entry points of uDAPL, the block that they lock, and what threads wait for in
// them. godat.h is its contract with capi, calls.h numbers the calls that core does.
package dat

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
