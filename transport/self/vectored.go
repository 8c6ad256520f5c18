package self

import (
	"lapi/transport"
	"lapi/transport/memory"
)

// PutVector implements transport.Vectored: copies.
func (l *Link) PutVector(ep transport.Endpoint, local, remote []transport.Range) error {
	return l.copyVector(ep, local, remote, true)
}

// GetVector implements transport.Vectored: copies.
func (l *Link) GetVector(ep transport.Endpoint, local, remote []transport.Range) error {
	return l.copyVector(ep, local, remote, false)
}

func (l *Link) copyVector(ep transport.Endpoint, local, remote []transport.Range, put bool) error {
	if err := l.check(ep); err != nil {
		return err
	}
	total := transport.Sum(local)
	if len(local) > transport.RangesMax || len(remote) > transport.RangesMax ||
		total != transport.Sum(remote) {
		return transport.ErrBadParam
	}
	for {
		local, remote = transport.Advance(local, 0), transport.Advance(remote, 0)
		if len(local) == 0 {
			break
		}
		n := min(local[0].N, remote[0].N)
		dst, src := local[0].Addr, remote[0].Addr
		if put {
			dst, src = src, dst
		}
		if err := memory.Copy(dst, src, n); err != nil {
			return side(&transport.Op{Local: local[0].Addr, N: n}, err)
		}
		local, remote = transport.Advance(local, n), transport.Advance(remote, n)
	}
	if total > 0 {
		l.stats.PacketsSent++
		l.stats.PacketsReceived++
		l.stats.DataSent += total
		l.stats.DataReceived += total
	}
	return nil
}
