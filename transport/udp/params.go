package udp

import (
	"time"

	"lapi/transport/udp/wire"
)

// Limits that the LAPI guide fixes or gives defaults for (Appendix D, LAPI_Qenv).
const (
	// MaxPacketsOut is how many packets to one peer may be in flight: LAPI_Qenv MAX_PKTS_OUT. A packet in this sense is what is handed to the
	// kernel at once: burstBytes, in as many datagrams as the packet size makes of it.
	MaxPacketsOut = 64
	// DefaultAckThreshold packets are received before a batch of acknowledgements goes back: MP_ACK_THRESH.
	DefaultAckThreshold = 30
	// MaxAckThreshold is the highest that LAPI_Senv ACK_THRESHOLD allows. It is below MaxPacketsOut/2, so that a sender with a
	// full window gets an acknowledgement before it must stop, of whatever size the packets are.
	MaxAckThreshold = 30
	// DefaultTimeout is how long a peer may be silent: LAPI_Senv TIMEOUT.
	DefaultTimeout = 900 * time.Second
	// DefaultPollingInterval is MP_POLLING_INTERVAL: the longest time between two runs of the acknowledge and retransmit logic.
	DefaultPollingInterval = 400 * time.Millisecond
	// DefaultRetransmitInterval is MP_RETRANSMIT_INTERVAL: the most calls of Progress between two such runs.
	DefaultRetransmitInterval = 1000000
	// DefaultRexmitBufCount and DefaultRexmitBufSize (bytes) are MP_REXMIT_BUF_CNT and MP_REXMIT_BUF_SIZE.
	DefaultRexmitBufCount = 128
	DefaultRexmitBufSize  = 16384
	// MinPacketSize is the least that MP_UDP_PACKET_SIZE allows, in bytes.
	MinPacketSize = 1024
)

// Our own choices.
const (
	// burstBytes is what the kernel takes at once, of one or of many datagrams.
	burstBytes = 1 << 16
	// maxFlying datagrams may be in flight to one peer, however small they are. Enough for 1.4 MiB in Ethernet's packets.
	maxFlying = 1024
	// seqWindow is how far the newest packet may be ahead of the oldest that is not acknowledged. It is larger than maxFlying
	// so that refused packets, which are not in flight, let others pass. A power of two, and a multiple of wire.BlockSpan.
	seqWindow = 2048
	// firstSeq is a session's first sequence number: so near the end that each longer session wraps around.
	firstSeq = wire.Seq(1<<32 - 100)
	// maxWaiting packets may wait for the window, a peer; maxWaitingUnmet before the peer has answered for the first time: peers that
	// never start must not take the packets that others need.
	maxWaiting      = 64
	maxWaitingUnmet = 16
	// A packet of less than shareBytes that others may join flies only if fewer than maxSharable do, or the owner finds nothing else to
	// do: else the next acknowledgement, which the last of these asks for, lets all go that has come together meanwhile.
	maxSharable = 1
	shareBytes  = headSize - 96
	// maxMessages may share a packet: what the receiver remembers of a packet accepted in part is one word.
	maxMessages = 64

	// headSize is the memory of a packet itself: headers, and small data. A page.
	headSize = 4096
	// maxHeader bounds Limits.HeaderMax; several headers must fit a head.
	maxHeader = 2048
	// minData bytes of data fit beside the longest header, in the smallest packet too. A multiple of 8.
	minData = 256
	// headChunk packets are allocated at a time, at most headsPerTask a task and maxHeads at all.
	headChunk    = 64
	headsPerTask = 256
	moreHeads    = maxFlying + maxWaiting
	maxHeads     = 32768
	rexChunk     = 8
	// Memory for packets that arrive in parts: wholeSize bytes each, of which only what is used is
	// touched, wholeChunk at a time, at most maxWholes. As many as a peer may have on its way: a
	// part that must wait for memory could hold up those that would free some.
	wholeSize  = 1 << 16
	wholeChunk = 8
	maxWholes  = 16 * seqWindow

	// ackDelay is how long a received packet may wait for company, or for data going the other way, before it is acknowledged.
	ackDelay = 200 * time.Microsecond
	// A packet without answer is sent again after minTimeout at the earliest: a peer that is descheduled looks like loss, and a superfluous
	// retransmission costs little. initialTimeout holds until the first round trip is known. Before the first of a row, after
	// tailTimeout at the earliest, the peer is asked what has arrived: the usual loss of a last packet is found that way.
	minTimeout     = 2 * time.Millisecond
	tailTimeout    = 300 * time.Microsecond
	initialTimeout = 10 * time.Millisecond
	maxTimeout     = time.Second
	turnTimeout    = 100 * time.Millisecond // with several paths
	// A packet counts as lost when one sent this many transmissions by the same path, or this much time and a quarter of a round trip, later
	// was acknowledged and it was not.
	reorderPackets = 3
	reorderTime    = 200 * time.Microsecond

	// Where packets sent again for that reason are found to have been late only, so much more time is allowed for, as RFC 8985 does: from lateLeast on, doubled
	// up to a round trip each time, and halved after each lateKeep without.
	lateLeast = 100 * time.Microsecond
	lateKeep  = time.Second

	// A refused packet is sent again after refuseDelay, doubled for each further refusal up to refuseDelayMax.
	refuseDelay    = 500 * time.Microsecond
	refuseDelayMax = 20 * time.Millisecond

	// Handshake: a Hello is repeated after helloDelay, doubled up to helloDelayMax; answers to packets of no session are at least
	// helloDelay apart.
	helloDelay    = time.Millisecond
	helloDelayMax = 100 * time.Millisecond

	// Leaving: Bye is sent byeCount times, byeDelay apart, doubled each time, until the peer answers.
	byeCount = 5
	byeDelay = 2 * time.Millisecond

	// Packet sizes. The kernel is asked what it has heard of a path when a long packet was lost, at most every askGap. After blackHoleRounds rounds
	// with lost long packets and none that arrived a path gets shorter ones only. Longer ones are tried after raiseLeast, then after twice as long, up to
	// raiseMost.
	askGap          = 5 * time.Millisecond
	blackHoleRounds = 3
	// lonelySends: a packet that went so often without arriving may be too long, if the paths that it went by answer what went before it.
	lonelySends = 8
	raiseLeast  = 10 * time.Millisecond
	raiseMost   = 30 * time.Second

	// fullDelay is when to try again after the socket took no more.
	fullDelay = time.Millisecond

	// Paths. One that does not answer while others do is left, and dead when it has not answered for deadAfter. A dead one is used again
	// after recoverAnswers probes in a row were answered, probeGap apart; after twice as many, up to mostAnswers, each time that it died again within flapTime.
	deadAfter      = 500 * time.Millisecond
	recoverAnswers = 3
	mostAnswers    = 48
	probeGap       = 20 * time.Millisecond
	flapTime       = 10 * time.Second
	// While a session is used, a path that has not answered for idleProbe is probed, probeGap apart, doubled up to idleProbe while there is no answer.
	// measureGap is in its place while something long is on its way, which gains by each path.
	idleProbe  = 400 * time.Millisecond
	measureGap = 10 * time.Millisecond
	// enoughMisses: so many questions in a row that a path did not answer, while another did, are not the peer's fault.
	enoughMisses = 3
	// mostUnheard timers in a row that run out while packets wait at the sockets are put off.
	mostUnheard = 64

	// timeoutTries: so often in a row a peer was asked before it has failed, whatever the clock says.
	timeoutTries = 3
	// longSilence retransmissions in a row close the window.
	longSilence = 5

	// packetOverhead is what a packet costs a receive buffer beyond its bytes, about.
	packetOverhead = 512
	// The byte window of a path begins at firstPackets or firstBytes, whichever is more, at most the peer's receive buffer divided by firstShare, and
	// never exceeds what the peer says: the buffer divided by the number of origins that have sent to it lately, at least mostShare. The kernel
	// counts its bookkeeping too, and allows for it: it takes twice as much.
	firstPackets = 4
	firstBytes   = 1 << 16
	firstShare   = 8
	mostShare    = 1
	// originsTime is how long "lately" is.
	originsTime = 10 * time.Millisecond
	// A window that shrinks leaves room for what the path delivers in its shortest round trip and slackTime, which stands for the time that
	// acknowledgements wait for company and tasks for processors.
	slackTime = 400 * time.Microsecond
	// queueTime more than the shortest round trip, and a quarter of it, are no queue.
	queueTime = 50 * time.Microsecond
	// shortestTime is how long the shortest round trip is believed without being met again.
	shortestTime = 10 * time.Second
	// leastRound is the shortest time over which a rate is measured.
	leastRound = 50 * time.Microsecond
	// stripeBytes: shorter packets whose data was copied stay on the path that is fastest for them.
	stripeBytes = 1024
)
