package shm

import (
	"sync/atomic"
	"testing"

	"lapi/transport/layout"
)

// TestBarrierNeedsAll: there is a barrier in all tasks or in none, and they agree on how it works.
func TestBarrierNeedsAll(t *testing.T) {
	for name, c := range map[string]struct {
		without int // the task that differs, -1: none
		crowded bool
		rounds  uint32
		none    bool
	}{
		"all":              {-1, false, 3, false},
		"one cannot":       {2, false, 0, true},
		"they are crowded": {-1, true, 0, false},
		"the last one not": {4, true, 0, true},
	} {
		links := newLinks(t, 5, func(config *Config) {
			config.Barrier = config.Task != c.without
		})
		for i, l := range links {
			switch b := l.Barrier(c.crowded); {
			case (b == nil) != c.none:
				t.Errorf("%s: task %d: barrier %v", name, i, b)
			case b != nil && b.Rounds != c.rounds:
				t.Errorf("%s: task %d: %d rounds", name, i, b.Rounds)
			}
		}
	}
}

// TestBarrierUnconnected: no barrier without a connection to everybody.
func TestBarrierUnconnected(t *testing.T) {
	l, err := New(Config{Task: 0, NumTasks: 2, Tasks: []int{0, 1}, Clock: clock, Barrier: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if l.Barrier(false) != nil {
		t.Error("a barrier with nobody")
	}
}

// TestRefuseBarrier: every peer is notified, and woken if it sleeps.
func TestRefuseBarrier(t *testing.T) {
	links := newLinks(t, 3, func(config *Config) { config.Barrier = true })
	if links[1].Arm() {
		t.Fatal("an idle link cannot be armed")
	}
	links[0].Disconnect(2, nil)
	links[0].RefuseBarrier(7)
	for _, l := range links[1:] {
		if got := atomic.LoadUint64(&l.own.head().Barrier.Refused.Value); got != 7 {
			t.Errorf("task %d: refused is %d", l.config.Task, got)
		}
	}
	if atomic.LoadUint64(&links[1].own.head().Armed) != layout.Awake {
		t.Error("a sleeper was not woken")
	}
}

// A task waits at the barrier for a peer from when it has arrived there to when the peer has.
func TestBarrierAwaits(t *testing.T) {
	links := newLinks(t, 2, func(config *Config) { config.Barrier = true })
	l, b := links[0], links[0].Barrier(false)
	if l.BarrierAwaits(1) || l.BarrierAwaits(7) {
		t.Error("a task that is in no barrier waits")
	}
	b.Arrived++
	if !l.BarrierAwaits(1) {
		t.Error("a task does not wait for a peer that has not arrived")
	}
	word := &l.peers[1].outHead.Barrier.Round[0].Value
	for range 2 { // it may be ahead by one
		atomic.AddUint64(word, 1)
		if l.BarrierAwaits(1) {
			t.Error("a task waits for a peer that has arrived")
		}
	}
}
