package transport

// Ops are one owner's operations for links, which are used again.
type Ops struct {
	Done func(op *Op, err error) // of each: it gives the operation back (Put)
	free *Op                     // by Link.Next
}

// Get is an operation with Done, and nothing else.
func (o *Ops) Get() *Op {
	op := o.free
	if op == nil {
		return &Op{Done: o.Done}
	}
	o.free = op.Link.Next
	*op = Op{Done: op.Done}
	return op
}

// Put gives back an operation that no link has.
func (o *Ops) Put(op *Op) {
	op.Owner = nil
	op.Link.Next = o.free
	o.free = op
}
