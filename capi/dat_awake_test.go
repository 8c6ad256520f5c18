package main

import (
	"reflect"
	"testing"
	"time"
	"unsafe"

	"lapi/core/dat"
	"lapi/core/progress"
	"lapi/transport/layout"
)

// TestAwake: C has woken from the sleep for which core was armed, and has not disarmed it. Each
// entry does so first, so that core is as when no thread sleeps.
func TestAwake(t *testing.T) {
	saved := udapl
	defer func() { udapl = saved }()
	lane := &layout.DatLane{}
	udapl.start = time.Now()
	udapl.lane, udapl.words = lane, &layout.Progress{}
	udapl.block = progress.NewBlock(udapl.words, &udapl.due)
	udapl.lib = dat.New(dat.Config{Host: datHost{}, Clock: datClock, Random: datRandom, Lane: lane})
	for name, entry := range map[string]any{"progress": godat_progress, "a call": godat_call,
		"arming": godat_arm} {
		if _, ok := udapl.lib.Arm(); !ok {
			t.Fatalf("before %s: nothing is open, and there is something to do", name)
		}
		udapl.block.Arm(0)
		lane.Awake = 1
		enter(entry)
		if lane.Awake != 0 {
			t.Errorf("%s does not hear that the sleep is over", name)
		}
		if name == "arming" { // a sleep of its own has begun
			godat_disarm()
		}
		if udapl.block.Armed() || lane.Untimed != 0 {
			t.Errorf("%s: core is armed, and nobody sleeps", name)
		}
	}
}

// enter calls an entry as C does, with numbers of 1, or with addresses of zeros: C's types have no
// names in a test. Call 1, of handle 0, does nothing.
func enter(entry any) {
	f := reflect.ValueOf(entry)
	arguments := make([]reflect.Value, f.Type().NumIn())
	for i := range arguments {
		t := f.Type().In(i)
		if t.Kind() == reflect.Pointer {
			arguments[i] = reflect.NewAt(t.Elem(), unsafe.Pointer(&datCall{}))
		} else {
			arguments[i] = reflect.ValueOf(1).Convert(t)
		}
	}
	f.Call(arguments)
}
