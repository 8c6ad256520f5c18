package invariant

import "sync"

// A Group runs functions in goroutines as Go does, and waits for them. The zero value is ready.
type Group struct {
	wait sync.WaitGroup
}

// Go runs f in a goroutine. It may be called while another goroutine of the group runs, or before Wait.
func (g *Group) Go(f func()) {
	g.wait.Add(1)
	Go(func() {
		defer g.wait.Done()
		f()
	})
}

// Wait waits until all functions have returned, or have panicked.
func (g *Group) Wait() { g.wait.Wait() }
