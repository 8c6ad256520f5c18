// Package registry is C: the registry of providers of interface adapters, which libdat2 is elsewhere
// (registry.h). Nothing of core is needed: a program may list names, and register its own, and fork
// then.
package registry

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden -Wno-unused-parameter
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
