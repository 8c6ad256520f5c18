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
