package udp

// Usage is what a Machine holds at the moment, for tests and diagnosis.
type Usage struct {
	Packets           int // between Send and their acknowledgement
	MostPackets       int // that there may be
	RetransmitBuffers int // of those that hold data of such packets
	Partial           int // received packets of which some messages were accepted and some refused
	Incomplete        int // received packets of which pieces are missing
	Timers            int // peers whose timers run
}

// Usage counts; its cost is in proportion to what it counts and to the number of tasks.
func (m *Machine) Usage() (u Usage) {
	u.Packets = m.pool.heads.made - len(m.pool.heads.free)
	for k := m.pool.free; k != nil; k = k.next {
		u.Packets--
	}
	u.MostPackets = m.pool.heads.max
	u.RetransmitBuffers = m.pool.rexes.made - len(m.pool.rexes.free)
	for _, p := range m.peers {
		if p != nil {
			u.Partial += len(p.parts)
			u.Incomplete += len(p.partials)
		}
	}
	u.Timers = len(m.active)
	return u
}
