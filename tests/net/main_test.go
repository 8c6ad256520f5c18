// Package net holds the tests over real networks: jobs whose tasks are on several nodes
// (docs/network.md). They run in an enclave of their own, so nothing of them is left on the
// machine, however they end. `make net-test` builds what they need.
package net

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"lapi/tests/net/world"
)

var build = flag.String("build", "../../build",
	"the folder with the library, lapirun and the programs")

func TestMain(m *testing.M) {
	flag.Parse()
	inside, status, err := world.Enter()
	if inside && err == nil {
		err = probe()
	}
	if err != nil {
		// Before anything was run, so the one thing skipped is all.
		fmt.Printf("net: skipped: this machine makes no networks: %v\nnet: 0 passed, 0 failed, 1 skipped\n", err)
		os.Exit(0)
	}
	if !inside {
		os.Exit(status)
	}
	status = m.Run()
	count.Lock()
	fmt.Printf("net: %d passed, %d failed, %d skipped\n", count.passed, count.failed, count.skipped)
	os.Exit(status)
}

var count struct {
	sync.Mutex
	passed, failed, skipped int
}

// counted makes the closing line count a test. Called first in each test that has no subtests.
func counted(t *testing.T) {
	t.Cleanup(func() {
		count.Lock()
		defer count.Unlock()
		switch {
		case t.Failed():
			count.failed++
		case t.Skipped():
			count.skipped++
		default:
			count.passed++
		}
	})
}

// probe returns the reason why this machine cannot make a network. Any later error is a failure of
// the test.
func probe() error {
	w, err := world.Build(world.Shape{Nodes: 1, Links: 1})
	if err == nil {
		w.Close()
	}
	return err
}

// newWorld makes a world for a test.
func newWorld(t *testing.T, s world.Shape) *world.World {
	t.Helper()
	w, err := world.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}
