//go:build linux && !cgo

#include "textflag.h"

#define LARGE 0x1000000         // smaller reservations are made: 16 MiB
#define SLOT 0x1000000000       // 64 GiB
#define FIRST 0x180000000000    // 24 TiB
#define END 0x280000000000      // 40 TiB
#define SYS_mmap 9
#define SYS_prlimit64 302
#define RLIMIT_AS 9
#define MAP_FIXED 0x10

// The run-time calls the function here instead of the system call, if there is one.
DATA _cgo_mmap+0(SB)/8, $·mmap(SB)
GLOBL _cgo_mmap(SB), NOPTR, $8

DATA ·nextSlot+0(SB)/8, $FIRST
GLOBL ·nextSlot(SB), NOPTR, $8

// C's arguments: DI address, SI bytes, DX protection, CX flags, R8 descriptor, R9 offset. Returns in
// AX the address or an error's number. Only what a function in C may change changes.
TEXT ·mmap(SB), NOSPLIT|NOFRAME, $0-0
	TESTQ	DX, DX                  // a reservation has no access
	JNE	map
	TESTQ	$MAP_FIXED, CX
	JNE	map
	CMPQ	SI, $LARGE
	JB	map
	MOVQ	$SLOT, AX
	CMPQ	SI, AX
	JA	map
	PUSHQ	DI
	PUSHQ	SI
	PUSHQ	DX
	PUSHQ	CX
	PUSHQ	R8
	PUSHQ	R9
	SUBQ	$16, SP                 // a struct rlimit
	MOVQ	$0, DI
	MOVQ	$RLIMIT_AS, SI
	MOVQ	$0, DX
	MOVQ	SP, R10
	MOVQ	$SYS_prlimit64, AX
	SYSCALL
	MOVQ	0(SP), R11
	ADDQ	$16, SP
	POPQ	R9
	POPQ	R8
	POPQ	CX
	POPQ	DX
	POPQ	SI
	POPQ	DI
	TESTQ	AX, AX
	JNE	map
	CMPQ	R11, $-1                // RLIM_INFINITY
	JEQ	map
	MOVQ	DI, AX
	TESTQ	DI, DI
	JNE	done
	MOVQ	$SLOT, AX
	LOCK
	XADDQ	AX, ·nextSlot(SB)
	MOVQ	$END, R11
	CMPQ	AX, R11
	JB	done
map:
	MOVQ	CX, R10
	MOVLQSX	R8, R8
	MOVQ	$SYS_mmap, AX
	SYSCALL
	CMPQ	AX, $0xfffffffffffff001
	JCS	done
	NEGQ	AX                      // the error's number
done:
	RET
