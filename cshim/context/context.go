// Package context is LAPI's contexts as the rest of the C side needs them: their blocks (context.h),
// handles, how a call enters and leaves one, messages to the user (contexts.h), the trace (trace.h).
// golapi.h is what capi gives the C side of LAPI.
package context

// #cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../../include
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
import "C"
