package dat

import (
	"sync/atomic"
	"time"
	"unsafe"

	"lapi/core/job/wire"
	"lapi/transport/arena"
	"lapi/transport/layout"
)

// The protection table of a process (cshim/dat/rc/end.h) is looked up by its peers of the node
// before they write or read its memory by themselves. Each maps the other's, and only if both do
// may either copy: a process that withdraws a right must see the other's copies.
//
// Core writes the own table. To withdraw something is to clear it, and then to wait until each copy
// that may have found it is over.

// TableMaker is a Network whose processes can share tables.
type TableMaker interface {
	// Table makes memory of n bytes, which processes that have the file can map and only read.
	Table(n int) (b []byte, file int, err error)
	// PeerTable maps the memory of another process's file.
	PeerTable(file, n int) ([]byte, error)
	CloseTable(b []byte, file int)
	// Gone says whether a process of this node has ended.
	Gone(pid int) bool
}

const tableSize = int(unsafe.Sizeof(layout.DatTable{}))

// ownTable is this process's protection table.
type ownTable struct {
	*layout.DatTable
	bytes []byte
	file  int            // -1: no other process sees it
	peers *neighbourhood // processes that it is open to
}

// peerTable is another process's table, as it is mapped here.
type peerTable struct {
	bytes []byte
	// copies of a peer that is gone, or as good as: nobody waits for that one to end
	stuck uint64
}

func (t *peerTable) address() uint64 {
	if t.bytes == nil {
		return 0
	}
	return addressOf(t.bytes)
}

func (t *peerTable) table() *layout.DatTable {
	return (*layout.DatTable)(unsafe.Pointer(unsafe.SliceData(t.bytes)))
}

func (t *peerTable) copies() uint64 { return atomic.LoadUint64(&t.table().Copies) }

// openTable makes the own table. Where others cannot share it, it is C's alone. Nil: there is no
// memory.
func (h *neighbourhood) openTable() *ownTable {
	t := &ownTable{file: -1, peers: h}
	var err error
	if maker, ok := h.network.(TableMaker); ok && h.door {
		if t.bytes, t.file, err = maker.Table(tableSize); err != nil {
			t.file = -1
		}
	}
	if t.bytes == nil {
		if t.bytes, err = arena.Map(tableSize); err != nil {
			return nil
		}
	}
	t.DatTable = (*layout.DatTable)(unsafe.Pointer(unsafe.SliceData(t.bytes)))
	h.shared = t
	return t
}

// address is where the table is; 0: there is none.
func (t *ownTable) address() uint64 {
	if t == nil {
		return 0
	}
	return addressOf(t.bytes)
}

// close ends the table. If t is nil it does nothing.
func (t *ownTable) close() {
	switch {
	case t == nil:
	case t.file >= 0:
		t.peers.network.(TableMaker).CloseTable(t.bytes, t.file)
	default:
		arena.Unmap(t.bytes)
	}
}

// tell publishes to C and the peers what a context names; nil: nothing any more, and when tell
// returns no peer is at a copy by it.
func (t *ownTable) tell(context uint32, m *region) {
	i := context & layout.DatContextIndex
	if t == nil {
		return
	}
	c := &t.Names[i]
	if m == nil {
		atomic.StoreUint32(&c.Context, 0)
		t.peers.awaitCopies()
		return
	}
	c.Addr, c.N, c.Pz = m.addr, m.n, uint64(m.pz.handle)
	c.Privileges, c.Zerobased, c.Window = uint16(m.privileges), flag(m.zeroBased), flag(m.rmr != nil)
	atomic.StoreUint32(&c.Context, context)
}

// entry is the entry of e's connection; nil: there is none.
func (e *EP) entry() *layout.DatOpen {
	index, _ := e.conn.Name()
	t := e.ia.contexts.shared
	if t == nil || index >= layout.DatTableEnds {
		return nil
	}
	return &t.Ends[index]
}

// grant lets the peer access memory of e's protection zone by itself.
func (e *EP) grant() {
	o := e.entry()
	if o == nil || e.peer.data == nil || e.peer.data.node == nil {
		return
	}
	o.Pz = uint64(e.PZ.handle)
	atomic.StoreUint32(&o.Tag, 0) // the earlier connection's peer finds no entry
	atomic.StoreUint32(&o.Done, 0)
	_, tag := e.conn.Name()
	atomic.StoreUint32(&o.Tag, tag)
	atomic.StoreUint32(&o.Open, 1)
}

// revoke ends grant: when it returns the peer makes no copy any more.
func (e *EP) revoke() {
	o := e.entry()
	if o == nil {
		return
	}
	_, tag := e.conn.Name()
	if atomic.LoadUint32(&o.Open) == 0 || atomic.LoadUint32(&o.Tag) != tag {
		return
	}
	atomic.StoreUint32(&o.Open, 0)
	e.ia.library.node.awaitCopies()
}

// words is where the two ends say to each other how far requests have come: addresses of the
// connection's entries in both tables, index that in the peer's; 0: by messages only.
func (e *EP) words(index uint32) (own, peers uint64) {
	o := e.entry()
	t := &e.peer.data.node.table
	if o == nil || e.ia.contexts.shared.file < 0 || t.bytes == nil || index >= layout.DatTableEnds {
		return 0, 0
	}
	return uint64At(o), uint64At(&t.table().Ends[index])
}

// awaitCopies waits for the copies that are under way.
func (h *neighbourhood) awaitCopies() {
	for _, n := range h.list {
		if n.table.bytes != nil && !n.inside {
			h.awaitCopy(n)
		}
	}
}

const (
	copyLooks = 2000 // at a copy, before this thread sleeps
	copyPause = 50e3 // ns: between looks then
)

// awaitCopy waits for a peer's copy, which it makes under its own lock: so there is one at most. A
// copy is of a megabyte at most. The mark of a killed process stays, and a stopped process is
// regarded as gone after the timeout.
func (h *neighbourhood) awaitCopy(n *neighbour) {
	was := n.table.copies()
	if was&1 == 0 || was == n.table.stuck {
		return
	}
	for range copyLooks {
		if n.table.copies() != was {
			return
		}
	}
	pid := n.pid()
	for until := h.clock() + h.timeout; n.table.copies() == was; {
		if h.network.(TableMaker).Gone(pid) || h.clock() >= until {
			n.table.stuck = was
			return
		}
		time.Sleep(copyPause)
	}
}

// pid is the number of the other process.
func (n *neighbour) pid() int {
	link, ok := n.data.link.(laneLink)
	if !ok {
		return 0
	}
	peer, _ := link.NodePeer(n.peer().ep)
	return int(peer.Pid)
}

// withTable is the files of a greeting: those of the link, and that of the own table. The answering
// side adds its table only if it has the peer's.
func (h *neighbourhood) withTable(n *neighbour, kind wire.Kind, files []int) []int {
	t := h.shared
	if t == nil || t.file < 0 || kind == wire.Welcome && n.table.bytes == nil {
		return files
	}
	return append(files[:len(files):len(files)], t.file)
}

// mapTable maps the table that has come with a greeting; false: the peer may count on it, and it
// cannot be.
func (h *neighbourhood) mapTable(n *neighbour, m *wire.Message) bool {
	t := h.shared
	if t == nil || t.file < 0 || len(m.Files) == 0 {
		return true
	}
	b, err := h.network.(TableMaker).PeerTable(m.Files[0], tableSize)
	if err == nil {
		n.table.bytes = b
	}
	return err == nil || m.Kind == wire.Hello
}

// mapOwnTable gives an end within this process the own table.
func (h *neighbourhood) mapOwnTable(n *neighbour) {
	if t := h.shared; t != nil {
		n.table.bytes = t.bytes
	}
}

// unmapTable is the end of that.
func (h *neighbourhood) unmapTable(n *neighbour) {
	if n.table.bytes != nil && !n.inside {
		h.network.(TableMaker).CloseTable(n.table.bytes, -1)
		n.table.bytes = nil
	}
}
