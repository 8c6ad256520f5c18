//go:build amd64 || arm64 || 386 || arm || ppc64le || riscv64 || s390x

#include "textflag.h"
#include "funcdata.h"

// func room()
// The check of the stack that the assembler puts in front of a frame of this size is all that it is for.
TEXT ·room(SB), 0, $2359296-0
	NO_LOCAL_POINTERS
	RET
