package token

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type op struct {
	Item
	name int
}

// TestTable holds a table against a list: tokens of what is over find nothing, the oldest comes
// first.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var table Table[op, *op]
	var live []*op
	var dead []uint64
	for seq := range uint64(20000) {
		if len(live) < 30 && r.IntN(2) == 0 {
			v := table.New(seq)
			v.name = int(seq)
			live = append(live, v)
		} else if len(live) > 0 {
			i := r.IntN(len(live))
			dead = append(dead, live[i].Token())
			table.Free(live[i])
			live = slices.Delete(live, i, i+1)
		}
		for _, token := range dead[max(0, len(dead)-50):] {
			if table.Find(token) != nil {
				t.Fatalf("token %#x finds an operation after its end", token)
			}
		}
		at := table.Oldest()
		for _, v := range live {
			if at != v || table.Find(v.Token()) != v || v.Seq() != uint64(v.name) {
				t.Fatalf("operation %d is not where it belongs", v.name)
			}
			at = table.Next(at)
		}
		if at != nil || table.Before(seq+1) != (len(live) > 0) ||
			len(live) > 0 && table.Before(live[0].Seq()-1) && live[0].Seq() > 0 {
			t.Fatal("the table has more than it should")
		}
	}
	for _, token := range []uint64{1 << 60, 1<<32 - 1, 0} {
		if table.Find(token) != nil {
			t.Errorf("token %#x finds something", token)
		}
	}
	if n := testing.AllocsPerRun(100, func() { table.Free(table.New(1 << 40)) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
