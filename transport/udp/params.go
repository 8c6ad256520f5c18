package udp

import (
	"time"

	"lapi/transport/udp/internal/packet"
	"lapi/transport/udp/internal/recovery"
	"lapi/transport/udp/wire"
)

// Limits that the LAPI guide fixes or gives defaults for (Appendix D, LAPI_Qenv).
const (
	// MaxPacketsOut is how many packets to one peer may be in flight: LAPI_Qenv MAX_PKTS_OUT. A
	// packet in this sense is the data handed to the kernel at once: burstBytes, in as many
	// datagrams as the packet size makes of it.
	MaxPacketsOut = 64
	// ShortData is up to how many bytes of data a message waits for others in its packet.
	ShortData = packet.Short
	// DefaultAckThreshold packets are received before a batch of acknowledgements goes back:
	// MP_ACK_THRESH.
	DefaultAckThreshold = 30
	// MaxAckThreshold is the highest that LAPI_Senv ACK_THRESHOLD allows. It is below
	// MaxPacketsOut/2, so that a sender with a full window gets an acknowledgement before it
	// must stop, of whatever size the packets are.
	MaxAckThreshold = 30
	// DefaultTimeout is how long a peer may be silent: LAPI_Senv TIMEOUT.
	DefaultTimeout = 900 * time.Second
	// DefaultPollingInterval is MP_POLLING_INTERVAL: the longest time between two runs of the
	// acknowledge and retransmit logic.
	DefaultPollingInterval = 400 * time.Millisecond
	// DefaultRetransmitInterval is MP_RETRANSMIT_INTERVAL: the most calls of Progress between
	// two such runs.
	DefaultRetransmitInterval = 1000000
	// DefaultRexmitBufCount and DefaultRexmitBufSize (bytes) are MP_REXMIT_BUF_CNT and
	// MP_REXMIT_BUF_SIZE.
	DefaultRexmitBufCount = 128
	DefaultRexmitBufSize  = 16384
	// MinPacketSize is the least that MP_UDP_PACKET_SIZE allows, in bytes.
	MinPacketSize = 1024
)

// Our own choices. Those of one mechanism stand beside it, in the packages of internal.
const (
	// burstBytes is how much the kernel takes at once, in one or in many datagrams.
	burstBytes = 1 << 16
	// mostPackets may be in flight to one peer, however small they are. Enough for 1.4 MiB in
	// Ethernet's packets.
	mostPackets = 1024
	// firstSeq is a session's first sequence number: so near the end that each longer session
	// wraps around.
	firstSeq = wire.Seq(1<<32 - 100)
	// maxWaiting packets may wait for the window, a peer; maxWaitingIdle before the peer has
	// answered for the first time: peers that never start must not take the packets that others
	// need.
	maxWaiting     = 64
	maxWaitingIdle = 16
	// maxSmall: an open packet, which other messages may join, is sent only if fewer than
	// maxSmall are in flight, or the owner finds nothing else to do. Else the next
	// acknowledgement, which the last of these asks for, lets all go that has come together
	// meanwhile.
	maxSmall = 1
	// maxMessages may share a packet.
	maxMessages = packet.MaxMessages

	// maxHeader bounds Limits.HeaderMax; several headers must fit a head.
	maxHeader = 2048
	// minData bytes of data fit beside the longest header, in the smallest packet too. A
	// multiple of 8.
	minData = 256
	// headChunk packets are allocated at a time, at most headsPerTask a task and maxHeads at
	// all.
	headChunk    = 64
	headsPerTask = 256
	moreHeads    = mostPackets + maxWaiting
	maxHeads     = 32768
	rexChunk     = 8
	// Memory for packets that arrive in parts: wholeSize bytes each, of which only the used
	// part is touched, wholeChunk at a time, at most maxWholes. As many as a peer may have on
	// its way: a part that must wait for memory could hold up those that would free some.
	wholeSize  = 1 << 16
	wholeChunk = 8
	maxWholes  = 16 * recovery.Numbers

	// Handshake: a Hello is repeated after helloDelay, doubled up to helloDelayMax; answers to
	// packets of no session are at least helloDelay apart.
	helloDelay    = time.Millisecond
	helloDelayMax = 100 * time.Millisecond

	// Leaving: the close notice is sent closeCount times, closeDelay apart, doubled each time,
	// until the peer answers.
	closeCount = 5
	closeDelay = 2 * time.Millisecond

	// Packet sizes. The kernel is asked for a path's MTU when a long packet was lost, at most
	// every askGap. After blackHoleRounds rounds in which long packets were lost and none
	// arrived, a path gets shorter ones only. Longer ones are tried after raiseLeast, then
	// after twice as long, up to raiseMost.
	askGap          = 5 * time.Millisecond
	blackHoleRounds = 3
	raiseLeast      = 10 * time.Millisecond
	raiseMost       = 30 * time.Second
	// lonelySends: a packet that went so often without arriving may be too long, if the paths
	// that it went by answer what went before it.
	lonelySends = 8

	// fullDelay is when to try again after the socket took no more.
	fullDelay = time.Millisecond
	// mostUnheard timers in a row that run out while packets wait at the sockets are put off.
	mostUnheard = 64
	// timeoutTries: so often in a row a peer was asked before it has failed, whatever the clock
	// says.
	timeoutTries = 3
	// expectTimes in TIMEOUT a peer is asked for a sign of life that the owner waits for.
	expectTimes = 8
	// longSilence retransmissions in a row close the window.
	longSilence = 5
)
