package main

// #include <stdio.h>
// #include <stdlib.h>
// #include <unistd.h>
// #include "context/golapi.h"
// #include "handlers/called.h"
// #include "lapi/process.h"
//
// static void print_out(const char *text) { fputs(text, stdout); fflush(stdout); }
import "C"

import (
	"strconv"
	"unsafe"

	"lapi/core/lapi"
	"lapi/core/lapi/codes"
	"lapi/transport"
)

// host calls the user's functions for one context (lapi.Host).
type host struct{ context C.int }

func (h host) HeaderHandler(k *lapi.HeaderCall, r *lapi.HeaderResult) {
	handler, uhdr, result := C.cshim_addr(k.Handler), C.cshim_addr(k.Uhdr),
		(*C.cshim_header_result)(unsafe.Pointer(r))
	if k.Vectored {
		C.cshim_call_vector_header(h.context, handler, uhdr, C.uint32_t(k.UhdrLen),
			C.cshim_addr(k.Lengths), C.int32_t(k.Src), C.cshim_addr(k.OnePacket), result)
		return
	}
	C.cshim_call_header(h.context, handler, uhdr, C.uint32_t(k.UhdrLen), C.uint64_t(k.MsgLen),
		C.int32_t(k.Src), C.cshim_addr(k.OnePacket), result)
}

func (h host) SendHandler(handler, info transport.Addr, tgt int32, reason codes.Code) {
	C.cshim_call_send_completion(h.context, C.cshim_addr(handler), C.cshim_addr(info),
		C.uint32_t(tgt), C.uint32_t(reason))
}

// The result is passed to C as it is.
var _ = [1]struct{}{}[unsafe.Sizeof(lapi.HeaderResult{})-unsafe.Sizeof(C.cshim_header_result{})]

func (h host) CompletionHandler(handler, info transport.Addr) {
	C.cshim_call_completion(h.context, C.cshim_addr(handler), C.cshim_addr(info))
}

func (h host) DDM(handler, in, inout transport.Addr, n uint64, operand, operation int32) int64 {
	return int64(C.cshim_call_ddm(h.context, C.cshim_addr(handler), C.cshim_addr(in),
		C.cshim_addr(inout), C.int64_t(n), C.int32_t(operand), C.int32_t(operation)))
}

// Message prints a line on the standard error if MP_INFOLEVEL is at least level.
func (h host) Message(level int, text string) {
	if level > 0 {
		value, _ := getenv("MP_INFOLEVEL")
		if n, err := strconv.Atoi(value); err != nil || n < level {
			return
		}
	}
	say("LAPI: " + text)
}

func (h host) Print(text string) {
	s := C.CString(text)
	defer C.free(unsafe.Pointer(s))
	C.print_out(s)
}

func (h host) ExitNotice(record []byte, sockets []int) {
	if len(sockets) == 0 {
		return
	}
	fds := make([]C.int, len(sockets))
	for i, fd := range sockets {
		fds[i] = C.int(fd)
	}
	C.cshim_exit_notice_set(h.context, unsafe.Pointer(&record[0]), C.size_t(len(record)),
		&fds[0], C.size_t(len(fds)))
}

func (h host) Exit(text string) {
	say("LAPI: " + text)
	C._exit(1)
}

//export golapi_next_error
func golapi_next_error(context C.int, e *C.cshim_error) (found C.int) {
	defer broke(context, "golapi_next_error", nil)
	if brokenContexts[context].is {
		return nextBroken(context, e)
	}
	event, ok := entered(context).NextError()
	if !ok {
		return 0
	}
	e.handler = C.cshim_addr(event.Handler)
	e.code, e._type, e.task, e.src = C.int32_t(event.Code), C.int32_t(event.Type),
		C.int32_t(event.Task), C.int32_t(event.Of)
	e.patience_ms = C.int32_t(event.Patience.Milliseconds())
	e.ends, e.failed, e.failed_here = 0, cFlag(event.Failed.Is),
		cFlag(event.Failed.Here)
	e.failed_peer, e.failed_addr = C.int32_t(event.Failed.Peer), C.cshim_addr(event.Failed.Addr)
	setText(e, event.Text)
	return 1
}

func cFlag(is bool) C.int32_t {
	if is {
		return 1
	}
	return 0
}

func setText(e *C.cshim_error, s string) {
	text := unsafe.Slice((*byte)(unsafe.Pointer(&e.text[0])), len(e.text))
	text[copy(text[:len(text)-1], s)] = 0
}

//export golapi_next_completion
func golapi_next_completion(context C.int, q *C.cshim_completion) (found C.int) {
	defer broke(context, "golapi_next_completion", nil)
	handler, info, id, ok := entered(context).NextCompletion()
	if !ok {
		return 0
	}
	q.handler, q.info, q.id = C.cshim_addr(handler), C.cshim_addr(info), C.uint64_t(id)
	return 1
}

//export golapi_completion_done
func golapi_completion_done(context C.int, id C.uint64_t) {
	defer broke(context, "golapi_completion_done", nil)
	entered(context).CompletionDone(uint64(id))
}
