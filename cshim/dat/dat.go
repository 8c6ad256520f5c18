// Package dat is what the rooms of uDAPL stand on: the block that every call locks, and the lane
// (common.h). godat.h is the contract with capi, calls.h numbers the calls that core does. The rooms
// are packages below it; api knows rc, rc coll, and all of them evd.
package dat

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
