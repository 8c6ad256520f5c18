package device

import (
	"lapi/core/dat/rc"
	"lapi/cshim/dat/dev"
	"lapi/transport/ibv"
)

// statuses are the DAT_DTO_COMPLETION_STATUS of each status of adapters.
var statuses = map[ibv.Status]rc.Status{ibv.Success: rc.Success, ibv.WRFlushErr: rc.Flushed,
	ibv.LocLenErr: rc.LocalLength, ibv.LocQPOpErr: localEP, ibv.LocProtErr: rc.LocalProtection,
	ibv.LocAccessErr: rc.LocalProtection, ibv.BadRespErr: rc.BadResponse,
	ibv.RemAccessErr: rc.RemoteAccess, ibv.RemInvReqErr: rc.RemoteResponder,
	ibv.RemOpErr: rc.RemoteResponder, ibv.RNRRetryErr: notReady}

// report reports a failure, unless it is that of another request.
func (k *Device) report(n *dev.Notice, r *dev.Posted, add func(f *ibv.Failure)) {
	c := ibv.Completion{QPN: n.QPN(), Status: ibv.Status(n.Status()), VendorErr: n.VendorErr()}
	if c.Failed() {
		f := k.info.Report(&c)
		f.Local, f.Remote, f.N = r.Local, r.Remote, r.N
		add(&f)
		k.host.Report(f.String())
	}
}

// ops are requests as adapters know them.
var ops = [...]ibv.Op{dev.OpSend: ibv.OpSend, dev.OpWrite: ibv.OpWrite, dev.OpRead: ibv.OpRead,
	dev.OpSwap: ibv.OpCompareSwap, dev.OpAdd: ibv.OpFetchAdd, dev.OpBind: ibv.OpBind,
	dev.OpDatagram: ibv.OpSend}

// reportRequest reports that r has failed.
func (k *Device) reportRequest(n *dev.Notice, r *dev.Posted) {
	k.report(n, r, func(f *ibv.Failure) {
		switch f.Op = ops[r.Op]; {
		case r.Flags&dev.Immediate != 0:
			f.Op = ibv.OpWriteImmediate
		case r.Flags&dev.Invalidate != 0:
			f.Op = ibv.OpSendInvalidate
		}
	})
}

// reportReceive reports that r has failed.
func (k *Device) reportReceive(n *dev.Notice, r *dev.Posted) {
	k.report(n, r, func(f *ibv.Failure) { f.Receive = true })
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
