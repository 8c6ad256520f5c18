package udp

// Usage is the memory that a Machine holds at the moment, for tests and diagnosis.
type Usage struct {
	Packets           int // between Send and their acknowledgement
	MostPackets       int // that there may be
	RetransmitBuffers int // of those that hold data of such packets
	Partial           int // received packets of which some messages were accepted and some refused
	Incomplete        int // received packets of which parts are missing
	Timers            int // peers whose timers run
	// by path: packets that want an answer, sent so far
	Transmissions [MaxPaths]uint64
}

// Usage counts; its cost is in proportion to the number of tasks.
func (m *Machine) Usage() (u Usage) {
	u.Packets = m.pool.InUse()
	u.MostPackets = m.pool.Heads.Most
	u.RetransmitBuffers = m.pool.Retransmit.InUse()
	for _, p := range m.peers {
		if p != nil {
			u.Partial += len(p.receiver.accepted)
			u.Incomplete += len(p.receiver.partials)
			for i := range p.paths.Len() {
				u.Transmissions[i] += p.paths.At(i).Transmissions()
			}
		}
	}
	u.Timers = len(m.timers.active)
	return u
}
