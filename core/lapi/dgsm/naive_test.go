package dgsm

import (
	"errors"
	"fmt"
)

// The naive machine runs a program instruction by instruction, as the guide describes it: an
// instruction counter, a stack, a repetition count in each frame. It shares nothing with the real
// one but the layout of instructions.

// naiveByte is where one byte of the stream lies, relative to the transfer's base, and what CONTROL
// was in force.
type naiveByte struct {
	at  int64
	ctl control
}

type naiveFrame struct {
	base   int64
	left   int64 // repetitions, this one included
	stride int64
	ret    int
}

var errSteps = errors.New("too many steps")

// naive returns the places of the first n bytes. An error is a program that goes wrong, or takes
// more than limit steps.
func naive(code []int32, extent int64, n, limit int) (out []naiveByte, err error) {
	defer func() {
		if r := recover(); r != nil { // out of the code
			err = fmt.Errorf("%v", r)
		}
	}()
	stack := []naiveFrame{{base: 0, left: 1 << 62, stride: extent}}
	ctl := noControl
	ic := 0
	emit := func(at, length int64) {
		for i := int64(0); i < length && len(out) < n; i++ {
			out = append(out, naiveByte{at + i, ctl})
		}
	}
	for steps := 0; len(out) < n; steps++ {
		if steps > limit {
			return out, errSteps
		}
		f := &stack[len(stack)-1]
		switch code[ic] {
		case 0:
			emit(f.base+long(code, ic+copyOffset), long(code, ic+copyBytes))
			ic += copySize
		case 1:
			count := int(code[ic+1])
			for b := range count {
				emit(f.base+long(code, ic+2+blockSize*b), long(code, ic+2+longInts+blockSize*b))
			}
			ic += 2 + blockSize*count
		case 2:
			to, ret := ic+int(code[ic+1]), ic+int(code[ic+2])
			if reps := long(code, ic+gosubReps); reps > 0 {
				stack = append(stack, naiveFrame{f.base + long(code, ic+gosubOffset), reps,
					long(code, ic+gosubStride), ret})
				ic = to
			} else {
				ic = ret
			}
		case 3:
			if f.left--; f.left > 0 {
				f.base += f.stride
				ic += int(code[ic+1])
			} else {
				ic = f.ret
				stack = stack[:len(stack)-1]
			}
		case 4:
			ctl = control{code[ic+1], code[ic+2]}
			ic += 3
		default:
			return out, fmt.Errorf("opcode %d", code[ic])
		}
	}
	return out, nil
}
