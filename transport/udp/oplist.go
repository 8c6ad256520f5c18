package udp

import "lapi/transport"

// opList holds operations that are over until Complete calls their Done.
type opList struct {
	first, last *transport.Op
	errs        map[*transport.Op]error // of those that failed
}

func (l *opList) add(op *transport.Op, err error) {
	op.Link.Next = nil
	if err != nil {
		if l.errs == nil {
			l.errs = make(map[*transport.Op]error)
		}
		l.errs[op] = err
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
	return op
}

// complete calls Done of all, those that Done itself adds included, and returns how many there
// were.
func (l *opList) complete() int {
	n := 0
	for op := l.take(); op != nil; op = l.take() {
		err := l.errs[op]
		delete(l.errs, op)
		op.Done(op, err)
		n++
	}
	return n
}
