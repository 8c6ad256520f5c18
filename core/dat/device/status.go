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

func statusOf(s ibv.Status) rc.Status {
	if to, ok := statuses[s]; ok {
		return to
	}
	return rc.Transport
}
