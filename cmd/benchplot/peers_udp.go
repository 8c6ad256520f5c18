package main

// world is a comparison: its rows and who takes part.
type world struct {
	rows         []comparison
	participants func(plan) []participant
}

func (o *options) world() world {
	if o.udp {
		return world{comparisonsUDP(), participantsUDP}
	}
	return world{comparisons(), participants}
}

// Bare UDP: datagrams as large as may be, which a loopback interface takes in one piece; smaller ones with GSO and GRO are no faster there
// (transport/udp, BenchmarkStream).
const (
	bareOneWay = "bare one way"
	bareStream = "bare stream"
	bareRate   = "bare datagrams"
)

// comparisonsUDP lists the rows of make bench-udp. An operation may have a row beside the bare sockets and one beside the peers.
func comparisonsUDP() []comparison {
	const KiB, MiB = 1 << 10, 1 << 20
	return []comparison{
		{"put8", "put 8 B, one way, target counter; bare ping-pong", "put", "", 8, 1.35, "", bareOneWay},
		{"put-completed8", "put 8 B, completion counter", "put-completed", "", 8, 0.75, "", ""},
		{"am8", "active message 8 B, one way", "am", "", 8, 0, "", ""},
		{"am64k", "active message 64 KiB, one way", "am", "", 64 * KiB, 0.6, "", ""},
		{"put64k", "put 64 KiB, one way, target counter", "put", "", 64 * KiB, 0.6, "", ""},
		{"get8", "get 8 B", "get", "", 8, 0, "", ""},
		{"fetch-and-add", "fetch-and-add (LAPI_Rmw64)", "fetch-and-add", "", 8, 0, "", ""},
		{"put-bandwidth64k", "puts of 64 KiB, 64 outstanding", "put-bandwidth", "", 64 * KiB, 0, "", ""},
		{"put-bandwidth1m-bare", "puts of 1 MiB, 16 outstanding; bare stream", "put-bandwidth", "", MiB, 0.85, "", bareStream},
		{"put-bandwidth1m", "puts of 1 MiB, 16 outstanding", "put-bandwidth", "", MiB, 1.3, "", ""},
		{"put-rate8-bare", "8-byte puts, 64 outstanding; bare datagrams", "put-rate", "", 8, 10, "", bareRate},
		{"put-rate8", "8-byte puts, 64 outstanding", "put-rate", "", 8, 0, "", ""},
		{"loss1", "puts of 1 MiB, 1 % of datagrams lost; none lost", "put-bandwidth", "", MiB, 0.6, "lapi-loss1", "lapi"},
		{"loss10", "puts of 1 MiB, 10 % of datagrams lost; none lost", "put-bandwidth", "", MiB, 0.2, "lapi-loss10", "lapi"},
		{"mac", "puts of 1 MiB, LAPI_AUTH=mac; LAPI_AUTH=cookie", "put-bandwidth", "", MiB, 0, "lapi-mac", "lapi"},
		{"plain", "puts of 1 MiB, LAPI_UDP_GSO=off; on", "put-bandwidth", "", MiB, 0, "lapi-plain", "lapi"},
		{"packets1400", "puts of 1 MiB, MP_UDP_PACKET_SIZE=1400; 64 KiB", "put-bandwidth", "", MiB, 0, "lapi-1400", "lapi"},
	}
}

// participantsUDP lists everybody over the loopback interface's IP: ours in several settings, others over TCP.
func participantsUDP(p plan) []participant {
	tcp := []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}
	p.network = true
	return []participant{
		{side: Ours, name: "lapi", programs: p.lapi},
		p.setting("lapi-loss1", "LAPI_UDP_LOSS=1:1"),
		p.setting("lapi-loss10", "LAPI_UDP_LOSS=10:1"),
		p.setting("lapi-mac", "LAPI_AUTH=mac"),
		p.setting("lapi-plain", "LAPI_UDP_GSO=off"),
		p.setting("lapi-1400", "MP_UDP_PACKET_SIZE=1400"),
		{side: Peer, name: "ucx", needs: "ucx_perftest", debian: "ucx-utils", programs: p.ucx(ucxTests, tcp...)},
		{side: Peer, name: "ucx-tag", needs: "ucx_perftest", debian: "ucx-utils", programs: p.ucx(ucxTagTests, tcp...)},
		p.mpi("openmpi", "openmpi", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "osc", "pt2pt"),
		withEnvironment(p.mpi("mpich", "mpich"), append(tcp, "MPIR_CVAR_NOLOCAL=1")...),
		{side: Raw, name: bareOneWay, programs: p.bare("put", "udp-pingpong")},
		{side: Raw, name: bareStream, programs: p.bare("put-bandwidth", "udp-stream")},
		{side: Raw, name: bareRate, programs: p.bare("put-rate", "udp-rate")},
	}
}

// setting is ours with more in its environment, where its bandwidth is compared with that of the usual setting.
func (p plan) setting(name string, env ...string) participant {
	q := participant{side: Ours, name: name, programs: func(g *peerGroup, sizes []int) []program {
		if g.op != "put-bandwidth" {
			return nil
		}
		return p.lapi(g, sizes)
	}}
	return withEnvironment(q, env...)
}

// withEnvironment is q with more in its programs' environment.
func withEnvironment(q participant, env ...string) participant {
	inner := q.programs
	q.programs = func(g *peerGroup, sizes []int) []program {
		all := inner(g, sizes)
		for i := range all {
			all[i].env = append(append([]string{}, all[i].env...), env...)
		}
		return all
	}
	return q
}
