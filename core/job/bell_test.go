package job

import (
	"fmt"
	"os"
	"testing"
)

// A task that has rung is connected by the other's call, whichever of the two is seen first: a bell
// that is heard too late ends nothing.
func TestLateBell(t *testing.T) {
	var both [2]*standalone
	for i := range both {
		s, err := newStandalone(&Config{Task: i, NumTasks: 2, CommonTasks: []int{1 - i},
			Partition: fmt.Sprint("bell", os.Getpid())}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		both[i] = s
	}
	lower, higher := both[0], both[1]
	for _, s := range []*standalone{higher, lower} {
		if err := s.wiring.dialAll(); err != nil {
			t.Fatal(err)
		}
	}
	if err := lower.wiring.serve(); err != nil || !lower.wiring.over() {
		t.Fatalf("the lower one is not connected: %v", err)
	}
	if err := higher.wiring.readAnswer(0); err != nil || !higher.wiring.over() {
		t.Fatalf("the higher one is not connected: %v", err)
	}
	if err := higher.serveListener(); err != nil || len(higher.pending) > 0 {
		t.Fatalf("%d connections wait: %v", len(higher.pending), err)
	}
	for _, s := range both {
		if err := s.wiring.serve(); err != nil || !s.wiring.over() {
			t.Errorf("task %d is not connected any more: %v", s.c.Task, err)
		}
	}
}
