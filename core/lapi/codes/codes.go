// Package codes holds LAPI's return and attention codes: their numbers, C names and English
// messages. It has no state and is safe for concurrent use.
//
//	codes.go    the numbers
//	errtype.go  lapi_err_t: which kind of operation an error concerns
//	texts.go    names and messages
//	lookup.go   from a number to name and message; the operating system's errors
package codes

// Code is a LAPI return code, or an attention code, which numbers a message of the library. The
// zero value is Success.
type Code int32

// Numbers outside the range of codes are errno values or unknown.
const (
	First = ErrUnknown     // LAPI_ERR_FIRSTCODE
	Last  = ErrCodeUnknown // LAPI_ERR_LASTCODE
)

// The codes by number. A constant is named after its C name, which Name gives, and String gives its
// meaning. docs/return-codes.md says which calls return each.
const (
	Success                 Code = 0   // LAPI_SUCCESS
	ErrUnknown              Code = 400 // LAPI_ERR_UNKNOWN
	ErrAllHndlInUse         Code = 401 // LAPI_ERR_ALL_HNDL_IN_USE
	ErrBothNetstrSet        Code = 402 // LAPI_ERR_BOTH_NETSTR_SET
	ErrCkptLoadFailed       Code = 403 // LAPI_ERR_CKPT_LOAD_FAILED
	ErrCssLoadFailed        Code = 404 // LAPI_ERR_CSS_LOAD_FAILED
	ErrInfoNull             Code = 405 // LAPI_ERR_INFO_NULL
	ErrMsgAPI               Code = 406 // LAPI_ERR_MSG_API
	ErrNoNetstrSet          Code = 407 // LAPI_ERR_NO_NETSTR_SET
	ErrNoUDPHndlr           Code = 408 // LAPI_ERR_NO_UDP_HNDLR
	ErrHdrHndlrNull         Code = 409 // LAPI_ERR_HDR_HNDLR_NULL
	ErrPSSNonRoot           Code = 410 // LAPI_ERR_PSS_NON_ROOT
	WarnParmNull            Code = 411 // LAPI_WARN_PARM_NULL
	ErrShmKeNotLoaded       Code = 412 // LAPI_ERR_SHM_KE_NOT_LOADED
	ErrTimeout              Code = 413 // LAPI_ERR_TIMEOUT
	ErrRegTimer             Code = 414 // LAPI_ERR_REG_TIMER
	ErrUDPPktSz             Code = 415 // LAPI_ERR_UDP_PKT_SZ
	ErrUserUDPHndlrFail     Code = 416 // LAPI_ERR_USER_UDP_HNDLR_FAIL
	ErrHndlInvalid          Code = 417 // LAPI_ERR_HNDL_INVALID
	ErrRetPtrNull           Code = 418 // LAPI_ERR_RET_PTR_NULL
	ErrAddrHndlRange        Code = 419 // LAPI_ERR_ADDR_HNDL_RANGE
	ErrAddrTblNull          Code = 420 // LAPI_ERR_ADDR_TBL_NULL
	ErrTgtPurged            Code = 421 // LAPI_ERR_TGT_PURGED
	ErrMultipleWaiters      Code = 422 // LAPI_ERR_MULTIPLE_WAITERS
	ErrMemoryExhausted      Code = 423 // LAPI_ERR_MEMORY_EXHAUSTED
	ErrInfoNonzero          Code = 424 // LAPI_ERR_INFO_NONZERO
	ErrOrgAddrNull          Code = 425 // LAPI_ERR_ORG_ADDR_NULL
	ErrTgtAddrNull          Code = 426 // LAPI_ERR_TGT_ADDR_NULL
	ErrDataLen              Code = 427 // LAPI_ERR_DATA_LEN
	ErrTgt                  Code = 428 // LAPI_ERR_TGT
	ErrUhdrNull             Code = 429 // LAPI_ERR_UHDR_NULL
	ErrUhdrLen              Code = 430 // LAPI_ERR_UHDR_LEN
	ErrHdrLen               Code = 431 // LAPI_ERR_HDR_LEN
	ErrOrgExtent            Code = 432 // LAPI_ERR_ORG_EXTENT
	ErrOrgStride            Code = 433 // LAPI_ERR_ORG_STRIDE
	ErrNoConnectivity       Code = 434 // LAPI_ERR_NO_CONNECTIVITY
	ErrAdaptersDown         Code = 435 // LAPI_ERR_ADAPTERS_DOWN
	ErrRecvIncomp           Code = 436 // LAPI_ERR_RECV_INCOMP
	ErrSendIncomp           Code = 437 // LAPI_ERR_SEND_INCOMP
	ErrSendTimeout          Code = 438 // LAPI_ERR_SEND_TIMEOUT
	ErrShmSetup             Code = 439 // LAPI_ERR_SHM_SETUP
	ErrOrgVecAddr           Code = 440 // LAPI_ERR_ORG_VEC_ADDR
	ErrOrgVecLen            Code = 441 // LAPI_ERR_ORG_VEC_LEN
	ErrOrgVecNull           Code = 442 // LAPI_ERR_ORG_VEC_NULL
	ErrOrgVecType           Code = 443 // LAPI_ERR_ORG_VEC_TYPE
	ErrStrideOrgVecAddrNull Code = 444 // LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL
	ErrStrideTgtVecAddrNull Code = 445 // LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL
	ErrTgtExtent            Code = 446 // LAPI_ERR_TGT_EXTENT
	ErrTgtStride            Code = 447 // LAPI_ERR_TGT_STRIDE
	ErrTgtVecAddr           Code = 448 // LAPI_ERR_TGT_VEC_ADDR
	ErrTgtVecLen            Code = 449 // LAPI_ERR_TGT_VEC_LEN
	ErrCkpt                 Code = 450 // LAPI_ERR_CKPT
	ErrTgtVecNull           Code = 451 // LAPI_ERR_TGT_VEC_NULL
	ErrTgtVecType           Code = 452 // LAPI_ERR_TGT_VEC_TYPE
	ErrVecNumDiff           Code = 453 // LAPI_ERR_VEC_NUM_DIFF
	ErrVecTypeDiff          Code = 454 // LAPI_ERR_VEC_TYPE_DIFF
	ErrVecLenDiff           Code = 455 // LAPI_ERR_VEC_LEN_DIFF
	ErrMsgInfoNull          Code = 456 // LAPI_ERR_MSG_INFO_NULL
	ErrPollingNet           Code = 457 // LAPI_ERR_POLLING_NET
	ErrCntrNull             Code = 458 // LAPI_ERR_CNTR_NULL
	ErrCntrVal              Code = 459 // LAPI_ERR_CNTR_VAL
	ErrQueryType            Code = 460 // LAPI_ERR_QUERY_TYPE
	ErrInValNull            Code = 461 // LAPI_ERR_IN_VAL_NULL
	ErrRmwOp                Code = 462 // LAPI_ERR_RMW_OP
	ErrTgtVarNull           Code = 463 // LAPI_ERR_TGT_VAR_NULL
	ErrSetVal               Code = 464 // LAPI_ERR_SET_VAL
	ErrDgsp                 Code = 465 // LAPI_ERR_DGSP
	ErrDgspAtom             Code = 466 // LAPI_ERR_DGSP_ATOM
	ErrDgspBranch           Code = 467 // LAPI_ERR_DGSP_BRANCH
	ErrDgspCtl              Code = 468 // LAPI_ERR_DGSP_CTL
	ErrDgspCopySz           Code = 469 // LAPI_ERR_DGSP_COPY_SZ
	ErrDgspFree             Code = 470 // LAPI_ERR_DGSP_FREE
	ErrDgspOpc              Code = 471 // LAPI_ERR_DGSP_OPC
	ErrDgspReps             Code = 472 // LAPI_ERR_DGSP_REPS
	ErrDgspStack            Code = 473 // LAPI_ERR_DGSP_STACK
	ErrOpSz                 Code = 474 // LAPI_ERR_OP_SZ
	ErrUDPPortInfo          Code = 475 // LAPI_ERR_UDP_PORT_INFO
	ErrXferCmd              Code = 476 // LAPI_ERR_XFER_CMD
	ErrUtilCmd              Code = 477 // LAPI_ERR_UTIL_CMD
	ErrCatalogFail          Code = 478 // LAPI_ERR_CATALOG_FAIL
	ErrPackSz               Code = 479 // LAPI_ERR_PACK_SZ
	ErrDgspOther            Code = 480 // LAPI_ERR_DGSP_OTHER
	ErrUDPSocket            Code = 481 // LAPI_ERR_UDP_SOCKET
	ErrCollectivePSS        Code = 482 // LAPI_ERR_COLLECTIVE_PSS
	ErrDMAHndl              Code = 483 // LAPI_ERR_DMA_HNDL
	ErrDMATag               Code = 484 // LAPI_ERR_DMA_TAG
	AttFrSetupInternal      Code = 485 // LAPI_ATT_FR_SETUP_INTERNAL
	AttFrSetupNonam         Code = 486 // LAPI_ATT_FR_SETUP_NONAM
	AttFrSetupNohags        Code = 487 // LAPI_ATT_FR_SETUP_NOHAGS
	AttFrSetupBadpoe        Code = 488 // LAPI_ATT_FR_SETUP_BADPOE
	AttFrSetupNopoe         Code = 489 // LAPI_ATT_FR_SETUP_NOPOE
	AttFrSetupNonsnx        Code = 490 // LAPI_ATT_FR_SETUP_NONSNX
	AttFrHalted             Code = 491 // LAPI_ATT_FR_HALTED
	ErrTgtContext           Code = 492 // LAPI_ERR_TGT_CONTEXT
	ErrSrcContext           Code = 493 // LAPI_ERR_SRC_CONTEXT
	ErrTgtBufhndl           Code = 494 // LAPI_ERR_TGT_BUFHNDL
	ErrSrcBufhndl           Code = 495 // LAPI_ERR_SRC_BUFHNDL
	ErrTgtOffset            Code = 496 // LAPI_ERR_TGT_OFFSET
	ErrSrcOffset            Code = 497 // LAPI_ERR_SRC_OFFSET
	ErrNoRDMAResource       Code = 498 // LAPI_ERR_NO_RDMA_RESOURCE
	AttBulkEnabled          Code = 499 // LAPI_ATT_BULK_ENABLED
	AttCommTimeout          Code = 500 // LAPI_ATT_COMM_TIMEOUT
	AttVersion              Code = 501 // LAPI_ATT_VERSION
	AttShminitFail          Code = 502 // LAPI_ATT_SHMINIT_FAIL
	AttShminitCkptFail      Code = 503 // LAPI_ATT_SHMINIT_CKPT_FAIL
	AttShmSingleTask        Code = 504 // LAPI_ATT_SHM_SINGLE_TASK
	AttShmCreateFail        Code = 505 // LAPI_ATT_SHM_CREATE_FAIL
	AttShmGetFail           Code = 506 // LAPI_ATT_SHM_GET_FAIL
	AttShmAttFail           Code = 507 // LAPI_ATT_SHM_ATT_FAIL
	AttShmNoSegatt          Code = 508 // LAPI_ATT_SHM_NO_SEGATT
	AttPortStart            Code = 509 // LAPI_ATT_PORT_START
	ErrNoEnvVar             Code = 510 // LAPI_ERR_NO_ENV_VAR
	ErrCodeUnknown          Code = 511 // LAPI_ERR_CODE_UNKNOWN
)
