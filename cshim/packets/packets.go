// Package packets is C's part of the link over RDMA adapters (transport/verbs): packets that are sent
// and taken without Go (packets.h), over the queue pairs of cshim/ibv.
package packets

// #cgo CFLAGS: -D_GNU_SOURCE -O2 -std=gnu11 -Wall -Wextra -fvisibility=hidden
// #cgo CFLAGS: -I${SRCDIR}/..
// #cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
// #include "packets/packets.h"
import "C"

import _ "lapi/cshim/ibv" // whose functions the C part calls
