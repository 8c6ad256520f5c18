package verbs

import (
	"time"

	"lapi/transport/verbs/internal/bulk"
	"lapi/transport/verbs/internal/window"
)

// Sizes, in bytes.
const (
	// bulkMin is the length from which puts and gets are RDMA: then the three packets for the
	// key cost less than copies.
	bulkMin = 16 << 10
	// keyMax is the memory that one key gives access to, and so the most that is registered at
	// a time: a longer transfer goes on with another (guide, Chapter 13).
	keyMax = 32 << 20
)

// Of each connected peer.
const (
	// spare receive buffers are for packets that only grant credits, which need none: a peer
	// sends no third while two of them wait, as each stands for half a window.
	spare = 2
	// depth of a queue pair: all of the above. Adapters take powers of two; each request of one
	// costs 64 to 128 bytes of this task's memory.
	depth = window.RingSize + bulk.PiecesMax
	// flushesMax is how many flushes may be under way, of either side.
	flushesMax = 64
	// failuresMax is how many queue pairs may fail one after the other with nothing sent or
	// received.
	failuresMax = 5
)

// Of a link; less where the adapter has less.
const (
	// eventsEach is after how many turns the adapters are asked for events.
	eventsEach = 1024
)

// Times, in nanoseconds.
const (
	// probeEach is how often a peer that an answer is awaited of is sent a packet: its adapter
	// may have taken the question, and its process ended before it could answer.
	probeEach = int64(time.Second)
	// defaultTimeout is how long a peer may leave Hellos unanswered.
	defaultTimeout = int64(150 * time.Second)
	// lingerMax bounds Close.
	lingerMax = int64(70 * time.Millisecond)
)
