package main

import (
	"math"
	"strings"
	"testing"
)

// FuzzOutputs gives the readers of other programs' output arbitrary text: they find rows with
// values or none.
func FuzzOutputs(f *testing.F) {
	f.Add("row,latency,put,8,1.5,us,2,3,0")
	f.Add("8,100,1,2,3,4,5,6,1e6\n8,100,1,2,3,4,5,6,-1\n")
	f.Add("bytes iters total time MB/sec usec/xfer Mxfers/sec\n64 100 12k 0.00s 45.3 1.41 0.71 x")
	f.Add("cpu 1 2 3 4 5 6 7 8\n")
	f.Fuzz(func(t *testing.T, s string) {
		if r, ok := parseRow(s); ok && strings.Contains(r.Op, ",") {
			t.Errorf("%q gives %+v", s, r)
		}
		for _, op := range []string{"put", "put-rate", "put-bandwidth"} {
			for i, r := range parseUCX(s, op) {
				if r.Op != op || math.IsNaN(r.Value) || r.Unit == "" {
					t.Errorf("%q gives row %d %+v", s, i, r)
				}
			}
		}
		for _, r := range parsePingpong(s, 8) {
			if !(r.Value > 0) {
				t.Errorf("%q gives %v", s, r)
			}
		}
		parseBusy(s)
	})
}
