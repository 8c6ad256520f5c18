package paths

import (
	"time"

	"lapi/transport/layout"
)

// Of a link; less where the adapter has less.
const (
	receivesMax  = 4096        // buffers of the shared receive queue
	sendsMax     = 2048        // slots for packets to send
	movingMax    = 1024        // RDMA requests
	datagramsMax = slotsAtOnce // receive buffers for the handshake
	// datagramSize is that of such a buffer, datagramMax the longest that is sent.
	datagramSize = 320
	datagramMax  = 256
	// readsMax is how many RDMA reads a port takes at once.
	readsMax = 16
	// slotsAtOnce is how many slots are registered together, and spareSlots how many free ones are
	// kept.
	slotsAtOnce = layout.VerbsChunkOf
	spareSlots  = 2 * slotsAtOnce
	// reopenSoon is how long a port of which only a queue has failed waits for its queue pairs to
	// end, and for handlers that read its buffers.
	reopenSoon = int64(time.Millisecond)
	// reopenFirst is how long after it was lost an adapter is looked for, in nanoseconds. After
	// looksMax looks, so far apart, the tasks are lost that no adapter leads to: a driver that begins
	// anew takes seconds. From then on it is looked for less often.
	reopenFirst = int64(time.Second)
	reopenLast  = int64(time.Minute)
	looksMax    = 10
)
