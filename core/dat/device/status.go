package device

import (
	"lapi/core/dat/rc"
	"lapi/transport/ibv"
)

// statuses are the DAT_DTO_COMPLETION_STATUS of each status of adapters.
var statuses = map[ibv.Status]rc.Status{ibv.Success: rc.Success, ibv.WRFlushErr: rc.Flushed,
	ibv.LocLenErr: rc.LocalLength, ibv.LocQPOpErr: localEP, ibv.LocProtErr: rc.LocalProtection,
	ibv.LocAccessErr: rc.LocalProtection, ibv.BadRespErr: rc.BadResponse,
	ibv.RemAccessErr: rc.RemoteAccess, ibv.RemInvReqErr: rc.RemoteResponder,
	ibv.RemOpErr: rc.RemoteResponder, ibv.RNRRetryErr: notReady}

// report reports a failure, unless it is that of another request.
func (k *Device) report(c *ibv.Completion, add func(f *ibv.Failure)) {
	if c.Failed() {
		f := k.info.Report(c)
		add(&f)
		k.host.Report(f.String())
	}
}

// reportRequest reports that r has failed.
func (k *Device) reportRequest(c *ibv.Completion, r *request) {
	k.report(c, func(f *ibv.Failure) {
		f.Op, f.N, f.Remote = ibv.OpBind, uint64(r.Bytes()), r.Addr
		if r.Op != rc.Bind {
			f.Op = opOf(r.Request)
		}
		if len(r.Segments) > 0 {
			f.Local = uint64(r.Segments[0].Addr)
		}
	})
}

// reportReceive reports that r has failed.
func (k *Device) reportReceive(c *ibv.Completion, r *rc.Receive) {
	k.report(c, func(f *ibv.Failure) {
		f.Receive = true
		for i, s := range r.Segments {
			if f.N += uint64(s.N); i == 0 {
				f.Local = uint64(s.Addr)
			}
		}
	})
}

// reportEvent reports an event of the device, or of one of its queue pairs.
func (k *Device) reportEvent(e *ibv.Event) {
	if text := e.Report(&k.info); text != "" {
		k.host.Report(text)
	}
}

func statusOf(s ibv.Status) rc.Status {
	if to, ok := statuses[s]; ok {
		return to
	}
	return rc.Transport
}
