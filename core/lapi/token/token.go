// Package token names operations that wait for an answer of a peer, so that a late or false answer
// finds nothing.
//
// A token is the index of a place in a table, and how often the place was used. It crosses the wire
// as 64 bits.
package token

// Item is what a Table keeps of each operation; T embeds it first thing. The zero Item is in no
// table.
type Item struct {
	token uint64
	seq   uint64 // number of the operation
	used  bool
}

// Token is the operation's.
func (i *Item) Token() uint64 { return i.token }

// Seq is the number with which it was issued.
func (i *Item) Seq() uint64 { return i.seq }

type item[T any] interface {
	*T
	entry() *Item
}

func (i *Item) entry() *Item { return i }

// Table holds operations under way, in the order they were issued. Places are used again, so
// nothing is allocated in the steady state, and pointers to them stay valid.
type Table[T any, P item[T]] struct {
	places []place[T]
	free   []uint32
	head   uint32 // of the list of those in use, oldest first: index + 1
	tail   uint32
}

type place[T any] struct {
	v          *T
	prev, next uint32 // index + 1
}

// New takes a place for the operation with number seq, which is higher than those before. The place
// still holds its earlier contents, but for the Item.
func (t *Table[T, P]) New(seq uint64) P {
	var i uint32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = uint32(len(t.places))
		t.places = append(t.places, place[T]{v: new(T)})
		P(t.places[i].v).entry().token = uint64(i)
	}
	p := &t.places[i]
	p.prev, p.next = t.tail, 0
	if t.tail == 0 {
		t.head = i + 1
	} else {
		t.places[t.tail-1].next = i + 1
	}
	t.tail = i + 1
	e := P(p.v).entry()
	e.token += 1 << 32
	e.seq, e.used = seq, true
	return p.v
}

// Find is the operation of a token; nil if it is over.
func (t *Table[T, P]) Find(token uint64) P {
	if i := uint32(token); i < uint32(len(t.places)) {
		if e := P(t.places[i].v).entry(); e.used && e.token == token {
			return t.places[i].v
		}
	}
	return nil
}

// Free ends an operation. Its place may be used again at once.
func (t *Table[T, P]) Free(v P) {
	e := v.entry()
	i := uint32(e.token)
	p := &t.places[i]
	e.used = false
	if p.prev == 0 {
		t.head = p.next
	} else {
		t.places[p.prev-1].next = p.next
	}
	if p.next == 0 {
		t.tail = p.prev
	} else {
		t.places[p.next-1].prev = p.prev
	}
	t.free = append(t.free, i)
}

// Oldest is the operation issued first; nil: there is none.
func (t *Table[T, P]) Oldest() P {
	if t.head == 0 {
		return nil
	}
	return t.places[t.head-1].v
}

// Next is the one issued after v.
func (t *Table[T, P]) Next(v P) P {
	if next := t.places[uint32(v.entry().token)].next; next != 0 {
		return t.places[next-1].v
	}
	return nil
}

// Before says whether an operation issued at seq or earlier is left.
func (t *Table[T, P]) Before(seq uint64) bool {
	v := t.Oldest()
	return v != nil && v.entry().seq <= seq
}
