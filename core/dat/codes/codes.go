// Package codes is the results of uDAPL's calls: their numbers, and their names for dat_strerror.
// include/dat2/dat_error.h says what each means.
package codes

// Return is the result of a call: class, type and subtype (DAT_RETURN).
type Return uint32

// Success is the result of a call that did what it was asked.
const Success Return = 0

const (
	classError  = 0x80000000
	typeMask    = 0x3fff0000
	subtypeMask = 0x0000ffff
)

// Type is what kind of failure it is (DAT_RETURN_TYPE). By itself it is also a Return, without
// class, which a few calls answer with.
type Type uint32

// The types.
const (
	Abort                     Type = 0x010000
	ConnQualInUse             Type = 0x020000
	InsufficientResources     Type = 0x030000
	InternalError             Type = 0x040000
	InvalidHandle             Type = 0x050000
	InvalidParameter          Type = 0x060000
	InvalidState              Type = 0x070000
	LengthError               Type = 0x080000
	ModelNotSupported         Type = 0x090000
	ProviderNotFound          Type = 0x0a0000
	PrivilegesViolation       Type = 0x0b0000
	ProtectionViolation       Type = 0x0c0000
	QueueEmpty                Type = 0x0d0000
	QueueFull                 Type = 0x0e0000
	TimeoutExpired            Type = 0x0f0000
	ProviderAlreadyRegistered Type = 0x100000
	ProviderInUse             Type = 0x110000
	InvalidAddress            Type = 0x120000
	InterruptedCall           Type = 0x130000
	ConnQualUnavailable       Type = 0x140000
	ReservedLMR               Type = 0x150000
	PortInUse                 Type = 0x160000
	CommNotSupported          Type = 0x170000
	ExtensionBase             Type = 0x10000000
	NotImplemented            Type = 0x3fff0000
)

// Subtype says more: which argument, handle, state or resource (DAT_RETURN_SUBTYPE).
type Subtype uint32

// The subtypes.
const (
	NoSubtype Subtype = iota
	SubInterrupted
	ResourceMemory
	ResourceDevice
	ResourceTEP
	ResourceTEVD
	ResourceProtectionDomain
	ResourceMemoryRegion
	ResourceErrorHandler
	ResourceCredits
	ResourceSRQ
	InvalidHandleIA
	InvalidHandleEP
	InvalidHandleLMR
	InvalidHandleRMR
	InvalidHandlePZ
	InvalidHandlePSP
	InvalidHandleRSP
	InvalidHandleCR
	InvalidHandleCNO
	InvalidHandleEVDCR
	InvalidHandleEVDRequest
	InvalidHandleEVDRecv
	InvalidHandleEVDConn
	InvalidHandleEVDAsync
	InvalidHandleSRQ
	InvalidHandleCSP
	InvalidHandle1
	InvalidHandle2
	InvalidHandle3
	InvalidHandle4
	InvalidHandle5
	InvalidHandle6
	InvalidHandle7
	InvalidHandle8
	InvalidHandle9
	InvalidHandle10
	InvalidArg1
	InvalidArg2
	InvalidArg3
	InvalidArg4
	InvalidArg5
	InvalidArg6
	InvalidArg7
	InvalidArg8
	InvalidArg9
	InvalidArg10
	InvalidStateEPUnconnected
	InvalidStateEPActconnpending
	InvalidStateEPPassconnpending
	InvalidStateEPTentconnpending
	InvalidStateEPConnected
	InvalidStateEPDisconnected
	InvalidStateEPReserved
	InvalidStateEPComplpending
	InvalidStateEPDiscpending
	InvalidStateEPProvidercontrol
	InvalidStateEPNotready
	InvalidStateEPRecvWatermark
	InvalidStateEPPZ
	InvalidStateEPEVDRequest
	InvalidStateEPEVDRecv
	InvalidStateEPEVDConnect
	InvalidStateEPUnconfigured
	InvalidStateEPUnconfreserved
	InvalidStateEPUnconfpassive
	InvalidStateEPUnconftentative
	InvalidStateCNOInUse
	InvalidStateCNODead
	InvalidStateEVDOpen
	InvalidStateEVDEnabled
	InvalidStateEVDDisabled
	InvalidStateEVDWaitable
	InvalidStateEVDUnwaitable
	InvalidStateEVDInUse
	InvalidStateEVDConfigNotify
	InvalidStateEVDConfigSolicited
	InvalidStateEVDConfigThreshold
	InvalidStateEVDWaiter
	InvalidStateEVDAsync
	InvalidStateIAInUse
	InvalidStateLMRInUse
	InvalidStateLMRFree
	InvalidStatePZInUse
	InvalidStatePZFree
	InvalidStateSRQOperational
	InvalidStateSRQError
	InvalidStateSRQInUse
	InvalidStateSRQShutdown
	PrivilegesRead
	PrivilegesWrite
	PrivilegesRDMARead
	PrivilegesRDMAWrite
	ProtectionRead
	ProtectionWrite
	ProtectionRDMARead
	ProtectionRDMAWrite
	InvalidAddressUnsupported
	InvalidAddressUnreachable
	InvalidAddressMalformed
	NameNotRegistered
	MajorNotFound
	MinorNotFound
	ThreadSafetyNotFound
)

// With is a failure of that type, and why.
func (t Type) With(s Subtype) Return { return Return(classError | uint32(t) | uint32(s)) }

// Raw is the type without class.
func (t Type) Raw() Return { return Return(t) }

// Type is the type of a result.
func (r Return) Type() Type { return Type(r & typeMask) }

// Subtype is its subtype.
func (r Return) Subtype() Subtype { return Subtype(r & subtypeMask) }

// Arg is DAT_INVALID_PARAMETER of the argument with that number, from 1.
func Arg(n int) Return { return InvalidParameter.With(InvalidArg1 + Subtype(n-1)) }

// BadHandle is DAT_INVALID_HANDLE, of something that should have been of that kind.
func BadHandle(s Subtype) Return { return InvalidHandle.With(s) }

// Strings are the names of a result for dat_strerror. What has none is said to be unknown, and
// known is false.
func Strings(r Return) (major, minor string, known bool) {
	major, known = typeNames[r.Type()]
	if !known {
		return "unknown error", "", false
	}
	if s := int(r.Subtype()); s < len(subtypeNames) {
		return major, subtypeNames[s], true
	}
	return major, "unknown minor error", false
}

var typeNames = map[Type]string{
	0:                         "DAT_SUCCESS",
	Abort:                     "DAT_ABORT",
	ConnQualInUse:             "DAT_CONN_QUAL_IN_USE",
	InsufficientResources:     "DAT_INSUFFICIENT_RESOURCES",
	InternalError:             "DAT_INTERNAL_ERROR",
	InvalidHandle:             "DAT_INVALID_HANDLE",
	InvalidParameter:          "DAT_INVALID_PARAMETER",
	InvalidState:              "DAT_INVALID_STATE",
	LengthError:               "DAT_LENGTH_ERROR",
	ModelNotSupported:         "DAT_MODEL_NOT_SUPPORTED",
	ProviderNotFound:          "DAT_PROVIDER_NOT_FOUND",
	PrivilegesViolation:       "DAT_PRIVILEGES_VIOLATION",
	ProtectionViolation:       "DAT_PROTECTION_VIOLATION",
	QueueEmpty:                "DAT_QUEUE_EMPTY",
	QueueFull:                 "DAT_QUEUE_FULL",
	TimeoutExpired:            "DAT_TIMEOUT_EXPIRED",
	ProviderAlreadyRegistered: "DAT_PROVIDER_ALREADY_REGISTERED",
	ProviderInUse:             "DAT_PROVIDER_IN_USE",
	InvalidAddress:            "DAT_INVALID_ADDRESS",
	InterruptedCall:           "DAT_INTERRUPTED_CALL",
	ConnQualUnavailable:       "DAT_CONN_QUAL_UNAVAILABLE",
	ReservedLMR:               "DAT_RESERVED_LMR",
	PortInUse:                 "DAT_PORT_IN_USE",
	CommNotSupported:          "DAT_COMM_NOT_SUPPORTED",
	ExtensionBase:             "DAT_EXTENSION_BASE",
	NotImplemented:            "DAT_NOT_IMPLEMENTED",
}

var subtypeNames = [...]string{
	"",
	"DAT_SUB_INTERRUPTED",
	"DAT_RESOURCE_MEMORY",
	"DAT_RESOURCE_DEVICE",
	"DAT_RESOURCE_TEP",
	"DAT_RESOURCE_TEVD",
	"DAT_RESOURCE_PROTECTION_DOMAIN",
	"DAT_RESOURCE_MEMORY_REGION",
	"DAT_RESOURCE_ERROR_HANDLER",
	"DAT_RESOURCE_CREDITS",
	"DAT_RESOURCE_SRQ",
	"DAT_INVALID_HANDLE_IA",
	"DAT_INVALID_HANDLE_EP",
	"DAT_INVALID_HANDLE_LMR",
	"DAT_INVALID_HANDLE_RMR",
	"DAT_INVALID_HANDLE_PZ",
	"DAT_INVALID_HANDLE_PSP",
	"DAT_INVALID_HANDLE_RSP",
	"DAT_INVALID_HANDLE_CR",
	"DAT_INVALID_HANDLE_CNO",
	"DAT_INVALID_HANDLE_EVD_CR",
	"DAT_INVALID_HANDLE_EVD_REQUEST",
	"DAT_INVALID_HANDLE_EVD_RECV",
	"DAT_INVALID_HANDLE_EVD_CONN",
	"DAT_INVALID_HANDLE_EVD_ASYNC",
	"DAT_INVALID_HANDLE_SRQ",
	"DAT_INVALID_HANDLE_CSP",
	"DAT_INVALID_HANDLE1",
	"DAT_INVALID_HANDLE2",
	"DAT_INVALID_HANDLE3",
	"DAT_INVALID_HANDLE4",
	"DAT_INVALID_HANDLE5",
	"DAT_INVALID_HANDLE6",
	"DAT_INVALID_HANDLE7",
	"DAT_INVALID_HANDLE8",
	"DAT_INVALID_HANDLE9",
	"DAT_INVALID_HANDLE10",
	"DAT_INVALID_ARG1",
	"DAT_INVALID_ARG2",
	"DAT_INVALID_ARG3",
	"DAT_INVALID_ARG4",
	"DAT_INVALID_ARG5",
	"DAT_INVALID_ARG6",
	"DAT_INVALID_ARG7",
	"DAT_INVALID_ARG8",
	"DAT_INVALID_ARG9",
	"DAT_INVALID_ARG10",
	"DAT_INVALID_STATE_EP_UNCONNECTED",
	"DAT_INVALID_STATE_EP_ACTCONNPENDING",
	"DAT_INVALID_STATE_EP_PASSCONNPENDING",
	"DAT_INVALID_STATE_EP_TENTCONNPENDING",
	"DAT_INVALID_STATE_EP_CONNECTED",
	"DAT_INVALID_STATE_EP_DISCONNECTED",
	"DAT_INVALID_STATE_EP_RESERVED",
	"DAT_INVALID_STATE_EP_COMPLPENDING",
	"DAT_INVALID_STATE_EP_DISCPENDING",
	"DAT_INVALID_STATE_EP_PROVIDERCONTROL",
	"DAT_INVALID_STATE_EP_NOTREADY",
	"DAT_INVALID_STATE_EP_RECV_WATERMARK",
	"DAT_INVALID_STATE_EP_PZ",
	"DAT_INVALID_STATE_EP_EVD_REQUEST",
	"DAT_INVALID_STATE_EP_EVD_RECV",
	"DAT_INVALID_STATE_EP_EVD_CONNECT",
	"DAT_INVALID_STATE_EP_UNCONFIGURED",
	"DAT_INVALID_STATE_EP_UNCONFRESERVED",
	"DAT_INVALID_STATE_EP_UNCONFPASSIVE",
	"DAT_INVALID_STATE_EP_UNCONFTENTATIVE",
	"DAT_INVALID_STATE_CNO_IN_USE",
	"DAT_INVALID_STATE_CNO_DEAD",
	"DAT_INVALID_STATE_EVD_OPEN",
	"DAT_INVALID_STATE_EVD_ENABLED",
	"DAT_INVALID_STATE_EVD_DISABLED",
	"DAT_INVALID_STATE_EVD_WAITABLE",
	"DAT_INVALID_STATE_EVD_UNWAITABLE",
	"DAT_INVALID_STATE_EVD_IN_USE",
	"DAT_INVALID_STATE_EVD_CONFIG_NOTIFY",
	"DAT_INVALID_STATE_EVD_CONFIG_SOLICITED",
	"DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD",
	"DAT_INVALID_STATE_EVD_WAITER",
	"DAT_INVALID_STATE_EVD_ASYNC",
	"DAT_INVALID_STATE_IA_IN_USE",
	"DAT_INVALID_STATE_LMR_IN_USE",
	"DAT_INVALID_STATE_LMR_FREE",
	"DAT_INVALID_STATE_PZ_IN_USE",
	"DAT_INVALID_STATE_PZ_FREE",
	"DAT_INVALID_STATE_SRQ_OPERATIONAL",
	"DAT_INVALID_STATE_SRQ_ERROR",
	"DAT_INVALID_STATE_SRQ_IN_USE",
	"DAT_INVALID_STATE_SRQ_SHUTDOWN",
	"DAT_PRIVILEGES_READ",
	"DAT_PRIVILEGES_WRITE",
	"DAT_PRIVILEGES_RDMA_READ",
	"DAT_PRIVILEGES_RDMA_WRITE",
	"DAT_PROTECTION_READ",
	"DAT_PROTECTION_WRITE",
	"DAT_PROTECTION_RDMA_READ",
	"DAT_PROTECTION_RDMA_WRITE",
	"DAT_INVALID_ADDRESS_UNSUPPORTED",
	"DAT_INVALID_ADDRESS_UNREACHABLE",
	"DAT_INVALID_ADDRESS_MALFORMED",
	"DAT_NAME_NOT_REGISTERED",
	"DAT_MAJOR_NOT_FOUND",
	"DAT_MINOR_NOT_FOUND",
	"DAT_THREAD_SAFETY_NOT_FOUND",
}
