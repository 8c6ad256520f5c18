package rtt

import (
	"testing"
	"time"
)

func TestAverage(t *testing.T) {
	var e Estimator
	if e.Known() || e.Timeout() != int64(Initial) || e.Tail(0) != int64(Initial) {
		t.Errorf("an estimator without samples: %+v", e)
	}
	e.Sample(1, 1e6)
	if e.Smooth() != 1e6 || e.Shortest() != 1e6 || e.Timeout() != 3e6 {
		t.Errorf("after one sample: %+v", e)
	}
	for now := int64(1); now < 100; now++ {
		e.Sample(now, 8e6)
	}
	if s := e.Smooth(); s < 7e6 || s > 8e6 || e.Shortest() != 1e6 || e.Standing(8) != 8e6 {
		t.Errorf("after a hundred longer ones: %+v", e)
	}
	e.Renew()
	e.Sample(100, 1e6)
	if e.Smooth() != 1e6 || e.Standing(8) != 1e6 {
		t.Errorf("after a new beginning: %+v", e)
	}
}

// A path may have got longer: then the shortest round trip of long ago says nothing.
func TestShortestIsForgotten(t *testing.T) {
	var e Estimator
	e.Sample(1, 1e6)
	for now := int64(time.Second); now < int64(30*time.Second); now += int64(time.Second) {
		e.Sample(now, 5e6)
	}
	if e.Shortest() != 5e6 {
		t.Errorf("the shortest is still %v", time.Duration(e.Shortest()))
	}
}

func TestBounds(t *testing.T) {
	var e Estimator
	e.Sample(1, -5)
	if e.Known() {
		t.Error("a negative time was taken")
	}
	e.Sample(1, 1000)
	if e.Timeout() != int64(leastTimeout) || e.Tail(0) != int64(leastTail) {
		t.Errorf("time-outs of %d and %d", e.Timeout(), e.Tail(0))
	}
	e.Renew()
	e.Sample(2, int64(time.Hour))
	if e.Smooth() != int64(Longest) {
		t.Errorf("an average of %d", e.Smooth())
	}
}

// Jitter does not hide what the latest samples have in common; the later half is enough at first.
func TestStanding(t *testing.T) {
	var e Estimator
	if e.Standing(4) != 0 {
		t.Error("nothing is known yet")
	}
	for i, c := range []struct{ sample, want int64 }{{100, 100}, {500, 500}, {450, 450},
		{900, 450}, {600, 600}, {700, 600}, {400, 400}, {800, 400}, {800, 400}, {800, 400},
		{800, 800}} {
		e.Sample(int64(i+1), c.sample)
		if got := e.Standing(4); got != c.want {
			t.Errorf("after sample %d: %d, want %d", i, got, c.want)
		}
	}
}
