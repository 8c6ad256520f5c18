//go:build ignore

// Input of generate.go: what of cshim/shared.h appears in this package, under which name.
package layout

// #include "shared.h"
// #include "node/serve.h"
import "C"

type (
	Barrier     C.node_barrier
	BarrierWord C.node_barrier_word
	Barriers    C.node_barrier_words
	Context     C.cshim_context
	Progress    C.cshim_progress
	Slot        C.node_slot
	RingControl C.node_ring_control
	SegmentHead C.node_segment_head
	Sender      C.node_sender
	Receiver    C.node_receiver
	TraceRecord C.cshim_trace_record
	TraceHead   C.cshim_trace_head
	NodePeer    C.node_peer
	NodeLink    C.node_link
	NodeOp      C.node_op
	NodeEvent   C.node_event
	NodeRoutes  C.node_routes
	RouteClass  C.node_route_class
	Stretch     C.node_stretch
	NodeArrival C.node_arrival
	Lane        C.cshim_lane
	Outbox      C.cshim_outbox
	Outboxes    C.cshim_outboxes
	AmSmall     C.cshim_am_header
	Chunks      C.node_chunks
	Place       C.node_place
	DatSlot     C.dat_slot
	DatLane     C.dat_lane
	DatName     C.dat_name
	DatOpen     C.dat_open
	DatTable    C.dat_table
	DatRing     C.dat_ring
	DatQueue    C.dat_queue
	DatCno      C.dat_cno
	DatRequest  C.dat_request
	DatReceive  C.dat_receive
	DatEnd      C.dat_end
	DatEp       C.dat_ep
	DatSrq      C.dat_srq
	DatSegment  C.dat_segment
	DatLocal    C.dat_local
	DatReceives C.dat_receives
	DatConfig   C.dat_end_config
	DatRoute    C.dat_end_route
	DatTx       C.dat_end_tx
	DatRx       C.dat_end_rx
	DatSpan     C.dat_span

	DatGroupConfig C.dat_group_config
	DatGroupOp     C.dat_group_op
	DatRailConfig  C.dat_rail_config
	DatRailMessage C.dat_rail_message
	DatRailGrant   C.dat_rail_grant
	DatRailState   C.dat_rail_state
	DatRailPost    C.dat_rail_post
	VerbsLink      C.verbs_link
	VerbsPort      C.verbs_port
	VerbsPeer      C.verbs_peer
	VerbsRing      C.verbs_ring
	VerbsSent      C.verbs_sent
	VerbsPair      C.verbs_pair
	VerbsChunk     C.verbs_chunk

	VerbsCompletion C.struct_cshim_ibv_completion
	VerbsBuffer     C.verbs_buffer
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

	SegmentMagic   = C.NODE_SEGMENT_MAGIC
	SegmentVersion = C.NODE_SEGMENT_VERSION
	MaxRings       = C.NODE_MAX_RINGS
	SlotSize       = C.NODE_SLOT_SIZE
	RingSlots      = C.NODE_RING_SLOTS
	MessageSlots   = C.NODE_MESSAGE_SLOTS
	Awake          = C.NODE_AWAKE
	Asleep         = C.NODE_ASLEEP
	Sleep          = C.NODE_SLEEP
	Closed         = C.NODE_CLOSED
	SequenceValid  = C.NODE_SEQUENCE_VALID
	HeaderUnit     = C.NODE_HEADER_UNIT
	KindPadding    = C.NODE_KIND_PADDING
	KindChunk      = C.NODE_KIND_CHUNK
	InlineMax      = C.NODE_INLINE_MAX
	ChunkUnit      = C.NODE_CHUNK_UNIT
	ChunkUnits     = C.NODE_CHUNK_UNITS
	ChunkLeast     = C.NODE_CHUNK_LEAST
	ChunkArea      = C.NODE_CHUNK_AREA
	ChunkAreaLeast = C.NODE_CHUNK_AREA_LEAST
	ChunkAreaRings = C.NODE_CHUNK_AREA_RINGS
	ChunkMax       = C.NODE_CHUNK_MAX
	ChunkClasses   = C.NODE_CHUNK_CLASSES
	ChunkPublish   = C.NODE_CHUNK_PUBLISH

	VerbsPorts     = C.VERBS_PORTS
	VerbsSlot      = C.VERBS_SLOT
	VerbsChunkOf   = C.VERBS_CHUNK
	VerbsChunks    = C.VERBS_CHUNKS
	VerbsBatch     = C.VERBS_BATCH
	VerbsBack      = C.VERBS_BACK
	VerbsPairs     = C.VERBS_PAIRS
	VerbsNews      = C.VERBS_NEWS
	VerbsRingOf    = C.VERBS_RING
	VerbsSignal    = C.VERBS_SIGNAL
	VerbsWindow    = C.VERBS_WINDOW
	VerbsHeaderMax = C.VERBS_HEADER_MAX
	VerbsAsks      = C.VERBS_ASKS
	VerbsIDSend    = C.VERBS_ID_SEND
	VerbsIDReceive = C.VERBS_ID_RECEIVE

	DatAreaShift    = C.DAT_AREA_SHIFT
	DatContextIndex = C.DAT_CONTEXT_INDEX
	DatTableNames   = C.DAT_TABLE_NAMES
	DatTableEnds    = C.DAT_TABLE_ENDS
	DatEpIdle       = C.DAT_EP_IDLE
	DatEpConnected  = C.DAT_EP_CONNECTED
	DatEpOver       = C.DAT_EP_OVER
	DatEpDatagrams  = C.DAT_EP_DATAGRAMS
	RcByUser        = C.RC_BY_USER
	RcByPeer        = C.RC_BY_PEER
	RcBroken        = C.RC_BROKEN
	RcTellEnd       = C.RC_TELL_END
	RcImmediate     = C.RC_IMMEDIATE
	RcInvalidate    = C.RC_INVALIDATE
	RcToRmr         = C.RC_TO_RMR

	DatGroupMost     = C.DAT_GROUP_MOST
	DatGroupChunks   = C.DAT_GROUP_CHUNKS
	DatGroupChunk    = C.DAT_GROUP_CHUNK
	DatGroupAll      = C.DAT_GROUP_ALL
	DatGroupQuiet    = C.DAT_GROUP_QUIET
	DatGroupSendList = C.DAT_GROUP_SEND_LIST
	DatGroupRecvList = C.DAT_GROUP_RECV_LIST
	DatRailData      = C.DAT_RAIL_DATA
	DatRailSlot      = C.DAT_RAIL_SLOT
	DatRailSlots     = C.DAT_RAIL_SLOTS
	DatRailPart      = C.DAT_RAIL_PART
	DatRailAsk       = C.DAT_RAIL_ASK
	DatRailWritten   = C.DAT_RAIL_WRITTEN
	DatRailSignaled  = C.DAT_RAIL_SIGNALED
	DatRailInline    = C.DAT_RAIL_INLINE
	DatRailStraight  = C.DAT_RAIL_STRAIGHT
	DatRailBroken    = C.DAT_RAIL_BROKEN
	DatRailRefused   = C.DAT_RAIL_REFUSED
	DatEngineNone    = C.DAT_ENGINE_NONE
	DatEngineNode    = C.DAT_ENGINE_NODE
	DatEnginePlan    = C.DAT_ENGINE_PLAN
	DatEngineRails   = C.DAT_ENGINE_RAILS
	DatRailMemSize   = C.sizeof_dat_rail_memory
	DatRankSlotSize  = C.sizeof_dat_rank_slot
	QueueWaiting     = C.DAT_QUEUE_WAITING
	QueueBlocked     = C.DAT_QUEUE_BLOCKED
	QueueUnwaitable  = C.DAT_QUEUE_UNWAITABLE
	QueueOverflowed  = C.DAT_QUEUE_OVERFLOWED
	QueueTransfers   = C.DAT_QUEUE_TRANSFERS
	QueueDTO         = C.DAT_QUEUE_DTO
	QueueSoftware    = C.DAT_QUEUE_SOFTWARE
	QueueDisabled    = C.DAT_QUEUE_DISABLED
	QueueSolicited   = C.DAT_QUEUE_SOLICITED

	ClosedLink  = C.NODE_CLOSED_LINK
	ClosedOwner = C.NODE_CLOSED_OWNER
	ClosedQueue = C.NODE_CLOSED_QUEUE

	NodeOps      = C.NODE_OPS
	NodeOpFree   = C.NODE_OP_FREE
	NodeOpGet    = C.NODE_OP_GET
	NodeOpRmw    = C.NODE_OP_RMW
	NodeOpPut    = C.NODE_OP_PUT
	NodeByOwner  = C.NODE_BY_OWNER
	NodeKindMax  = C.NODE_KIND_MAX
	NodeKindEnd  = C.NODE_KIND_END
	NodeCopyMax  = C.NODE_COPY_MAX
	LookAgainNs  = C.NODE_LOOK_AGAIN_NS
	NodeFault    = C.NODE_FAULT
	NodeFailed   = C.NODE_FAILED
	NodeStranded = C.NODE_STRANDED

	Routes         = C.NODE_ROUTES
	RoutePut       = C.NODE_ROUTE_PUT
	RouteGet       = C.NODE_ROUTE_GET
	RouteClasses   = C.NODE_ROUTE_CLASSES
	RouteLeastLog  = C.NODE_ROUTE_LEAST_LOG
	RoutePipeline  = C.NODE_ROUTE_PIPELINE
	RouteOrigin    = C.NODE_ROUTE_ORIGIN
	RouteTarget    = C.NODE_ROUTE_TARGET
	RouteHalves    = C.NODE_ROUTE_HALVES
	RouteWide      = C.NODE_ROUTE_WIDE
	RouteStreaming = C.NODE_ROUTE_STREAMING
	RouteString    = C.NODE_ROUTE_STRING

	PeerUsed     = C.CSHIM_PEER_USED
	PeerKind     = C.CSHIM_PEER_KIND
	PeerExpected = C.CSHIM_PEER_EXPECTED
	TagSeq       = C.CSHIM_TAG_SEQ

	PeerUsedUncounted = C.CSHIM_USED_UNCOUNTED

	LaneHandlers = C.CSHIM_LANE_HANDLERS
	OffLists     = C.CSHIM_OFF_LISTS
	OffTerm      = C.CSHIM_OFF_TERM

	MsgCounter = C.CSHIM_MSG_COUNTER
	MsgAmSmall = C.CSHIM_MSG_AM_SMALL
	MsgPut     = C.CSHIM_MSG_PUT

	AmPaddingShift = C.CSHIM_AM_PADDING_SHIFT

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

	TraceLinkShift = C.CSHIM_TRACE_LINK_SHIFT
	TraceBySelf    = C.CSHIM_TRACE_BY_SELF
	TraceByShm     = C.CSHIM_TRACE_BY_SHM
	TraceByUDP     = C.CSHIM_TRACE_BY_UDP
	TraceByRDMA    = C.CSHIM_TRACE_BY_RDMA
)
