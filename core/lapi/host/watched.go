package host

import (
	"lapi/core/lapi/codes"
	"lapi/transport"
)

// Watched is a Host that reports its calls of handlers: what is called, for which task (-1: none),
// for a message of how many bytes; and the result.
type Watched struct {
	Host
	Began func(name string, task int32, n uint64, handler transport.Addr)
	Ended func(task int32, code int32)
}

// HeaderHandler is Host's.
func (w *Watched) HeaderHandler(k *HeaderCall, r *HeaderResult) {
	w.Began("header handler", k.Src, k.MsgLen, k.Handler)
	w.Host.HeaderHandler(k, r)
	w.Ended(k.Src, r.CtlFlags)
}

// SendHandler is Host's.
func (w *Watched) SendHandler(handler, info transport.Addr, tgt int32, reason codes.Code) {
	w.Began("send handler", tgt, 0, handler)
	w.Host.SendHandler(handler, info, tgt, reason)
	w.Ended(tgt, int32(reason))
}

// CompletionHandler is Host's.
func (w *Watched) CompletionHandler(handler, info transport.Addr) {
	w.Began("completion handler", -1, 0, handler)
	w.Host.CompletionHandler(handler, info)
	w.Ended(-1, 0)
}
