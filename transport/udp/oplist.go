package udp

import "lapi/transport"

// opList holds operations that are over until Complete calls their Done. The error is kept as a
// number in Op.Link.Kind where it is a usual one, so that nothing is allocated.
type opList struct {
	first, last *transport.Op
	faults      map[*transport.Op]error // errors without a number
}

var knownErrors = [...]error{nil, transport.ErrUnreachable, transport.ErrClosed,
	transport.ErrTimeout}

const unknownError = 255

func (l *opList) add(op *transport.Op, err error) {
	op.Link.Next = nil
	op.Link.Kind = unknownError
	for i, e := range knownErrors {
		if e == err {
			op.Link.Kind = uint8(i)
			break
		}
	}
	if op.Link.Kind == unknownError {
		if l.faults == nil {
			l.faults = make(map[*transport.Op]error)
		}
		l.faults[op] = err
	}
	if l.last == nil {
		l.first = op
	} else {
		l.last.Link.Next = op
	}
	l.last = op
}

func (l *opList) take() *transport.Op {
	op := l.first
	if op == nil {
		return nil
	}
	if l.first = op.Link.Next; l.first == nil {
		l.last = nil
	}
	op.Link.Next = nil
	return op
}

// complete calls Done of all, those that Done itself adds included, and returns how many there
// were.
func (l *opList) complete() int {
	n := 0
	for op := l.take(); op != nil; op = l.take() {
		op.Done(op, l.err(op))
		n++
	}
	return n
}

func (l *opList) err(op *transport.Op) error {
	if op.Link.Kind != unknownError {
		return knownErrors[op.Link.Kind]
	}
	err := l.faults[op]
	delete(l.faults, op)
	return err
}
