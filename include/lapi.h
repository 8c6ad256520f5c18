/*
 * lapi.h - LAPI, the low-level application programming interface, for C and C++ programs.
 *
 * One-sided put, get and read-modify-write, and active messages, between the tasks of a job. Compile with this file
 * alone, link with -llapi_r. C89 with gnu extensions, C99, C11, C17, C++98 and later.
 *
 * Conventions, true of every call unless its comment says otherwise:
 *   - The result is LAPI_SUCCESS or a code of section 2. A call that fails has no effect.
 *   - hndl is a handle that LAPI_Init gave and LAPI_Term has not taken back; any other gives LAPI_ERR_HNDL_INVALID.
 *     So does every call in a child process after fork without exec.
 *   - tgt is a task id from 0 to NUM_TASKS - 1; any other gives LAPI_ERR_TGT. The own task is allowed everywhere.
 *   - Lengths and offsets are bytes. Counters are optional: NULL means no counter.
 *   - Any thread may call, at any time between LAPI_Init and LAPI_Term, also several at once.
 *   - LAPI_X can be replaced by a profiling library, which then calls PLAPI_X; both have the same prototype and effect.
 * Origin is the task that makes a call, target the task that the call names. "Guide" is the LAPI programming guide.
 *
 * Sections: 1 basic types, 2 return codes, 3 options and enumerations, 4 counters and handlers, 5 initialization,
 * 6 vectors and data gather/scatter programs, 7 LAPI_Xfer, 8 LAPI_Util, 9 calls, 10 profiling entry points.
 *
 * One file although it is long: programs and their build systems know this name and copy this one file.
 */
#ifndef LAPI_H
#define LAPI_H

#include <stddef.h>
#include <strings.h> /* programs clear lapi_info_t by bzero */
#include <sys/types.h>
#include <time.h>
#include <netinet/in.h>
#include <pthread.h>
#include "css_shared.h"

/*
 * Programs use uint and ulong freely, but the system gives them only to programs that are not compiled for a strict
 * standard: fill the gap (glibc says so with __USE_MISC, other libraries decide by these macros of the program).
 */
#if defined(__GLIBC__) ? !defined(__USE_MISC) \
                       : !(defined(_GNU_SOURCE) || defined(_BSD_SOURCE) || defined(_DEFAULT_SOURCE))
typedef unsigned int uint;
typedef unsigned long ulong;
#endif

/* Sources written for AIX ask for 64-bit programs in this way. */
#if defined(__LP64__) && !defined(__64BIT__)
#define __64BIT__ 1
#endif

/* long long is older than the standards that know it, and so are unnamed unions: keep -pedantic quiet. */
#if defined(__GNUC__)
#define LAPI_EXTENSION __extension__
#else
#define LAPI_EXTENSION
#endif

/* The constants that are casts, so that -Wold-style-cast is quiet in C++. */
#ifdef __cplusplus
#define LAPI_CAST(type, value) static_cast<type>(value)
#else
#define LAPI_CAST(type, value) ((type)(value))
#endif

/* A lapi_long_t inside a structure lies on an 8-byte boundary in 32-bit programs too: one layout for both. */
#define LAPI_ALIGN8 __attribute__((aligned(8)))

/* g++ takes no hint from __extension__ about long long before C++11. */
#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. Basic types and limits (guide, Appendixes E and F) ---- */

typedef unsigned int lapi_handle_t;                      /* names a LAPI context of this process; opaque */
LAPI_EXTENSION typedef unsigned long long lapi_long_t;   /* an address in any task, 32- or 64-bit */
typedef ulong lapi_msglen_t;                             /* length of a message, bytes */
typedef unsigned int lapi_status_t;                      /* kept for later use by the library */
typedef unsigned int lapi_msg_state_t;                   /* LAPI_SEND_COMPLETE and its like, or'd */
typedef int lapi_ret_flags_t;                            /* LAPI_LOCAL_STATE and its like, or'd */
typedef unsigned int lapi_group_t;                       /* names a group of tasks */
typedef unsigned int lapi_user_cxt_t;                    /* a remote context for RDMA */
LAPI_EXTENSION typedef unsigned long long lapi_user_pvo_t; /* a registered address for RDMA */
typedef unsigned short lapi_rdma_tag_t;                  /* user's tag of an RDMA transfer */
typedef unsigned short lapi_rdma_op_t;                   /* LAPI_RDMA_GET and its like */
typedef unsigned short lapi_rdma_flg_t;                  /* LAPI_RCALLBACK and its like */
typedef css_dev_t lapi_dev_t;                            /* a communication device */

/* The longest message, bytes. Also the largest extent of a strided vector. */
#if defined(__LP64__) && (defined(__cplusplus) ? __cplusplus < 201103L : !defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#define LAPI_MAX_MSG_SZ 0x7fffffffffffffffL /* as long, and -pedantic knows it */
#elif defined(__LP64__)
#define LAPI_MAX_MSG_SZ 0x7fffffffffffffffLL
#else
#define LAPI_MAX_MSG_SZ 0x7fffffff
#endif

#define LAPI_ADDR_NULL NULL                       /* no address; any counter or buffer argument */
#define LAPI_MAX_ERR_STRING 160                   /* bytes that LAPI_Msg_string may write, the final NUL included */
#define LAPI_VOID_HANDLE LAPI_CAST(lapi_handle_t, -1) /* never a valid handle */
#define LAPI_NULL_THREAD_ID LAPI_CAST(pthread_t, -1) /* lapi_mutex_getowner_t: nobody holds the lock */

/* ---- 2. Return codes (guide, Appendix C; docs/return-codes.md says who returns each) ---- */

#define LAPI_SUCCESS 0

#define LAPI_ERR_UNKNOWN 400                  /* internal error of communication */
#define LAPI_ERR_ALL_HNDL_IN_USE 401          /* no instance left, or instance_no is taken */
#define LAPI_ERR_BOTH_NETSTR_SET 402          /* MP_LAPI_NETWORK and MP_LAPI_INET_ADDR are both set */
#define LAPI_ERR_CKPT_LOAD_FAILED 403         /* checkpoint library missing */
#define LAPI_ERR_CSS_LOAD_FAILED 404          /* the communication library asked for cannot be loaded */
#define LAPI_ERR_INFO_NULL 405                /* lapi_info is NULL */
#define LAPI_ERR_MSG_API 406                  /* MP_MSG_API is unset or wrong */
#define LAPI_ERR_NO_NETSTR_SET 407            /* no network is named */
#define LAPI_ERR_NO_UDP_HNDLR 408             /* standalone, but neither UDP handler nor UDP list */
#define LAPI_ERR_HDR_HNDLR_NULL 409           /* no header handler */
#define LAPI_ERR_PSS_NON_ROOT 410             /* persistent subsystem, but not root */
#define LAPI_WARN_PARM_NULL 411               /* warning: a parameter is NULL */
#define LAPI_ERR_SHM_KE_NOT_LOADED 412        /* kernel extension for shared memory is missing */
#define LAPI_ERR_TIMEOUT 413                  /* error handler: a task gave no answer for TIMEOUT seconds */
#define LAPI_ERR_REG_TIMER 414                /* a timer could not be set */
#define LAPI_ERR_UDP_PKT_SZ 415               /* MP_UDP_PACKET_SIZE is out of range */
#define LAPI_ERR_USER_UDP_HNDLR_FAIL 416      /* the user's UDP handler returned an error */
#define LAPI_ERR_HNDL_INVALID 417             /* not a live handle */
#define LAPI_ERR_RET_PTR_NULL 418             /* nowhere to put the result */
#define LAPI_ERR_ADDR_HNDL_RANGE 419          /* index outside the address table */
#define LAPI_ERR_ADDR_TBL_NULL 420            /* address table is NULL */
#define LAPI_ERR_TGT_PURGED 421               /* the target task is purged */
#define LAPI_ERR_MULTIPLE_WAITERS 422         /* another thread is waiting for this counter */
#define LAPI_ERR_MEMORY_EXHAUSTED 423         /* no memory from the system */
#define LAPI_ERR_INFO_NONZERO 424             /* a reserved field of lapi_info_t is not zero */
#define LAPI_ERR_ORG_ADDR_NULL 425            /* origin address is NULL, or cannot be accessed */
#define LAPI_ERR_TGT_ADDR_NULL 426            /* target address is NULL, or cannot be accessed */
#define LAPI_ERR_DATA_LEN 427                 /* longer than LAPI_MAX_MSG_SZ */
#define LAPI_ERR_TGT 428                      /* no such task */
#define LAPI_ERR_UHDR_NULL 429                /* uhdr is NULL although uhdr_len is not 0 */
#define LAPI_ERR_UHDR_LEN 430                 /* uhdr_len is over MAX_UHDR_SZ */
#define LAPI_ERR_HDR_LEN 431                  /* uhdr_len is no multiple of 4 (with ERROR_CHK on) */
#define LAPI_ERR_ORG_EXTENT 432               /* extent of the origin vector over LAPI_MAX_MSG_SZ */
#define LAPI_ERR_ORG_STRIDE 433               /* origin stride is shorter than its block */
#define LAPI_ERR_NO_CONNECTIVITY 434          /* error handler: a task is dead or out of reach */
#define LAPI_ERR_ADAPTERS_DOWN 435            /* every adapter is down */
#define LAPI_ERR_RECV_INCOMP 436              /* receiving a message was not finished */
#define LAPI_ERR_SEND_INCOMP 437              /* sending a message was not finished */
#define LAPI_ERR_SEND_TIMEOUT 438             /* sending a message took too long */
#define LAPI_ERR_SHM_SETUP 439                /* shared memory could not be set up */
#define LAPI_ERR_ORG_VEC_ADDR 440             /* an origin block has a length but no address */
#define LAPI_ERR_ORG_VEC_LEN 441              /* sum of the origin blocks over LAPI_MAX_MSG_SZ */
#define LAPI_ERR_ORG_VEC_NULL 442             /* origin vector is NULL */
#define LAPI_ERR_ORG_VEC_TYPE 443             /* origin vector's vec_type is not valid here */
#define LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL 444 /* strided origin vector without address */
#define LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL 445 /* strided target vector without address */
#define LAPI_ERR_TGT_EXTENT 446               /* extent of the target vector over LAPI_MAX_MSG_SZ */
#define LAPI_ERR_TGT_STRIDE 447               /* target stride is shorter than its block */
#define LAPI_ERR_TGT_VEC_ADDR 448             /* a target block has a length but no address */
#define LAPI_ERR_TGT_VEC_LEN 449              /* sum of the target blocks over LAPI_MAX_MSG_SZ */
#define LAPI_ERR_CKPT 450                     /* checkpoint failed */
#define LAPI_ERR_TGT_VEC_NULL 451             /* target vector is NULL */
#define LAPI_ERR_TGT_VEC_TYPE 452             /* target vector's vec_type is not valid here */
#define LAPI_ERR_VEC_NUM_DIFF 453             /* the vectors differ in num_vecs */
#define LAPI_ERR_VEC_TYPE_DIFF 454            /* the vectors differ in vec_type */
#define LAPI_ERR_VEC_LEN_DIFF 455             /* the vectors differ in a length */
#define LAPI_ERR_MSG_INFO_NULL 456            /* LAPI_Msgpoll's info is NULL */
#define LAPI_ERR_POLLING_NET 457              /* a thread polls the network already */
#define LAPI_ERR_CNTR_NULL 458                /* counter is NULL */
#define LAPI_ERR_CNTR_VAL 459                 /* LAPI_Nopoll_wait's val is 0 or less */
#define LAPI_ERR_QUERY_TYPE 460               /* no such query, or it cannot be set */
#define LAPI_ERR_IN_VAL_NULL 461              /* read-modify-write's in_val is NULL */
#define LAPI_ERR_RMW_OP 462                   /* no such read-modify-write operation */
#define LAPI_ERR_TGT_VAR_NULL 463             /* read-modify-write's tgt_var is NULL */
#define LAPI_ERR_SET_VAL 464                  /* LAPI_Senv's value is out of range */
#define LAPI_ERR_DGSP 465                     /* DGSP is NULL or not registered */
#define LAPI_ERR_DGSP_ATOM 466                /* DGSP's atom_size is out of range */
#define LAPI_ERR_DGSP_BRANCH 467              /* DGSP branches out of its code */
#define LAPI_ERR_DGSP_CTL 468                 /* DGSP's CONTROL instruction is misplaced */
#define LAPI_ERR_DGSP_COPY_SZ 469             /* DGSP copies a negative length */
#define LAPI_ERR_DGSP_FREE 470                /* DGSP is given back once too often */
#define LAPI_ERR_DGSP_OPC 471                 /* DGSP holds an unknown opcode */
#define LAPI_ERR_DGSP_REPS 472                /* DGSP's reps is negative */
#define LAPI_ERR_DGSP_STACK 473               /* DGSP nests deeper than its depth says */
#define LAPI_ERR_OP_SZ 474                    /* lapi_rmw_t's size is neither 32 nor 64 */
#define LAPI_ERR_UDP_PORT_INFO 475            /* udp_port is NULL */
#define LAPI_ERR_XFER_CMD 476                 /* no such Xfer_type */
#define LAPI_ERR_UTIL_CMD 477                 /* no such Util_type */
#define LAPI_ERR_CATALOG_FAIL 478             /* the message catalogue cannot be opened */
#define LAPI_ERR_PACK_SZ 479                  /* pack buffer is too small */
#define LAPI_ERR_DGSP_OTHER 480               /* DGSP is wrong in some other way */
#define LAPI_ERR_UDP_SOCKET 481               /* a socket operation failed */
#define LAPI_ERR_COLLECTIVE_PSS 482           /* collective call by the persistent subsystem */
#define LAPI_ERR_DMA_HNDL 483                 /* bad handle for direct memory access */
#define LAPI_ERR_DMA_TAG 484                  /* bad tag for direct memory access */
#define LAPI_ERR_TGT_CONTEXT 492              /* RDMA: target context is not valid */
#define LAPI_ERR_SRC_CONTEXT 493              /* RDMA: source context is not valid */
#define LAPI_ERR_TGT_BUFHNDL 494              /* RDMA: target buffer handle is not valid */
#define LAPI_ERR_SRC_BUFHNDL 495              /* RDMA: source buffer handle is not valid */
#define LAPI_ERR_TGT_OFFSET 496               /* RDMA: target offset is not valid */
#define LAPI_ERR_SRC_OFFSET 497               /* RDMA: source offset is not valid */
#define LAPI_ERR_NO_RDMA_RESOURCE 498         /* RDMA: no resources left */
#define LAPI_ERR_NO_ENV_VAR 510               /* a required environment variable is not set */
#define LAPI_ERR_CODE_UNKNOWN 511             /* LAPI_Msg_string: no such code */

/* Attention codes: they number messages of the library, no call returns them. */
#define LAPI_ATT_FR_SETUP_INTERNAL 485 /* failover not set up: internal error */
#define LAPI_ATT_FR_SETUP_NONAM 486    /* failover not set up: no network availability matrix */
#define LAPI_ATT_FR_SETUP_NOHAGS 487   /* failover not set up: no group services */
#define LAPI_ATT_FR_SETUP_BADPOE 488   /* failover not set up: launcher too old */
#define LAPI_ATT_FR_SETUP_NOPOE 489    /* failover not set up: no launcher */
#define LAPI_ATT_FR_SETUP_NONSNX 490   /* failover not set up: wrong kind of device */
#define LAPI_ATT_FR_HALTED 491         /* failover stopped: internal error */
#define LAPI_ATT_BULK_ENABLED 499      /* bulk transfer is on */
#define LAPI_ATT_COMM_TIMEOUT 500      /* tasks give no answer */
#define LAPI_ATT_VERSION 501           /* version of the library */
#define LAPI_ATT_SHMINIT_FAIL 502      /* shared memory not set up */
#define LAPI_ATT_SHMINIT_CKPT_FAIL 503 /* shared memory not set up after a checkpoint */
#define LAPI_ATT_SHM_SINGLE_TASK 504   /* shared memory not used: only one task */
#define LAPI_ATT_SHM_CREATE_FAIL 505   /* segment not made */
#define LAPI_ATT_SHM_GET_FAIL 506      /* segment not found */
#define LAPI_ATT_SHM_ATT_FAIL 507      /* segment not attached */
#define LAPI_ATT_SHM_NO_SEGATT 508     /* no address range for a segment */
#define LAPI_ATT_PORT_START 509        /* first communication over a port */

#define LAPI_ERR_FIRSTCODE LAPI_ERR_UNKNOWN
#define LAPI_ERR_LASTCODE LAPI_ERR_CODE_UNKNOWN

/*
 * Names of older releases. Each has the number that the name had; where today's code of that number means something
 * else, code that tests for the old name still compiles. LAPI_ERR_BAD_NINTH_PARM is also how sources recognize
 * this version of LAPI (#ifdef).
 */
#define LAPI_ERR_UNKNOWN_DEVICE 401
#define LAPI_ERR_UNKNOWN_FUNCTION 402
#define LAPI_ERR_NOMORE_PORTS 403
#define LAPI_ERR_INIT_FAILED 404
#define LAPI_ERR_OPEN_FAILED 405
#define LAPI_ERR_CLOSE_FAILED 406
#define LAPI_ERR_SWITCH_FAULT 407
#define LAPI_ERR_INTR_HNDLR 408
#define LAPI_ERR_NO_HD_HNDLR 409
#define LAPI_ERR_BAD_PARAMETER 410
#define LAPI_ERR_RETRANSMISSION 412
#define LAPI_ERR_QUEUE_FULL 414
#define LAPI_ERR_INIT_LOCK_FAILED 415
#define LAPI_ERR_GET_LOCK_FAILED 416
#define LAPI_ERR_REL_LOCK_FAILED 417
#define LAPI_ERR_TRY_LOCK_FAILED 418
#define LAPI_ERR_INVALID_OPTIONS 419
#define LAPI_WAIT_INTERRUPTED 420
#define LAPI_ERR_PURGED_TASK 421
#define LAPI_ERR_EXHAUSTED_MEMORY 423
#define LAPI_ERR_NONZERO_INFO 424
#define LAPI_ERR_BAD_FIRST_PARM 425
#define LAPI_ERR_BAD_SECOND_PARM 426
#define LAPI_ERR_BAD_THIRD_PARM 427
#define LAPI_ERR_BAD_FOURTH_PARM 428
#define LAPI_ERR_BAD_FIFTH_PARM 429
#define LAPI_ERR_BAD_SIXTH_PARM 430
#define LAPI_ERR_BAD_SEVENTH_PARM 431
#define LAPI_ERR_BAD_EIGHTH_PARM 432
#define LAPI_ERR_BAD_NINTH_PARM 433
#define LAPI_ERR_SHM_CLEANUP 440
#define LAPI_ERR_SHM_REGISTER 441
#define LAPI_ERR_SHM_RELEASE 442
#define LAPI_ERR_SHM_ATTDET 443
#define LAPI_ERR_SHM_ATTACH 444
#define LAPI_ERR_SHM_DETACH 445
#define LAPI_ERR_SHM_ENV_SET 446
#define LAPI_ERR_SHM_NOCOMM_TASK 447
#define LAPI_ERR_SHM_SETSHM 448
#define LAPI_ERR_SHM_LOAD 449
#define LAPI_ERR_CHECKPOINT 450

/* ---- 3. Options and enumerations ---- */

/* The operations of a read-modify-write on the target's variable; each is one atomic step (guide, LAPI_Rmw). */
typedef enum {
	FETCH_AND_ADD = 0, /* add in_val */
	FETCH_AND_OR,      /* or in_val into it */
	SWAP,              /* store in_val */
	COMPARE_AND_SWAP   /* in_val is an array of 2: if it equals in_val[0] store in_val[1]; the answer is 1 or 0 */
} RMW_ops_t;
typedef RMW_ops_t Rmw_ops_t;

/*
 * What LAPI_Qenv asks for (guide, LAPI_Qenv and Appendix D). The result is an int unless noted. (set) marks what
 * LAPI_Senv accepts.
 */
typedef enum {
	TASK_ID = 0,                 /* the own task id */
	NUM_TASKS,                   /* tasks of the job */
	MAX_UHDR_SZ,                 /* longest user header, bytes */
	MAX_DATA_SZ,                 /* old; use LAPI_MAX_MSG_SZ */
	ERROR_CHK,                   /* (set) 1: check parameters further; 0, at first: only what could do harm */
	TIMEOUT,                     /* (set) seconds without an answer until a task is given up; at first 900 */
	MIN_TIMEOUT,                 /* smallest TIMEOUT, seconds: 10 */
	MAX_TIMEOUT,                 /* largest TIMEOUT, seconds: 86400 */
	INTERRUPT_SET,               /* (set) 1, at first: served without calls; 0: polling */
	MAX_PORTS,                   /* LAPI instances a process can have */
	MAX_PKT_SZ,                  /* payload of one packet, bytes */
	NUM_REX_BUFS,                /* retransmission buffers (MP_REXMIT_BUF_CNT) */
	REX_BUF_SZ,                  /* size of each, bytes (MP_REXMIT_BUF_SIZE) */
	LOC_ADDRTBL_SZ,              /* size of LAPI_Addr_set's table */
	EPOCH_NUM,                   /* legacy: 0 */
	USE_THRESH,                  /* legacy: 0 */
	RCV_FIFO_SIZE,               /* legacy: 0 */
	MAX_ATOM_SIZE,               /* largest atom_size of a DGSP, bytes */
	BUF_CP_SIZE,                 /* messages up to this many bytes are copied: the buffer is free on return */
	MAX_PKTS_OUT,                /* packets on the way to one task at once */
	ACK_THRESHOLD,               /* (set) packets received until an acknowledgement is sent: 1 to 30 */
	QUERY_SHM_ENABLED,           /* 1 if shared memory is in use */
	QUERY_SHM_NUM_TASKS,         /* tasks reached by shared memory, the own one included */
	QUERY_SHM_TASKS,             /* int[NUM_TASKS]: shared memory task id of each task, -1 if not reached so */
	QUERY_STATISTICS,            /* lapi_statistics_t: network */
	PRINT_STATISTICS,            /* prints; the result is untouched, but its pointer must not be NULL */
	QUERY_SHM_STATISTICS,        /* lapi_statistics_t: shared memory */
	QUERY_LOCAL_SEND_STATISTICS, /* lapi_statistics_t: copies within the own task */
	BULK_XFER,                   /* 1 if bulk transfer is on */
	BULK_MIN_MSG_SIZE,           /* shortest message sent by bulk transfer, bytes */
	RDMA_REMOTE_RCXT_AVAIL,      /* this and the following: RDMA resources, 0 without RDMA hardware */
	RDMA_REMOTE_RCXT_TOTAL,
	RC_MAX_QP,
	RC_QP_IN_USE,
	RC_QP_USE_LRU,
	RC_QP_USE_LMC,
	RC_QP_INIT_SETUP,
	LAST_QUERY                   /* not a query: this and above give LAPI_ERR_QUERY_TYPE */
} lapi_query_t;

/* The kind of operation that failed, for the error handler; INT_ERR if it was none of the user's. */
typedef enum {
	GET_ERR = 0,
	PUT_ERR,
	RMW_ERR,
	AM_ERR,
	INT_ERR,
	TMR_ERR
} lapi_err_t;

/* The interface that the program expects of the library (lapi_info_t, lib_vers). */
typedef enum {
	L1_LIB = 0, /* counters are an int: the library touches only the first 4 bytes of a lapi_cntr_t */
	L2_LIB,     /* counters are structures: LAPI_Nopoll_wait and LAPI_Setcntr_wstatus work */
	L3_LIB,
	L4_LIB,
	LAST_LIB    /* the newest: for new programs */
} lapi_lib_t;

/* Layout of a lapi_vec_t (guide, Chapter 6). */
typedef enum {
	LAPI_GEN_IOVECTOR = 0,  /* blocks; origin and target agree in number and lengths */
	LAPI_GEN_STRIDED_XFER,  /* equal blocks at equal distances: info is { address, block size, stride } */
	LAPI_GEN_GENERIC        /* blocks, origin and target need not agree; active messages only */
} lapi_vectype_t;

/* The first member of each lapi_xfer_t: which transfer it asks for. */
typedef enum {
	LAPI_GET_XFER = 0,
	LAPI_AM_XFER,
	LAPI_PUT_XFER,
	LAPI_GETV_XFER,
	LAPI_PUTV_XFER,
	LAPI_AMV_XFER,
	LAPI_RMW_XFER,
	LAPI_DGSP_XFER,
	LAPI_RDMA_XFER,
	LAPI_AM_LW_XFER,
	LAPI_AMX_XFER,
	LAPI_MC_XFER,
	LAPI_LAST_XFER /* not a transfer */
} lapi_xfer_type_t;

/* The first member of each lapi_util_t: which utility it asks for. */
typedef enum {
	LAPI_REGISTER_DGSP = 0,
	LAPI_RESERVE_DGSP,
	LAPI_UNRESERVE_DGSP,
	LAPI_REG_DDM_FUNC,
	LAPI_DGSP_PACK,
	LAPI_DGSP_UNPACK,
	LAPI_ADD_UDP_DEST_PORT,
	LAPI_GET_THREAD_FUNC,
	LAPI_REMOTE_RCXT,
	LAPI_XLATE_ADDRESS,
	LAPI_REGISTER_NOTIFICATION,
	LAPI_TRIGGER_ADD,
	LAPI_TRIGGER_REMOVE,
	LAPI_ADD_UDP_DEST_EXT,
	LAPI_STAT_SAVE,
	LAPI_LAST_UTIL /* not a utility */
} lapi_util_type_t;

/* From where a utility is called; for debugging, the library ignores it. */
typedef enum {
	LAPI_NORMAL_CALL = 0,
	LAPI_SEND_COMPL_HNDLR,
	LAPI_RECV_INLINE_HNDLR
} lapi_usr_fcall_t;

/* lapi_return_info_t, ctl_flags: what becomes of the message (guide, Chapter 11). */
typedef enum {
	LAPI_DELIVER_MSG = 0, /* to the buffer that the header handler returned */
	LAPI_BURY_MSG,        /* nowhere: its data is thrown away, its counters still change */
	LAPI_DROP_PKT         /* not now: the handler is called again when it is retransmitted */
} lapi_ctl_flags_t;

/* lapi_return_info_t, ret_flags; or'd (guide, Chapter 11). */
#define LAPI_NORMAL 0      /* the completion handler runs in a thread of its own */
#define LAPI_LOCAL_STATE 1 /* it runs inline, changes local state only and calls no LAPI */
#define LAPI_SEND_REPLY 2  /* it runs inline and may send, but not wait */

/* lapi_msg_info_t, status: what has happened since the last LAPI_Msgpoll; or'd. */
#define LAPI_COMPLETE 0      /* nothing */
#define LAPI_SEND_COMPLETE 1 /* a message of this task was sent */
#define LAPI_RECV_COMPLETE 2 /* a message was received */
#define LAPI_BOTH_COMPLETE 3 /* both */
#define LAPI_POLLING_NET 4   /* another thread polls the network */
#define LAPI_DISP_CNTR 8     /* the dispatcher ran cnt times and nothing was completed */

/* Flags of LAPI_Xfer's structures; or'd. */
#define USE_TGT_VEC_TYPE 0x2        /* tgt_vec is a lapi_vec_t; without it, a lapi_lvec_t */
#define LAPI_USE_LAZY_ACKS 0x4      /* hint: acknowledgements may be late */
#define BUFFER_BOTH_CONTIGUOUS 0x10 /* the DGSP's data is contiguous on both sides */
#define LAPI_NOT_USE_BULK_XFER 0x20 /* hint: no bulk transfer; wins over the next */
#define LAPI_USE_BULK_XFER 0x40     /* hint: bulk transfer */
#define LAPI_NOT_STRIPE 0x80        /* hint: one adapter only */
#define LAPI_NO_LOCAL_COPY 0x100    /* hint: do not copy small messages */
#define LAPI_RC_NO_LRU 0x200        /* hint: keep the RDMA connection */

/* lapi_info_t, protocol: may be or'd in before LAPI_Init. */
#define LAPI_SHARE_PROTOCOL 0x80000000 /* share the adapter with another library */
#define LAPI_PSS_GPFS 0x40000000       /* persistent subsystem */
#define LAPI_INTERRUPT_OFF 0x20000000  /* begin in polling mode */

/* dest_status of LAPI_Setcntr_wstatus: fate of the message for each task of its list. */
#define LAPI_MSG_INITIAL 0     /* nothing yet */
#define LAPI_MSG_RECVD 1       /* received */
#define LAPI_MSG_PURGED 2      /* the task was purged before that */
#define LAPI_MSG_PURGED_RCVD 3 /* the task was purged after that */
#define LAPI_MSG_INVALID 4     /* the task was purged already when the list was given */

/* RDMA transfers. */
#define LAPI_RDMA_GET 1
#define LAPI_RDMA_PUT 2
#define LAPI_RCALLBACK 4
#define LAPI_RCNTR_UPDATE 8

typedef enum {
	LAPI_RDMA_ACQUIRE = 0,
	LAPI_RDMA_RELEASE
} lapi_rdma_req_t;

/* ---- 4. Counters, statistics, handlers ---- */

/*
 * A condition variable for the lock of LAPI_GET_THREAD_FUNC. Opaque: use it only through the functions found there.
 */
typedef union {
	pthread_cond_t Pt;
	LAPI_EXTENSION long long Lw;
} lapi_cond_t;

/*
 * A counter. The user owns the memory, makes it ready with LAPI_Setcntr, and keeps it while any operation names it.
 * A program with lib_vers L1_LIB may give 4 bytes, an int, for a counter; then only the member cntr exists.
 * Everything but cntr belongs to the library.
 */
struct new_cntr {
	int cntr;                 /* the value: aligned, changed atomically */
	lapi_cond_t signal;
	volatile int cntr_q_flg;
	uint state;
	uint num_dest;            /* entries of the lists below (LAPI_Setcntr_wstatus) */
	int wait_val;
	uint *dest;
	int *dest_status;
	struct new_cntr *pre_cntr;
	struct new_cntr *next_cntr;
	pthread_mutex_t cntr_lock;
	ulong reserve1;
	ulong reserve2;
	void *reserve3;
	void *reserve4;
};

typedef union {
	int cntr;
	struct new_cntr new_cntr;
} lapi_cntr_t;

/* Counts since LAPI_Init (LAPI_Qenv). Each receive count has the guide's name and the later one. */
typedef struct {
	lapi_long_t Tot_dup_pkt_cnt LAPI_ALIGN8;     /* packets that came twice */
	lapi_long_t Tot_retrans_pkt_cnt LAPI_ALIGN8; /* packets sent again */
	lapi_long_t Tot_gho_pkt_cnt LAPI_ALIGN8;     /* ghost packets: of no known message */
	lapi_long_t Tot_pkt_sent_cnt LAPI_ALIGN8;    /* packets sent */
	LAPI_EXTENSION union {
		lapi_long_t Tot_pkt_rcv_cnt LAPI_ALIGN8; /* packets received */
		lapi_long_t Tot_pkt_recv_cnt LAPI_ALIGN8;
	};
	lapi_long_t Tot_data_sent LAPI_ALIGN8;       /* bytes sent */
	LAPI_EXTENSION union {
		lapi_long_t Tot_data_rcv LAPI_ALIGN8;    /* bytes received */
		lapi_long_t Tot_data_recv LAPI_ALIGN8;
	};
	lapi_long_t Tot_ack_sent_cnt LAPI_ALIGN8;    /* acknowledgements sent */
	lapi_long_t Tot_ack_recv_cnt LAPI_ALIGN8;    /* acknowledgements received */
} lapi_statistics_t;

/*
 * The error handler (lapi_info_t, err_hndlr): a peer failed, or a message could not be carried out. Runs without the
 * lock in any thread inside LAPI or in a thread of the library, once for each peer and failure; may call LAPI,
 * LAPI_Term too. When it returns the library goes on. The pointers are valid during the call only: *error_code a
 * code of section 2, *task_ID the own task, *src the task concerned.
 */
typedef void(LAPI_err_hndlr)(lapi_handle_t *hndl, int *error_code, lapi_err_t *err_type, int *task_ID, int *src);

/*
 * A completion handler: the message is complete at this task. Queued (the normal case): runs without the lock in a
 * handler thread and may make any LAPI call, blocking ones too. Inline (lapi_return_info_t, ret_flags): runs with the
 * lock held in the thread that dispatches, and must not block. completion_param is what the header handler left in
 * *uinfo. The handler's end is what changes the target and the completion counter.
 */
typedef void(compl_hndlr_t)(lapi_handle_t *hndl, void *completion_param);

/*
 * A header handler: a message has begun to arrive. Returns the buffer for its data, of at least *msg_len bytes, which
 * belongs to the library until completion; NULL if there is none. Runs with the lock held in the thread that
 * dispatches; must not block and makes no LAPI calls. uhdr is an aligned, writable copy, valid during the
 * handler and an inline completion handler. Sets *comp_h (preset to NULL: none) and *uinfo, the completion handler's
 * parameter. msg_len really points at a lapi_return_info_t.
 */
typedef void *(hdr_hndlr_t)(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *msg_len, compl_hndlr_t **comp_h,
                            void **uinfo);

/* Why and for whom a send completion handler runs. */
typedef struct {
	uint src;         /* the target task; of LAPI_MC_XFER the group, or the first task whose message was given up */
	uint reason;      /* LAPI_SUCCESS, or why the message was given up, such as LAPI_ERR_TGT_PURGED */
	ulong reserve[6];
} lapi_sh_info_t;

/*
 * A send completion handler (LAPI_Xfer): the origin buffer may be changed or freed. Runs once for each transfer, with
 * the lock held, in any thread, also before LAPI_Xfer returns; must not block. completion_param is sinfo. info is
 * valid during the call only.
 */
typedef void(scompl_hndlr_t)(lapi_handle_t *hndl, void *completion_param, lapi_sh_info_t *info);

/* What LAPI_Msgpoll found. */
typedef struct {
	lapi_msg_state_t status; /* LAPI_SEND_COMPLETE and its like, or'd */
	ulong reserve[10];
} lapi_msg_info_t;

/* ---- 5. Initialization (guide, LAPI_Init and Chapter 16) ---- */

/* Where a task's UDP socket is. Both in network byte order, as inet_addr and htons give them. */
typedef struct {
	in_addr_t ip_addr;
	in_port_t port_no;
} lapi_udp_t;

/* The same for IPv4 and IPv6. */
typedef struct {
	union {
		in_addr_t ipv4_addr;
		struct in6_addr ipv6_addr;
	} ip_addr;
	in_port_t port_no;
	int af; /* AF_INET or AF_INET6: which member of ip_addr is meant */
} lapi_udp_storage;

/* The input of the UDP handler. */
typedef struct {
	uint task_id;       /* the own task id */
	uint tot_num_tasks; /* tasks of the job */
	uint num_tasks;     /* of these, tasks not reached by shared memory */
	uint instance_no;   /* the instance being initialized */
	ulong reserve[10];
} lapi_udpinfo_t;

/*
 * The user's UDP handler: fills addr_list, memory of the library with an entry for each task of the job. Called once
 * by LAPI_Init, in its thread and without the lock. local_addr is where the library would listen on its own account;
 * the own entry of the list decides. Returns 0, or anything else to make LAPI_Init fail with
 * LAPI_ERR_USER_UDP_HNDLR_FAIL.
 */
typedef int(udp_init_hndlr)(lapi_handle_t *hndl, lapi_udp_t *local_addr, lapi_udp_t *addr_list,
                            lapi_udpinfo_t *info);
/* The same with addresses that may be IPv6. */
typedef int(udp_init_ext_hndlr)(lapi_handle_t *hndl, lapi_udp_storage *local_addr, lapi_udp_storage *addr_list,
                                lapi_udpinfo_t *info);

/* For standalone jobs (lapi_info_t, add_info). A handler has priority over a list. The user owns the lists. */
typedef struct {
	udp_init_hndlr *udp_hndlr;           /* NULL: none */
	lapi_udp_t *add_udp_addrs;           /* NULL: none; else an entry for each task */
	uint num_udp_addr;                   /* entries of the list; the library reads NUM_TASKS of them */
	uint pad;
	udp_init_ext_hndlr *udp_ext_hndlr;   /* NULL: none; wins over udp_hndlr */
	lapi_udp_storage *add_udp_ext_addrs; /* NULL: none; wins over add_udp_addrs */
	ulong reserve[8];
} lapi_extend_t;

/* The arguments of LAPI_Init. Zero the whole structure, then set the members that you need. */
typedef struct {
	lapi_dev_t protocol;                 /* out: the device in use; in: LAPI_INTERRUPT_OFF and its like */
	lapi_lib_t lib_vers;                 /* L1_LIB (0) to LAST_LIB */
	uint epoch_num;                      /* not used */
	int num_compl_hndlr_thr;             /* threads for completion handlers; 0: one */
	uint instance_no;                    /* 1 to 16, the same at all tasks; 0: the lowest free one */
	int info6;                           /* must be 0, else LAPI_ERR_INFO_NONZERO */
	LAPI_err_hndlr *err_hndlr;           /* NULL: none; then a failure ends the program */
	com_thread_info_t *lapi_thread_attr; /* NULL: defaults for the library's threads */
	void *adapter_name;                  /* persistent subsystem only */
	lapi_extend_t *add_info;             /* NULL, or how a standalone job finds its tasks */
} lapi_info_t;

/* ---- 6. Vectors and data gather/scatter programs, DGSPs (guide, Chapter 6) ---- */

/*
 * A vector of blocks. Blocks: info[i] is the address and len[i] the length of block i. LAPI_GEN_STRIDED_XFER: info[0]
 * is the address, (ulong)info[1] the block size, (ulong)info[2] the stride, len is not used.
 */
typedef struct {
	lapi_vectype_t vec_type;
	uint num_vecs; /* number of blocks; 0: an empty message */
	void **info;
	ulong *len;
} lapi_vec_t;

/* The same with addresses of any task. */
typedef struct {
	lapi_vectype_t vec_type;
	uint num_vecs;
	lapi_long_t *info;
	ulong *len;
} lapi_lvec_t;

/*
 * A header handler for vectors: as hdr_hndlr_t, but returns where the data goes as a vector (NULL: nowhere), and gets the
 * lengths of the origin's blocks: (*len_vec)[i], valid during the handler; of a strided vector only (*len_vec)[0], the
 * block size. Like msg_len of the other kind, len_vec is also a lapi_return_info_t, but for msg_len, which is that pointer.
 * The vector must fit the origin's (guide, Table 7), else both tasks' error handlers are called and no counter changes.
 * It belongs to the library until completion.
 */
typedef lapi_vec_t *(vhdr_hndlr_t)(lapi_handle_t *hndl, void *uhdr, uint *uhdr_len, ulong *len_vec[],
                                   compl_hndlr_t **comp_h, void **uinfo);

/* Instructions of a DGSP. */
typedef enum {
	LAPI_DGSM_COPY = 0, /* copies one block */
	LAPI_DGSM_MCOPY,    /* copies several blocks */
	LAPI_DGSM_GOSUB,    /* runs a subroutine a number of times */
	LAPI_DGSM_ITERATE,  /* ends a routine */
	LAPI_DGSM_CONTROL   /* sets the DDM function's arguments; scatter side only */
} lapi_dgsm_opcode_t;

/* How the bytes of a DGSP lie. */
typedef enum {
	LAPI_DGSM_SPARSE = 0, /* with gaps */
	LAPI_DGSM_CONTIG,     /* one block, with a gap between repetitions */
	LAPI_DGSM_UNIT        /* one block without gaps, repeated or not */
} lapi_dgsp_density_t;

#define LAPI_DGSM_NO_CTL -1 /* no CONTROL operation in force */

/* Describes a DGSP. The user's is copied by LAPI_REGISTER_DGSP; a handle may be read as a pointer to the copy. */
typedef struct {
	int *code;                   /* the instructions, int-aligned */
	int code_size;               /* ints in code */
	int depth;                   /* routines active at once; 1 without GOSUB */
	lapi_dgsp_density_t density;
	long size;                   /* bytes that one application covers */
	long extent;                 /* distance from one application to the next, bytes */
	long lext;                   /* offset of the lowest byte covered */
	long rext;                   /* offset after the highest byte covered */
	int atom_size;               /* 0, or the unit in which packets are filled, up to MAX_ATOM_SIZE */
} lapi_dgsp_descr_t;

typedef lapi_dgsp_descr_t *lapi_dg_handle_t; /* a registered DGSP */
typedef lapi_dg_handle_t lapi_dgsp_handle_t;

/* The registered DGSP of contiguous bytes. Constant; declared now, exported with the DGSP calls. */
extern lapi_dg_handle_t LAPI_BYTE;

/* COPY: bytes at offset from the current base. */
typedef struct {
	lapi_dgsm_opcode_t opcode;
	long bytes;
	long offset;
} lapi_dgsm_copy_t;

/* A block of an MCOPY. */
typedef struct {
	long block_disp; /* offset from the current base */
	long block_len;  /* bytes */
} lapi_dgsm_block_t;

/* MCOPY: count blocks follow each other. */
typedef struct {
	lapi_dgsm_opcode_t opcode;
	int count;
	lapi_dgsm_block_t block[1];
} lapi_dgsm_mcopy_t;

/* GOSUB: the subroutine runs reps times, first at offset, then stride further each time. */
typedef struct {
	lapi_dgsm_opcode_t opcode;
	int to_loc;  /* first instruction of the subroutine, in ints from this one */
	int ret_loc; /* where to go on, in ints from this one */
	long reps;
	long offset;
	long stride;
} lapi_dgsm_gosub_t;

/* ITERATE: the routine's end. */
typedef struct {
	lapi_dgsm_opcode_t opcode;
	int iter_loc; /* first instruction of the routine, in ints from this one */
} lapi_dgsm_iterate_t;

/* CONTROL: arguments of the DDM function from here on. */
typedef struct {
	lapi_dgsm_opcode_t opcode;
	int operation;
	int operand;
} lapi_dgsm_control_t;

/* Sizes of the instructions in ints. Macros: sources test LAPI_DGSM_COPY_SIZE with #ifdef. */
#define LAPI_DGSM_COPY_SIZE LAPI_CAST(int, sizeof(lapi_dgsm_copy_t) / sizeof(int))
#define LAPI_DGSM_GOSUB_SIZE LAPI_CAST(int, sizeof(lapi_dgsm_gosub_t) / sizeof(int))
#define LAPI_DGSM_ITERATE_SIZE LAPI_CAST(int, sizeof(lapi_dgsm_iterate_t) / sizeof(int))
#define LAPI_DGSM_CONTROL_SIZE LAPI_CAST(int, sizeof(lapi_dgsm_control_t) / sizeof(int))
#define LAPI_DGSM_MCOPY_SIZE LAPI_CAST(int, sizeof(lapi_dgsm_mcopy_t) / sizeof(int)) /* with one block */
#define LAPI_DGSM_MCOPY_BLOCK_SIZE LAPI_CAST(int, sizeof(lapi_dgsm_block_t) / sizeof(int))

/*
 * A data distribution manager function: combines bytes of arriving data at in with the destination at inout, as
 * operand and operation of the CONTROL instruction say. Returns how many bytes it has dealt with. Runs with the
 * lock held in the thread that dispatches; must not block.
 */
typedef long ddm_func_t(void *in, void *inout, long bytes, int operand, int operation);

/*
 * A header handler's msg_len points to this structure (guide, Chapter 11). The library owns it. It is valid during the
 * handler; all members are preset so that a handler which ignores it behaves as usual.
 */
typedef struct {
	ulong msg_len;                /* in: length of the data, bytes */
	int MAGIC;                    /* in: a constant by which the structure is recognized */
	lapi_ret_flags_t ret_flags;   /* out: LAPI_LOCAL_STATE or LAPI_SEND_REPLY: inline completion handler */
	lapi_ctl_flags_t ctl_flags;   /* out: deliver, bury or drop */
	lapi_dg_handle_t dgsp_handle; /* out: NULL, or the DGSP that scatters the data */
	ulong bytes;                  /* out: how many bytes the DGSP is to take, at most msg_len */
	int src;                      /* in: the origin task */
	void *udata_one_pkt_ptr;      /* in: the data, if all of it has come; valid during the handler. Else NULL */
	ulong recv_offset_dgsp_bytes; /* out: bytes of the DGSP to skip first */
} lapi_return_info_t;

/* ---- 7. LAPI_Xfer (guide, LAPI_Xfer, Tables 24 to 31) ---- */

/*
 * Members have the meaning of the parameters of the same name in section 9. Addresses at the target are lapi_long_t,
 * so that tasks of either word size reach each other. shdlr (NULL: none) runs with sinfo when the origin buffer is
 * free, chndlr (NULL: none) with cinfo when the data is there.
 */
typedef struct { /* LAPI_AM_XFER */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_long_t hdr_hdl LAPI_ALIGN8;
	uint uhdr_len;
	void *uhdr;
	void *udata;
	ulong udata_len;
	scompl_hndlr_t *shdlr;
	void *sinfo;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	lapi_cntr_t *cmpl_cntr;
} lapi_am_t;

typedef struct { /* LAPI_AMV_XFER */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_long_t hdr_hdl LAPI_ALIGN8;
	uint uhdr_len;
	void *uhdr;
	scompl_hndlr_t *shdlr;
	void *sinfo;
	lapi_vec_t *org_vec;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	lapi_cntr_t *cmpl_cntr;
} lapi_amv_t;

typedef struct { /* LAPI_DGSP_XFER; udata may be NULL: the DGSP's offsets are addresses then */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_long_t hdr_hdl LAPI_ALIGN8;
	uint uhdr_len;
	void *uhdr;
	void *udata;
	ulong udata_len;
	scompl_hndlr_t *shdlr;
	void *sinfo;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	lapi_cntr_t *cmpl_cntr;
	lapi_dg_handle_t dgsp;
	lapi_status_t status;
} lapi_amdgsp_t;

typedef struct { /* LAPI_AMX_XFER: as LAPI_DGSP_XFER, from a byte of the DGSP's data on */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_long_t hdr_hdl LAPI_ALIGN8;
	uint uhdr_len;
	void *uhdr;
	void *udata;
	ulong udata_len;
	scompl_hndlr_t *shdlr;
	void *sinfo;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	lapi_cntr_t *cmpl_cntr;
	lapi_dg_handle_t dgsp;
	lapi_status_t status;
	ulong send_offset_dgsp_bytes; /* bytes of the DGSP to skip first */
} lapi_amx_t;

typedef struct { /* LAPI_MC_XFER: an active message to each task of a group; shdlr runs once for all */
	lapi_xfer_type_t Xfer_type;
	int flags;
	lapi_group_t group;
	lapi_long_t hdr_hdl LAPI_ALIGN8;
	uint uhdr_len;
	void *uhdr;
	void *udata;
	ulong udata_len;
	scompl_hndlr_t *shdlr;
	void *sinfo;
} lapi_mc_t;

typedef struct { /* LAPI_GET_XFER */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_long_t tgt_addr LAPI_ALIGN8;
	void *org_addr;
	ulong len;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	compl_hndlr_t *chndlr;
	void *cinfo;
} lapi_get_t;

typedef struct { /* LAPI_GETV_XFER; tgt_vec: lapi_lvec_t *, or lapi_vec_t * with USE_TGT_VEC_TYPE */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_vec_t *org_vec;
	void *tgt_vec;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	compl_hndlr_t *chndlr;
	void *cinfo;
} lapi_getv_t;

typedef struct { /* LAPI_PUT_XFER */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	lapi_long_t tgt_addr LAPI_ALIGN8;
	void *org_addr;
	ulong len;
	scompl_hndlr_t *shdlr;
	void *sinfo;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	lapi_cntr_t *cmpl_cntr;
} lapi_put_t;

typedef struct { /* LAPI_PUTV_XFER; tgt_vec: lapi_lvec_t *, or lapi_vec_t * with USE_TGT_VEC_TYPE */
	lapi_xfer_type_t Xfer_type;
	int flags;
	uint tgt;
	scompl_hndlr_t *shdlr;
	void *sinfo;
	lapi_vec_t *org_vec;
	void *tgt_vec;
	lapi_long_t tgt_cntr LAPI_ALIGN8;
	lapi_cntr_t *org_cntr;
	lapi_cntr_t *cmpl_cntr;
} lapi_putv_t;

typedef struct { /* LAPI_RMW_XFER */
	lapi_xfer_type_t Xfer_type;
	RMW_ops_t op;
	uint tgt;
	uint size; /* bits of the variable: 32 or 64 */
	lapi_long_t tgt_var LAPI_ALIGN8;
	void *in_val;
	void *prev_tgt_val;
	lapi_cntr_t *org_cntr;
	scompl_hndlr_t *shdlr;
	void *sinfo;
} lapi_rmw_t;

/* LAPI_RDMA_XFER. Its members come with the RDMA transfers. */
typedef struct lapi_hwxfer lapi_hwxfer_t;

/* What LAPI_Xfer is given: it looks at Xfer_type, then only at the member that this names. */
typedef union {
	lapi_xfer_type_t Xfer_type;
	lapi_get_t Get;
	lapi_am_t Am;
	lapi_rmw_t Rmw;
	lapi_put_t Put;
	lapi_getv_t Getv;
	lapi_putv_t Putv;
	lapi_amv_t Amv;
	lapi_amdgsp_t Dgsp;
	lapi_amx_t Amx;
	lapi_mc_t Mc;
} lapi_xfer_t;

/* ---- 8. LAPI_Util (guide, LAPI_Util, Tables 14 to 22) ---- */

/* In every structure in_usr_func is for debugging and ignored, status is kept for later use. */

typedef struct { /* LAPI_REGISTER_DGSP */
	lapi_util_type_t Util_type;
	lapi_dgsp_descr_t *idgsp;     /* in: copied */
	lapi_dg_handle_t dgsp_handle; /* out */
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_reg_dgsp_t;

typedef struct { /* LAPI_RESERVE_DGSP: one more user of a registered DGSP */
	lapi_util_type_t Util_type;
	lapi_dg_handle_t dgsp_handle;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_resv_dgsp_t;

typedef struct { /* LAPI_UNRESERVE_DGSP: one user less; the last frees it */
	lapi_util_type_t Util_type;
	lapi_dg_handle_t dgsp_handle;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_dref_dgsp_t;

typedef struct { /* LAPI_REG_DDM_FUNC: replaces the DDM function of the handle */
	lapi_util_type_t Util_type;
	ddm_func_t *ddm_func;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_reg_ddm_t;

typedef struct { /* LAPI_DGSP_PACK: gathers in_buf by the DGSP into out_buf at position, which moves on */
	lapi_util_type_t Util_type;
	LAPI_EXTENSION union {
		lapi_dg_handle_t dgsp_handle;
		lapi_dg_handle_t dgsp;
	};
	void *in_buf;
	ulong bytes;
	void *out_buf;
	ulong out_size;
	ulong position;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_pack_dgsp_t;

typedef struct { /* LAPI_DGSP_UNPACK: scatters buf, from position, which moves on, by the DGSP into out_buf */
	lapi_util_type_t Util_type;
	LAPI_EXTENSION union {
		lapi_dg_handle_t dgsp_handle;
		lapi_dg_handle_t dgsp;
	};
	LAPI_EXTENSION union {
		void *buf;
		void *in_buf;
	};
	ulong in_size;
	void *out_buf;
	ulong bytes;
	ulong out_size;
	ulong position;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_unpack_dgsp_t;

typedef struct { /* LAPI_ADD_UDP_DEST_PORT: a task has come back at another address; standalone only */
	lapi_util_type_t Util_type;
	uint tgt;
	lapi_udp_t *udp_port;
	uint instance_no;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_add_udp_port_t;

typedef struct { /* LAPI_ADD_UDP_DEST_EXT: the same for IPv4 and IPv6 */
	lapi_util_type_t Util_type;
	uint tgt;
	lapi_udp_storage *udp_port;
	uint instance_no;
	lapi_usr_fcall_t in_usr_func;
	lapi_status_t status;
} lapi_add_udp_port_ext_t;

/*
 * The lock of a handle and condition variables for it (guide, Chapter 12). The lock is the library's own, recursive
 * and counted; its owner may make every LAPI call. All return 0 or an errno value: EINVAL for a bad handle, a NULL
 * pointer, or an unlock or wait by a thread that does not own the lock; trylock EBUSY if another thread owns it;
 * timedwait ETIMEDOUT when the absolute time (CLOCK_REALTIME) has passed. Waiting gives up the lock, however often
 * it was taken, and has it again on return.
 */
typedef int (*lapi_mutex_lock_t)(lapi_handle_t hndl);
typedef int (*lapi_mutex_unlock_t)(lapi_handle_t hndl);
typedef int (*lapi_mutex_trylock_t)(lapi_handle_t hndl);
typedef int (*lapi_mutex_getowner_t)(lapi_handle_t hndl, pthread_t *tid); /* LAPI_NULL_THREAD_ID: nobody */
typedef int (*lapi_cond_wait_t)(lapi_handle_t hndl, lapi_cond_t *cond);
typedef int (*lapi_cond_timedwait_t)(lapi_handle_t hndl, lapi_cond_t *cond, struct timespec *timeout);
typedef int (*lapi_cond_signal_t)(lapi_handle_t hndl, lapi_cond_t *cond);
typedef int (*lapi_cond_init_t)(lapi_handle_t hndl, lapi_cond_t *cond);
typedef int (*lapi_cond_destroy_t)(lapi_handle_t hndl, lapi_cond_t *cond);

typedef struct { /* LAPI_GET_THREAD_FUNC; all but Util_type out, valid until LAPI_Term */
	lapi_util_type_t Util_type;
	lapi_mutex_lock_t mutex_lock;
	lapi_mutex_unlock_t mutex_unlock;
	lapi_mutex_trylock_t mutex_trylock;
	lapi_mutex_getowner_t mutex_getowner;
	lapi_cond_wait_t cond_wait;
	lapi_cond_timedwait_t cond_timedwait;
	lapi_cond_signal_t cond_signal;
	lapi_cond_init_t cond_init;
	lapi_cond_destroy_t cond_destroy;
} lapi_thread_func_t;

typedef struct { /* LAPI_REMOTE_RCXT: gets or gives back a remote context for RDMA */
	lapi_util_type_t Util_type;
	lapi_rdma_req_t operation;
	int dest;
	lapi_user_cxt_t usr_rcxt;
} lapi_remote_cxt_t;

typedef struct { /* LAPI_XLATE_ADDRESS: registers memory for RDMA, or gives it back */
	lapi_util_type_t Util_type;
	uint length;
	lapi_user_pvo_t usr_pvo LAPI_ALIGN8;
	void *address;
	lapi_rdma_req_t operation;
} lapi_get_pvo_t;

/* Their members come with the RDMA transfers. */
typedef struct lapi_rdma_notification lapi_rdma_notification_t; /* LAPI_REGISTER_NOTIFICATION */
typedef struct lapi_trigger_util lapi_trigger_util_t;           /* LAPI_TRIGGER_ADD, LAPI_TRIGGER_REMOVE */
typedef struct lapi_stat_util lapi_stat_util_t;                 /* LAPI_STAT_SAVE */

/* What LAPI_Util is given: it looks at Util_type, then only at the member that this names. */
typedef union {
	lapi_util_type_t Util_type;
	lapi_reg_dgsp_t RegDgsp;
	lapi_dref_dgsp_t DrefDgsp;
	lapi_resv_dgsp_t ResvDgsp;
	lapi_reg_ddm_t DdmFunc;
	lapi_add_udp_port_t Udp;
	lapi_pack_dgsp_t PackDgsp;
	lapi_unpack_dgsp_t UnpackDgsp;
	lapi_thread_func_t ThreadFunc;
	lapi_add_udp_port_ext_t UdpExt;
	lapi_remote_cxt_t RemoteCxt;
	lapi_get_pvo_t GetPvo;
} lapi_util_t;

/* ---- 9. Calls (guide, Chapters 18 and 19: one man page each) ---- */

/*
 * LAPI_Init makes a context and stores its handle in *hndl. Every task of the job must call it. lapi_info (never
 * NULL, zeroed by the caller before it sets fields, read during the call) says how; its protocol is set. The
 * environment says who and where the tasks are: guide, Appendix D. Blocks until the tasks know each other.
 * Errors: LAPI_ERR_HNDL_INVALID (hndl NULL), _INFO_NULL, _INFO_NONZERO, _ALL_HNDL_IN_USE, _NO_ENV_VAR, _MSG_API,
 * _NO_NETSTR_SET, _BOTH_NETSTR_SET, _CSS_LOAD_FAILED, _NO_UDP_HNDLR, _USER_UDP_HNDLR_FAIL, _UDP_PKT_SZ, _UDP_SOCKET,
 * _SHM_SETUP, _PSS_NON_ROOT, _MEMORY_EXHAUSTED, _UNKNOWN; a message on standard error explains the environment's.
 */
int LAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info);

/*
 * LAPI_Term ends a context. Waits, at most TIMEOUT seconds, until all that this task sent is acknowledged; then ends
 * the library's threads and releases everything. Other threads must have left the context. May be called by
 * another thread than LAPI_Init, from exit handlers and from the error handler. Messages of tasks that have not ended
 * are lost: a LAPI_Gfence before it is usual.
 */
int LAPI_Term(lapi_handle_t hndl);

/*
 * LAPI_Qenv stores the answer to a query in *ret_val, which is an int or, for some queries, the type given at
 * lapi_query_t. Errors: LAPI_ERR_QUERY_TYPE; LAPI_ERR_RET_PTR_NULL, for PRINT_STATISTICS too.
 */
int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val);

/*
 * LAPI_Senv sets TIMEOUT (seconds, MIN_TIMEOUT to MAX_TIMEOUT), ACK_THRESHOLD (packets, 1 to 30), ERROR_CHK or
 * INTERRUPT_SET (0 or 1) for this task, at once. Errors: LAPI_ERR_QUERY_TYPE for any other, LAPI_ERR_SET_VAL for a
 * value out of range; then nothing changes.
 */
int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);

/*
 * LAPI_Msg_string writes the text for a return code to buf, which has LAPI_MAX_ERR_STRING bytes. Codes of the
 * operating system (errno) are known too. Needs no handle. Errors: LAPI_ERR_RET_PTR_NULL; LAPI_ERR_CODE_UNKNOWN, buf
 * is empty then; LAPI_ERR_CATALOG_FAIL when the locale is not English and its catalogue cannot be opened, buf is
 * English then.
 */
int LAPI_Msg_string(int error_code, void *buf);

/*
 * LAPI_Address stores my_addr in *ret_addr: addresses as numbers, for Fortran. Needs no handle. Errors:
 * LAPI_ERR_ORG_ADDR_NULL (my_addr), LAPI_ERR_TGT_ADDR_NULL (ret_addr).
 */
int LAPI_Address(void *my_addr, ulong *ret_addr);

/*
 * LAPI_Address_init gives each task the my_addr of every task: add_tab[i] is task i's. A collective call: all tasks,
 * in the same order as other collective calls. Any value goes, NULL too. add_tab has NUM_TASKS entries. It
 * implies no completion of other operations. Errors: LAPI_ERR_RET_PTR_NULL (add_tab), LAPI_ERR_TGT_PURGED,
 * LAPI_ERR_COLLECTIVE_PSS.
 */
int LAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[]);

/* LAPI_Address_init64 is LAPI_Address_init for 64-bit values, for jobs of tasks with different word sizes. */
int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab);

/*
 * LAPI_Addr_set registers addr (NULL: takes it back) under the index addr_hndl, 1 to LOC_ADDRTBL_SZ - 1, of this task.
 * Such an index may be named as header handler by every task. Errors: LAPI_ERR_ADDR_HNDL_RANGE.
 */
int LAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl);

/*
 * LAPI_Addr_get stores the address registered under addr_hndl in *addr, NULL if there is none. Errors:
 * LAPI_ERR_ADDR_HNDL_RANGE, LAPI_ERR_RET_PTR_NULL.
 */
int LAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl);

/*
 * LAPI_Put copies len bytes from org_addr to tgt_addr at task tgt. Does not block. tgt_cntr, at the target, rises by 1
 * when the data is there; org_cntr when org_addr may be changed; cmpl_cntr when this task knows that the data is
 * there. len may be 0, the addresses then NULL. No order is kept between operations. Errors: LAPI_ERR_TGT,
 * LAPI_ERR_DATA_LEN, LAPI_ERR_ORG_ADDR_NULL, LAPI_ERR_TGT_ADDR_NULL, LAPI_ERR_TGT_PURGED; an address
 * that cannot be accessed is reported to the error handler of the task where it lies.
 */
int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
             lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);

/*
 * LAPI_Get copies len bytes from tgt_addr at task tgt to org_addr. Does not block. org_cntr rises by 1 when the data is
 * there; tgt_cntr, at the target, when tgt_addr may be changed. Errors as LAPI_Put.
 */
int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
             lapi_cntr_t *org_cntr);

/*
 * LAPI_Amsend sends an active message: uhdr_len bytes of user header and udata_len bytes of data. At the target the
 * header handler hdr_hdl (an address at the target, or an index of its LAPI_Addr_set) says where the data goes. Does
 * not block. uhdr_len is at most MAX_UHDR_SZ. tgt_cntr and cmpl_cntr rise by 1 after the completion handler has
 * returned, or without one when the data is there; org_cntr when uhdr and udata may be changed (up to BUF_CP_SIZE
 * bytes of both: on return). Errors: LAPI_ERR_TGT, LAPI_ERR_HDR_HNDLR_NULL, LAPI_ERR_UHDR_NULL, LAPI_ERR_UHDR_LEN,
 * LAPI_ERR_HDR_LEN, LAPI_ERR_ORG_ADDR_NULL, LAPI_ERR_DATA_LEN, LAPI_ERR_TGT_PURGED.
 */
int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata, ulong udata_len,
                lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);

/*
 * LAPI_Rmw changes the int at tgt_var of task tgt by op and *in_val, in one atomic step, and stores what was there
 * before in *prev_tgt_val (NULL: not wanted). COMPARE_AND_SWAP: in_val is an array of 2, *prev_tgt_val gets 1 if the
 * swap was made, else 0. Does not block; *in_val is read before the return; org_cntr rises by 1 when
 * *prev_tgt_val is there. Errors: LAPI_ERR_TGT, LAPI_ERR_RMW_OP, LAPI_ERR_TGT_VAR_NULL, LAPI_ERR_IN_VAL_NULL,
 * LAPI_ERR_TGT_PURGED.
 */
int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val, int *prev_tgt_val,
             lapi_cntr_t *org_cntr);

/* LAPI_Rmw64 is LAPI_Rmw for 64-bit variables. */
LAPI_EXTENSION int LAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                              long long *prev_tgt_val, lapi_cntr_t *org_cntr);

/* LAPI_Setcntr sets a counter to val, atomically; a new counter must be set first. Error: LAPI_ERR_CNTR_NULL. */
int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val);

/*
 * LAPI_Getcntr stores a counter's value in *val. It does not drive communication. Errors: LAPI_ERR_CNTR_NULL,
 * LAPI_ERR_RET_PTR_NULL.
 */
int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val);

/*
 * LAPI_Waitcntr blocks until the counter is at least val, subtracts val, and stores the rest in *cur_cntr_val (NULL:
 * not wanted). Drives communication. Several threads may wait, each for a counter of its own. Errors:
 * LAPI_ERR_CNTR_NULL, LAPI_ERR_MULTIPLE_WAITERS (another thread waits for this counter).
 */
int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);

/* LAPI_Probe drives communication once. Does not block. */
int LAPI_Probe(lapi_handle_t hndl);

/*
 * LAPI_Msgpoll drives communication until a message of the user is complete, at most cnt times, and tells in
 * info->status what was completed since the last LAPI_Msgpoll, in whatever call. Error: LAPI_ERR_MSG_INFO_NULL.
 */
int LAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info);

/*
 * LAPI_Fence blocks until the data of all operations begun by this task, in any thread, before the call is at its
 * place. It does not wait for completion handlers.
 */
int LAPI_Fence(lapi_handle_t hndl);

/*
 * LAPI_Gfence is a LAPI_Fence of all tasks: a collective call that returns when every task's data is at its place.
 * Errors: LAPI_ERR_TGT_PURGED, LAPI_ERR_COLLECTIVE_PSS.
 */
int LAPI_Gfence(lapi_handle_t hndl);

/*
 * LAPI_Putv and LAPI_Getv are LAPI_Put and LAPI_Get between two vectors of one type, which must fit each other.
 * Getv's data goes from tgt_vec to org_vec. The descriptions are the caller's again when the origin counter has
 * risen. Errors: LAPI_ERR_TGT, LAPI_ERR_TGT_PURGED, and the codes from LAPI_ERR_ORG_EXTENT to LAPI_ERR_VEC_LEN_DIFF
 * that name a vector.
 */
int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr);

/*
 * LAPI_Amsendv is LAPI_Amsend with a vector of data. hdr_hdl is a vhdr_hndlr_t, which returns the target's vector.
 */
int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, lapi_vec_t *org_vec,
                 lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);

/*
 * LAPI_Xfer makes the transfer described by *xfer_cmd, which is read before the return. Errors: LAPI_ERR_XFER_CMD (also
 * for LAPI_RDMA_XFER, which this release does not have), those of the call that makes the same transfer; for DGSPs the
 * LAPI_ERR_DGSP codes; LAPI_ERR_OP_SZ; LAPI_ERR_TGT also for a group that does not exist.
 */
int LAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd);

/*
 * LAPI_Util does what *util_cmd asks for, and stores the results there. hndl is not looked at for registering,
 * reserving and unreserving a DGSP. Errors: LAPI_ERR_UTIL_CMD, LAPI_ERR_UDP_PORT_INFO, LAPI_ERR_PACK_SZ,
 * LAPI_ERR_MEMORY_EXHAUSTED, the LAPI_ERR_DGSP codes.
 */
int LAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd);

/*
 * LAPI_Setcntr_wstatus sets a counter to 0 and hangs a list of num_dest tasks on it (NULL: none), with what becomes of
 * the message of each in dest_status (LAPI_MSG_INITIAL and its like), for LAPI_Nopoll_wait. Both lists have num_dest
 * entries, are the user's and stay until the counter is set anew. Needs L2_LIB or later. Errors: LAPI_ERR_CNTR_NULL,
 * LAPI_ERR_RET_PTR_NULL (a dest_list without dest_status), LAPI_ERR_TGT (an entry that is no task),
 * LAPI_ERR_UNKNOWN (L1_LIB).
 */
int LAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list, int *dest_status);

/*
 * LAPI_Nopoll_wait is LAPI_Waitcntr without polling: the thread sleeps until something arrives. One thread for each
 * counter.
 * Needs L2_LIB or later. Errors: LAPI_ERR_CNTR_NULL, LAPI_ERR_CNTR_VAL (val 0 or less), LAPI_ERR_MULTIPLE_WAITERS,
 * LAPI_ERR_TGT_PURGED (a task of the counter's list was purged).
 */
int LAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr_ptr, int val, int *cur_cntr_val);

/*
 * LAPI_Purge_totask gives up all that is under way to and from task dest; operations towards it then fail with
 * LAPI_ERR_TGT_PURGED, and collective calls fail with it for good. LAPI_Resume_totask allows operations again, with the
 * task that has come back or has purged and resumed this one. Errors: LAPI_ERR_TGT, LAPI_ERR_NO_CONNECTIVITY (Resume).
 */
int LAPI_Purge_totask(lapi_handle_t hndl, uint dest);
int LAPI_Resume_totask(lapi_handle_t hndl, uint dest);

/*
 * LAPI_Group_create makes a group of the num_tasks different tasks in task_list, which is copied, for LAPI_MC_XFER, and
 * stores its name in *group. Only this context knows it. LAPI_Group_free ends its use; what has begun goes on. Neither
 * waits. Errors: LAPI_ERR_RET_PTR_NULL, LAPI_ERR_TGT (num_tasks is not 1 to NUM_TASKS, an entry is no task or comes
 * twice; no such group), LAPI_ERR_MEMORY_EXHAUSTED (16384 groups).
 */
int LAPI_Group_create(lapi_handle_t hndl, uint num_tasks, uint *task_list, lapi_group_t *group);
int LAPI_Group_free(lapi_handle_t hndl, lapi_group_t group);

/* ---- 10. Profiling entry points (guide, Chapter 9): each is the call of section 9 itself ---- */

int PLAPI_Init(lapi_handle_t *hndl, lapi_info_t *lapi_info);
int PLAPI_Term(lapi_handle_t hndl);
int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int *ret_val);
int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);
int PLAPI_Msg_string(int error_code, void *buf);
int PLAPI_Address(void *my_addr, ulong *ret_addr);
int PLAPI_Address_init(lapi_handle_t hndl, void *my_addr, void *add_tab[]);
int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t *add_tab);
int PLAPI_Addr_set(lapi_handle_t hndl, void *addr, int addr_hndl);
int PLAPI_Addr_get(lapi_handle_t hndl, void **addr, int addr_hndl);
int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void *tgt_addr, void *org_addr, lapi_cntr_t *tgt_cntr,
              lapi_cntr_t *org_cntr);
int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, void *udata, ulong udata_len,
                 lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int *tgt_var, int *in_val, int *prev_tgt_val,
              lapi_cntr_t *org_cntr);
LAPI_EXTENSION int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long *tgt_var, long long *in_val,
                               long long *prev_tgt_val, lapi_cntr_t *org_cntr);
int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val);
int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int *val);
int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t *cntr, int val, int *cur_cntr_val);
int PLAPI_Probe(lapi_handle_t hndl);
int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t *info);
int PLAPI_Fence(lapi_handle_t hndl);
int PLAPI_Gfence(lapi_handle_t hndl);
int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
               lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t *tgt_vec, lapi_vec_t *org_vec, lapi_cntr_t *tgt_cntr,
               lapi_cntr_t *org_cntr);
int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void *hdr_hdl, void *uhdr, uint uhdr_len, lapi_vec_t *org_vec,
                  lapi_cntr_t *tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr);
int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t *xfer_cmd);
int PLAPI_Util(lapi_handle_t hndl, lapi_util_t *util_cmd);
int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t *cntr, int num_dest, uint *dest_list, int *dest_status);
int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t *cntr_ptr, int val, int *cur_cntr_val);
int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest);
int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest);
int PLAPI_Group_create(lapi_handle_t hndl, uint num_tasks, uint *task_list, lapi_group_t *group);
int PLAPI_Group_free(lapi_handle_t hndl, lapi_group_t group);

/*
 * The same for Fortran programs (lapif.h): what a profiling library calls whose lapi_put, lapi_init and so on stand in
 * front of the library's, by whichever of its names a compiler calls them. Everything is passed by its address; *ierror
 * becomes the result. A program that declares these names by itself defines LAPI_NO_FORTRAN_NAMES before.
 */
#ifndef LAPI_NO_FORTRAN_NAMES
int plapi_addr_get(lapi_handle_t *hndl, void **addr, int *addr_hndl, int *ierror);
int plapi_addr_set(lapi_handle_t *hndl, void *addr, int *addr_hndl, int *ierror);
int plapi_address(void *my_addr, void **ret_addr, int *ierror);
int plapi_address_init(lapi_handle_t *hndl, void **my_addr, void *add_tab, int *ierror);
int plapi_address_init64(lapi_handle_t *hndl, void **my_addr, lapi_long_t *add_tab, int *ierror);
int plapi_amsend(lapi_handle_t *hndl, uint *tgt, void *hdr_hdl, void *uhdr, uint *uhdr_len, void *udata, ulong
                 *udata_len, void **tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *ierror);
int plapi_amsendv(lapi_handle_t *hndl, uint *tgt, void *hdr_hdl, void *uhdr, uint *uhdr_len, lapi_vec_t *org_vec, void
                  **tgt_cntr, lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *ierror);
int plapi_fence(lapi_handle_t *hndl, int *ierror);
int plapi_get(lapi_handle_t *hndl, uint *tgt, ulong *len, void **tgt_addr, void *org_addr, void **tgt_cntr,
              lapi_cntr_t *org_cntr, int *ierror);
int plapi_getcntr(lapi_handle_t *hndl, lapi_cntr_t *cntr, int *val, int *ierror);
int plapi_getv(lapi_handle_t *hndl, uint *tgt, void *tgt_vec, lapi_vec_t *org_vec, void **tgt_cntr, lapi_cntr_t
               *org_cntr, int *ierror);
int plapi_gfence(lapi_handle_t *hndl, int *ierror);
int plapi_init(lapi_handle_t *hndl, lapi_info_t *lapi_info, int *ierror);
int plapi_msg_string(int *error_code, void *buf, int *ierror);
int plapi_msgpoll(lapi_handle_t *hndl, uint *cnt, lapi_msg_info_t *info, int *ierror);
int plapi_probe(lapi_handle_t *hndl, int *ierror);
int plapi_put(lapi_handle_t *hndl, uint *tgt, ulong *len, void **tgt_addr, void *org_addr, void **tgt_cntr,
              lapi_cntr_t *org_cntr, lapi_cntr_t *cmpl_cntr, int *ierror);
int plapi_putv(lapi_handle_t *hndl, uint *tgt, void *tgt_vec, lapi_vec_t *org_vec, void **tgt_cntr, lapi_cntr_t
               *org_cntr, lapi_cntr_t *cmpl_cntr, int *ierror);
int plapi_qenv(lapi_handle_t *hndl, lapi_query_t *query, int *ret_val, int *ierror);
int plapi_rmw(lapi_handle_t *hndl, RMW_ops_t *op, uint *tgt, void **tgt_var, int *in_val, int *prev_tgt_val,
              lapi_cntr_t *org_cntr, int *ierror);
LAPI_EXTENSION int plapi_rmw64(lapi_handle_t *hndl, Rmw_ops_t *op, uint *tgt, void **tgt_var, long long *in_val, long
                               long *prev_tgt_val, lapi_cntr_t *org_cntr, int *ierror);
int plapi_senv(lapi_handle_t *hndl, lapi_query_t *query, int *set_val, int *ierror);
int plapi_setcntr(lapi_handle_t *hndl, lapi_cntr_t *cntr, int *val, int *ierror);
int plapi_term(lapi_handle_t *hndl, int *ierror);
int plapi_util(lapi_handle_t *hndl, lapi_util_t *util_cmd, int *ierror);
int plapi_waitcntr(lapi_handle_t *hndl, lapi_cntr_t *cntr, int *val, int *cur_cntr_val, int *ierror);
int plapi_xfer(lapi_handle_t *hndl, lapi_xfer_t *xfer_cmd, int *ierror);
int plapi_nopoll_wait(lapi_handle_t *hndl, lapi_cntr_t *cntr, int *val, int *cur_cntr_val, int *ierror);
int plapi_purge_totask(lapi_handle_t *hndl, uint *dest, int *ierror);
int plapi_resume_totask(lapi_handle_t *hndl, uint *dest, int *ierror);
int plapi_setcntr_wstatus(lapi_handle_t *hndl, lapi_cntr_t *cntr, int *num_dest, uint *dest_list, int *dest_status,
                          int *ierror);
int plapi_group_create(lapi_handle_t *hndl, uint *count, uint *task_list, lapi_group_t *group, int *ierror);
int plapi_group_free(lapi_handle_t *hndl, lapi_group_t *group, int *ierror);
#endif

#if defined(__GNUC__) && defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC diagnostic pop
#endif

#ifdef __cplusplus
}
#endif

#endif
