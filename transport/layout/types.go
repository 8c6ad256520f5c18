//go:build ignore

// Input of generate.go: what of cshim/shared.h appears in this package, under which name.
package layout

// #include "../../cshim/shared.h"
import "C"

type (
	Barrier     C.cshim_barrier
	BarrierWord C.cshim_barrier_word
	Barriers    C.cshim_barrier_words
	Context     C.cshim_context
	Progress    C.cshim_progress
	Slot        C.cshim_slot
	RingControl C.cshim_ring_control
	SegmentHead C.cshim_segment_head
	Sender      C.cshim_sender
	Receiver    C.cshim_receiver
	TraceRecord C.cshim_trace_record
	TraceHead   C.cshim_trace_head
	Path        C.cshim_path
	Paths       C.cshim_paths
	Lane        C.cshim_lane
	LaneOp      C.cshim_lane_op
	Outbox      C.cshim_outbox
	Outboxes    C.cshim_outboxes
	AmSmall     C.cshim_am_header
	LaneGet     C.cshim_get_header
	LaneRmw     C.cshim_rmw_header
	LaneReply   C.cshim_reply_header
	PutPart     C.cshim_part_header
	Chunks      C.cshim_chunks
	Place       C.cshim_place
)

const (
	MaxContexts    = C.CSHIM_MAX_CONTEXTS
	MaxDescriptors = C.CSHIM_MAX_DESCRIPTORS

	Free         = C.CSHIM_FREE
	Initializing = C.CSHIM_INITIALIZING
	Active       = C.CSHIM_ACTIVE
	Terminating  = C.CSHIM_TERMINATING

	ProgressTicket = C.CSHIM_PROGRESS_TICKET
	ProgressMade   = C.CSHIM_PROGRESS_MADE
	ProgressError  = C.CSHIM_PROGRESS_ERROR

	SegmentMagic   = C.CSHIM_SEGMENT_MAGIC
	SegmentVersion = C.CSHIM_SEGMENT_VERSION
	MaxRings       = C.CSHIM_MAX_RINGS
	SlotSize       = C.CSHIM_SLOT_SIZE
	RingSlots      = C.CSHIM_RING_SLOTS
	MessageSlots   = C.CSHIM_MESSAGE_SLOTS
	Page           = C.CSHIM_PAGE
	Awake          = C.CSHIM_AWAKE
	Asleep         = C.CSHIM_ASLEEP
	Sleep          = C.CSHIM_SLEEP
	Closed         = C.CSHIM_CLOSED
	SequenceValid  = C.CSHIM_SEQUENCE_VALID
	HeaderUnit     = C.CSHIM_HEADER_UNIT
	KindPadding    = C.CSHIM_KIND_PADDING
	KindChunk      = C.CSHIM_KIND_CHUNK
	InlineMax      = C.CSHIM_INLINE_MAX
	ChunkUnit      = C.CSHIM_CHUNK_UNIT
	ChunkUnits     = C.CSHIM_CHUNK_UNITS
	ChunkArea      = C.CSHIM_CHUNK_AREA
	ChunkAreaLeast = C.CSHIM_CHUNK_AREA_LEAST
	ChunkAreaRings = C.CSHIM_CHUNK_AREA_RINGS
	ChunkMax       = C.CSHIM_CHUNK_MAX
	ChunkClasses   = C.CSHIM_CHUNK_CLASSES
	ChunkPublish   = C.CSHIM_CHUNK_PUBLISH

	ClosedLink = C.CSHIM_CLOSED_LINK
	ClosedCore = C.CSHIM_CLOSED_CORE

	LaneHandlers = C.CSHIM_LANE_HANDLERS
	LaneOps      = C.CSHIM_LANE_OPS
	OffLists     = C.CSHIM_OFF_LISTS
	OffTerm      = C.CSHIM_OFF_TERM
	OpFree       = C.CSHIM_OP_FREE
	OpGet        = C.CSHIM_OP_GET
	OpRmw        = C.CSHIM_OP_RMW

	MsgPut       = C.CSHIM_MSG_PUT
	MsgCounter   = C.CSHIM_MSG_COUNTER
	MsgAmSmall   = C.CSHIM_MSG_AM_SMALL
	MsgLaneGet   = C.CSHIM_MSG_LANE_GET
	MsgLaneRmw   = C.CSHIM_MSG_LANE_RMW
	MsgLaneReply = C.CSHIM_MSG_LANE_REPLY
	MsgPutPart   = C.CSHIM_MSG_PUT_PART
	MsgPutLast   = C.CSHIM_MSG_PUT_LAST

	AmPaddingShift = C.CSHIM_AM_PADDING_SHIFT
	ReplyOK        = C.CSHIM_REPLY_OK
	ReplyFailed    = C.CSHIM_REPLY_FAILED
	ReplyPart      = C.CSHIM_REPLY_PART
	PartFirst      = C.CSHIM_PART_FIRST
	PartHuge       = C.CSHIM_PART_HUGE
	HugeMin        = C.CSHIM_HUGE_MIN

	TraceMagic   = C.CSHIM_TRACE_MAGIC
	TraceVersion = C.CSHIM_TRACE_VERSION

	TraceCalls      = C.CSHIM_TRACE_CALLS
	TraceMessages   = C.CSHIM_TRACE_MESSAGES
	TraceHandlers   = C.CSHIM_TRACE_HANDLERS
	TracePackets    = C.CSHIM_TRACE_PACKETS
	TraceDispatcher = C.CSHIM_TRACE_DISPATCHER

	TraceBegin    = C.CSHIM_TRACE_BEGIN
	TraceEnd      = C.CSHIM_TRACE_END
	TraceInstant  = C.CSHIM_TRACE_INSTANT
	TraceComplete = C.CSHIM_TRACE_COMPLETE
	TraceSent     = C.CSHIM_TRACE_SENT
	TraceReceived = C.CSHIM_TRACE_RECEIVED

	TraceCall    = C.CSHIM_TRACE_CALL
	TraceMessage = C.CSHIM_TRACE_MESSAGE
	TraceHandler = C.CSHIM_TRACE_HANDLER
	TraceWait    = C.CSHIM_TRACE_WAIT
	TracePacket  = C.CSHIM_TRACE_PACKET
	TraceTurn    = C.CSHIM_TRACE_TURN
	TraceError   = C.CSHIM_TRACE_ERROR
	TraceCounter = C.CSHIM_TRACE_COUNTER
)
