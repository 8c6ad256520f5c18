package udp

// origins counts the peers whose data has come lately, so that each can be told its share of this task's sockets.
type origins struct {
	epoch   uint32 // counts the times of originsTime in which data came
	since   int64  // when it began
	now     int    // peers in it
	earlier int    // and in the one before
}

// count notes that data has come from p.
func (o *origins) count(now int64, p *peer) {
	if now-o.since >= int64(originsTime) || o.epoch == 0 {
		o.earlier = o.now
		if now-o.since >= 2*int64(originsTime) {
			o.earlier = 0
		}
		o.epoch, o.since, o.now = o.epoch+1, now, 0
	}
	if p.epoch != o.epoch {
		p.epoch = o.epoch
		o.now++
	}
}

// room is how many bytes each peer may have on its way to each of this task's sockets.
func (m *Machine) room() uint32 {
	return uint32(min(m.cfg.ReceiveBuffer/max(m.origins.now, m.origins.earlier, mostShare), 1<<30))
}
