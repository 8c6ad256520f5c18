// Package receive is the target's side of active messages, and counts the fragments of other
// messages.
//
//	receive.go     Receiver: arrival
//	reassembly.go  fragments: kept until their header is here, placed, counted
//	header.go      the user's header handler: what it is shown, what it says
//	fetch.go       rendezvous: the target reads the origin's memory
//	unknown.go     messages whose header handler is not registered yet
//	tally.go       Tally: parts of puts and gets
//
// User memory is accessed under guard: memory.Guard must have run on the goroutine. Nothing is
// allocated in the steady state.
package receive

import (
	"lapi/core/lapi/codes"
	"lapi/core/lapi/dgsm"
	"lapi/core/lapi/faults"
	"lapi/core/lapi/handlers"
	"lapi/core/lapi/host"
	"lapi/core/lapi/peer"
	"lapi/core/lapi/placed"
	"lapi/core/lapi/send"
	"lapi/core/lapi/singlecopy"
	"lapi/core/lapi/vector"
	"lapi/core/lapi/wire"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

const (
	earlyMax = 4 << 20  // bytes of a peer's fragments kept until their header comes
	uhdrKept = 64 << 10 // bytes of memory that a message leaves to later ones
	// rendezvous of a peer over an adapter, each with a list of blocks, before others are refused
	fetchesMax = 64
)

// Config is what a Receiver needs of others.
type Config struct {
	Peers      []peer.Peer
	Host       *host.Host // looked at for each call
	Out        *send.Sender
	Copier     *singlecopy.Copier
	Faults     *faults.Reporter
	Placements *placed.Pool
	Clock      transport.Clock
	// Completed: all data of a message of p's is in place. inline: its completion handler runs
	// now.
	Completed func(p *peer.Peer, c handlers.Completion, inline bool)
	// Lost: a message of this task to itself is dropped; its fence returns code.
	Lost func(p *peer.Peer, code codes.Code)
}

// Receiver receives from all tasks of a job.
type Receiver struct {
	cfg     Config
	loader  vector.Loader
	ddm     dgsm.DDM // LAPI_REG_DDM_FUNC; nil: none
	indices *[wire.HandlerIndices]uint64
	own     [wire.HandlerIndices]uint64 // of indices, where the lane has none

	from    []origin
	whole   incoming // a message that came in one fragment
	free    *incoming
	uhdr    []byte // user header for the header handler: 8-aligned, writable, not on the Go heap
	lengths []byte // lengths of a vector's blocks, likewise
	call    host.HeaderCall
	result  host.HeaderResult
	unknown []unknown
}

// origin is what a Receiver keeps of one task's messages.
type origin struct {
	first *incoming
	early int // bytes in them that cannot be placed yet
	// rendezvous over an adapter among them
	fetches int
}

// New is a Receiver without messages.
func New(cfg Config) (*Receiver, error) {
	uhdr, err := arena.Map(wire.MaxUhdrSize)
	if err != nil {
		return nil, err
	}
	r := &Receiver{cfg: cfg, from: make([]origin, len(cfg.Peers)), uhdr: uhdr}
	r.indices = &r.own
	return r, nil
}

// Close releases the memory that header handlers were shown.
func (r *Receiver) Close() {
	arena.Unmap(r.uhdr)
	arena.Unmap(r.lengths)
}

// SetIndices makes the addresses of LAPI_Addr_set lie there, by index; 0: none.
func (r *Receiver) SetIndices(at *[wire.HandlerIndices]uint64) { r.indices = at }

// Indices is where they lie.
func (r *Receiver) Indices() *[wire.HandlerIndices]uint64 { return r.indices }

// SetDDM sets the function that combines scattered data with what is in memory; nil: none.
func (r *Receiver) SetDDM(ddm dgsm.DDM) { r.ddm = ddm }

// DDM is that function.
func (r *Receiver) DDM() dgsm.DDM { return r.ddm }

// SetCheck says whether vectors get the checks of ERROR_CHK.
func (r *Receiver) SetCheck(check bool) { r.loader.Check = check }

// incoming is an active message on its way from one task:
//
//	fragments before its header ──> early, kept
//	header, and all that leads the data, here ──> header handler runs ──> placed
//	all data here ──> completed
type incoming struct {
	message
	next *incoming
	id   uint32

	tgt vector.Vector // where the data goes, if vectored
	org vector.Vector // of a rendezvous: where it comes from

	p    *peer.Peer       // whose it is, and
	move *singlecopy.Move // what fetches the data, of a rendezvous over an adapter

	lead    []byte // user header, then lengths of a vector's blocks, when they come in fragments
	leadGot uint64 // bytes of lead that came in the stream
	early   []earlyPart
}

// message is what is known of any active message.
type message struct {
	am       wire.Am
	amv      wire.Amv
	vectored bool // MsgAmv: the header handler names a vector
	pieces   bool // MsgAmPieces: the data lies in blocks at the origin
	whole    bool // all data came in one fragment

	hasHeader bool   // the first message was accepted
	handled   bool   // the header handler has run
	buried    bool   // the data goes nowhere
	failed    bool   // an address was bad: the rest is counted and dropped
	inline    bool   // the completion handler runs at once
	counted   bool   // in origin.fetches
	fetching  bool   // move is under way
	beginning bool   // it is being begun
	received  uint64 // bytes of data

	buffer    transport.Addr
	handler   transport.Addr // completion handler and its parameter
	info      transport.Addr
	placement *placed.Placement // nil, or how the data goes to the buffer
	lengths   []byte            // of a vector's blocks
}

// earlyPart is a fragment that came before it could be placed.
type earlyPart struct {
	offset uint64 // of the stream
	data   []byte
}

// prefix is how many bytes of the stream precede the data.
func (in *incoming) prefix() (n uint64) {
	if in.am.Split {
		n = uint64(in.am.UhdrLen)
	}
	switch {
	case in.am.Listed:
		n += in.amv.List()
	case in.vectored && !in.am.Rendezvous:
		n += in.amv.Lengths()
	}
	return n
}

func (r *Receiver) find(p *peer.Peer, id uint32) *incoming {
	for in := r.from[p.ID].first; in != nil; in = in.next {
		if in.id == id {
			return in
		}
	}
	in := r.free
	if in == nil {
		in = new(incoming)
	} else {
		r.free = in.next
		in.org.Reset()
		in.tgt.Reset()
		if cap(in.lead) > uhdrKept {
			in.lead = nil
		}
		*in = incoming{early: in.early[:0], lead: in.lead[:0], org: in.org, tgt: in.tgt,
			move: in.move}
	}
	in.id = id
	in.next = r.from[p.ID].first
	r.from[p.ID].first = in
	return in
}

func (r *Receiver) drop(p *peer.Peer, in *incoming) {
	o := &r.from[p.ID]
	for at := &o.first; *at != nil; at = &(*at).next {
		if *at == in {
			*at = in.next
			break
		}
	}
	for i := range in.early {
		o.early -= len(in.early[i].data)
		in.early[i].data = nil
	}
	if in.counted {
		o.fetches--
	}
	r.cfg.Placements.Free(in.placement)
	in.placement = nil
	in.next = r.free
	r.free = in
}

// Busy says whether messages of p's are under way to here.
func (r *Receiver) Busy(p *peer.Peer) bool { return r.from[p.ID].first != nil }

// GiveUp drops everything that is under way from p.
func (r *Receiver) GiveUp(p *peer.Peer) {
	for r.from[p.ID].first != nil {
		r.drop(p, r.from[p.ID].first)
	}
	r.forgetUnknown(p)
}

// Am is the handler of MsgAm.
func (r *Receiver) Am(m *transport.Msg) transport.Verdict {
	var h wire.Am
	uhdr, ok := h.Decode(m.Hdr, len(m.Data))
	p := &r.cfg.Peers[m.From]
	if !ok {
		return p.Malformed()
	}
	// by far the most: nothing else will come
	if h.Length == uint64(len(m.Data)) && !h.Split && !h.Rendezvous {
		return r.handleOnly(p, r.onlyMessage(&h), uhdr, m.Data)
	}
	if h.Rendezvous && r.from[p.ID].fetches >= fetchesMax {
		return transport.Refuse
	}
	in := r.find(p, h.ID)
	if in.hasHeader {
		return p.Malformed()
	}
	in.am = h
	return r.begin(p, in, uhdr, m.Data)
}

// AmSmall is the handler of MsgAmSmall.
func (r *Receiver) AmSmall(m *transport.Msg) transport.Verdict {
	p := &r.cfg.Peers[m.From]
	h, uhdr, ok := wire.DecodeSmall(m)
	if !ok {
		return p.Malformed()
	}
	return r.handleOnly(p, r.onlyMessage(&h), uhdr, m.Data)
}

// Amv is the handler of MsgAmv.
func (r *Receiver) Amv(m *transport.Msg) transport.Verdict { return r.inBlocks(m, true) }

// AmPieces is the handler of MsgAmPieces.
func (r *Receiver) AmPieces(m *transport.Msg) transport.Verdict { return r.inBlocks(m, false) }

// inBlocks is either: the data lies in blocks at the origin. vectored: the header handler names a
// vector for it; else it is a rendezvous.
func (r *Receiver) inBlocks(m *transport.Msg, vectored bool) transport.Verdict {
	var h wire.Am
	var v wire.Amv
	p := &r.cfg.Peers[m.From]
	uhdr, ok := wire.DecodeAmv(&h, &v, m.Hdr, len(m.Data))
	if !ok || !vectored && (!h.Rendezvous || v.Kind != wire.VectorGeneric) {
		return p.Malformed()
	}
	if lengths := v.Lengths(); !h.Split && !h.Rendezvous &&
		lengths+h.Length == uint64(len(m.Data)) {
		in := r.onlyMessage(&h)
		in.tgt.Reset()
		in.vectored, in.amv, in.lengths = true, v, m.Data[:lengths]
		return r.handleOnly(p, in, uhdr, m.Data[lengths:])
	}
	if h.Rendezvous && r.from[p.ID].fetches >= fetchesMax {
		return transport.Refuse
	}
	if h.Rendezvous && v.Kind != wire.VectorStrided && h.Listed != p.OverAdapter() {
		return p.Malformed()
	}
	in := r.find(p, h.ID)
	if in.hasHeader {
		return p.Malformed()
	}
	in.vectored, in.pieces, in.am, in.amv = vectored, !vectored, h, v
	return r.begin(p, in, uhdr, m.Data)
}

// onlyMessage is a message that came in one fragment; it needs no bookkeeping.
func (r *Receiver) onlyMessage(h *wire.Am) *incoming {
	in := &r.whole
	in.message = message{am: *h, whole: true}
	return in
}

func (r *Receiver) handleOnly(p *peer.Peer, in *incoming, uhdr, data []byte) transport.Verdict {
	var onePacket transport.Addr
	if len(data) > 0 {
		onePacket = memory.AddrOf(data)
	}
	if v := r.runHeader(p, in, uhdr, onePacket); v == transport.Refuse {
		return v
	}
	return r.endOnly(p, in, data)
}

// endOnly ends a message that came in one fragment: its header handler has run.
func (r *Receiver) endOnly(p *peer.Peer, in *incoming, data []byte) transport.Verdict {
	r.place(p, in, 0, data)
	r.complete(p, in)
	r.cfg.Placements.Free(in.placement)
	in.placement = nil
	return transport.Accept
}

// Handled goes on with a MsgAmSmall whose header handler has run already, and returned result.
func (r *Receiver) Handled(m *transport.Msg, result *host.HeaderResult) transport.Verdict {
	p := &r.cfg.Peers[m.From]
	h, _, ok := wire.DecodeSmall(m)
	if !ok {
		return p.Malformed()
	}
	in := r.onlyMessage(&h)
	if v := r.heed(p, in, result); v == transport.Refuse {
		return v
	}
	return r.endOnly(p, in, m.Data)
}

// begin takes in the first message of several. uhdr is what of the user header came, data the
// beginning of the stream; some fragments may be here already. If the header handler then wants the
// message again (LAPI_DROP_PKT), everything is as if the first message had not come.
func (r *Receiver) begin(p *peer.Peer, in *incoming, uhdr, data []byte) transport.Verdict {
	refused, token := false, in.am.Token
	if in.am.Rendezvous && in.vectored && !p.OverAdapter() {
		switch err := r.fetchList(p, in); err.(type) {
		case nil:
		case *transport.FaultError:
			r.drop(p, in)
			return transport.Accept
		default:
			if err == errBadList {
				r.drop(p, in)
				return p.Malformed()
			}
			refused, in.am.Rendezvous = true, false // lengths and data come in fragments
		}
	}
	prefix := in.prefix()
	r.keepLead(in, uhdr, data, prefix)
	if in.leadGot == prefix {
		if v := r.runHeader(p, in, in.lead[:in.am.UhdrLen], 0); v == transport.Refuse {
			return v
		}
	}
	in.hasHeader = true
	if in.am.Rendezvous && p.OverAdapter() {
		in.counted = true
		r.from[p.ID].fetches++
	}
	r.takeLead(p, in, prefix)
	if in.handled {
		if in.am.Rendezvous {
			r.fetch(p, in)
		} else {
			r.place(p, in, 0, data[min(prefix, uint64(len(data))):])
		}
		r.goOn(p, in)
	}
	if refused {
		r.tellFetched(p, token, wire.FetchNothing)
	}
	return transport.Accept
}
