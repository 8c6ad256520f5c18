package job

import (
	"lapi/core/job/adapters"
	"lapi/core/job/wire"
)

// LAPI return codes that environment variables can lead to; abi/lapi.md and the guide's Table 35
// fix their numbers.
const (
	codeUnknown       = 400 // LAPI_ERR_UNKNOWN
	codeBothNetstrSet = 402 // LAPI_ERR_BOTH_NETSTR_SET
	codeCSSLoadFailed = 404 // LAPI_ERR_CSS_LOAD_FAILED
	codeMsgAPI        = 406 // LAPI_ERR_MSG_API
	codeNoNetstrSet   = 407 // LAPI_ERR_NO_NETSTR_SET
	codeUDPPktSz      = 415 // LAPI_ERR_UDP_PKT_SZ
	codeSHMSetup      = 439 // LAPI_ERR_SHM_SETUP
	codeNoEnvVar      = 510 // LAPI_ERR_NO_ENV_VAR
)

// Limits and defaults of environment variables: the guide's Appendix D and F, and abi/lapi.md where
// the guide contradicts itself.
const (
	maxTasks = wire.MaxTasks

	minUDPPacketSize = adapters.MinPacketSize
	maxUDPPacketSize = adapters.MaxPacketSize

	maxAckThreshold          = 31 // accepted; acts as 30, the limit of LAPI_Senv
	effectiveAckThreshold    = 30
	defaultAckThreshold      = 30
	minPollingMicros         = 10001 // "greater than 10000"
	defaultPollingMicros     = 400000
	minRetransmitInterval    = 1000
	defaultRetransmitLoops   = 1000000
	defaultRexmitBufCount    = 128
	defaultRexmitBufSize     = 16384
	minSendQueue             = 64 // KiB
	maxSendQueue             = 1 << 20
	defaultSendQueue         = 4 << 10
	maxInfoLevel             = 6
	maxTraceLevel            = 5
	maxTraceSize             = 1024 // MiB
	minBulkMin               = 4096
	defaultBulkMin           = 150 * 1024
	defaultRegistrationLimit = 1 << 30
	defaultTraceSize         = 32 // MiB: half a million records
	// LAPI instances of a process, and network instances of MP_LAPI_INET_ADDR
	maxInstances = wire.MaxInstances
)

// MaxAdapters is how many instances of MP_LAPI_INET_ADDR count; further ones are ignored.
const MaxAdapters = adapters.Max

// LauncherVariable leads a task to its launcher: "fd:inode", the number of an inherited socket and
// the inode that fstat must show for it, so that a process which inherits the variable but not the
// socket cannot mistake another descriptor for it.
const LauncherVariable = "LAPI_LAUNCHER_FD"

// authVariable chooses how packets prove where they come from.
const authVariable = "LAPI_AUTH"

// KeyFileVariable names the file with the job key of tasks started by hand.
const KeyFileVariable = "LAPI_JOB_KEY_FILE"
