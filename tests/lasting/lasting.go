// Package lasting lets a fuzz target use a costly object, such as a link, a job or a network of
// processes, for many inputs.
package lasting

import "testing"

// Fixture makes and keeps the object of one target. It is for one goroutine.
type Fixture[T any] struct {
	create func(testing.TB) T
	inputs int // of one value
	left   int
	value  T
	keeper *keeper // nil: there is no value
}

// keeper is the testing.TB of a value: the test of the input under way, except that its Cleanup
// functions run when the value is discarded.
type keeper struct {
	testing.TB
	cleanups []func()
}

func (k *keeper) Cleanup(f func()) { k.cleanups = append(k.cleanups, f) }

// New makes a fixture without a value; create makes one, which serves the given number of
// inputs at most. The testing.TB that create gets stays valid until the value is discarded.
func New[T any](f *testing.F, inputs int, create func(testing.TB) T) *Fixture[T] {
	x := &Fixture[T]{create: create, inputs: inputs}
	f.Cleanup(func() {
		if x.keeper != nil {
			x.keeper.TB = f
		}
		x.Spoil()
	})
	return x
}

// For returns the value for the input of t; anew: no input has used it. A failed input's value is
// discarded.
func (x *Fixture[T]) For(t *testing.T) (value T, anew bool) {
	if x.keeper != nil && x.keeper.Failed() {
		x.Spoil()
	}
	if x.keeper != nil {
		x.keeper.TB = t
	}
	if x.left == 0 {
		x.Spoil()
		x.keeper = &keeper{TB: t}
		x.value, x.left, anew = x.create(x.keeper), x.inputs, true
	}
	x.left--
	return x.value, anew
}

// Spoil discards the value: the next input has another one.
func (x *Fixture[T]) Spoil() {
	x.left = 0
	if x.keeper == nil {
		return
	}
	cleanups := x.keeper.cleanups
	x.keeper.cleanups = nil
	for i := len(cleanups) - 1; i >= 0; i-- {
		cleanups[i]()
	}
	var none T
	x.value, x.keeper = none, nil
}
