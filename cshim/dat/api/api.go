// Package api is the entry points of uDAPL: they enter the block, wait in it, and have the rooms below
// or core do the work; other providers. No room includes it: exports.txt and dat/godat.h are its
// contract.
package api

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
