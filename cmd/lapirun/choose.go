package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"lapi/transport/calibration"
)

// chunkCandidates are the sizes of chunks that are tried, bytes. The last makes one chunk of a
// message up to its length.
var chunkCandidates = []uint64{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}

const (
	worthIt = 1.03 // a size other than the built-in one must gain so much, or it may be chance
	ways    = 4    // of a result's words
)

// trialKey is what a result is of. Chunk is that of the trial.
type trialKey struct {
	kind  string // put, am, block
	size  uint64
	way   string // direct, packets; or how many puts were under way
	chunk uint64
}

// samples are nanoseconds, one a round.
type samples map[trialKey][]float64

// read takes the lines that calibrate/transfers.c has printed in a trial.
func (s samples) read(out string, chunk uint64) error {
	lines := 0
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) != ways {
			return fmt.Errorf("%q is no result", line)
		}
		size, err := strconv.ParseUint(words[1], 10, 40)
		ns, err2 := strconv.ParseFloat(words[3], 64)
		if err != nil || err2 != nil || size == 0 || !(ns > 0) || math.IsInf(ns, 1) {
			return fmt.Errorf("%q is no result", line)
		}
		key := trialKey{words[0], size, words[2], chunk}
		s[key] = append(s[key], ns)
		lines++
	}
	if lines == 0 {
		return fmt.Errorf("no result")
	}
	return nil
}

// best of the rounds, ns; NaN if there is none. Each is a median of its own; what else goes on in
// the machine, or under a virtual one, makes all of a trial slower, up to three times, and never
// faster.
func (s samples) best(key trialKey) float64 {
	if len(s[key]) == 0 {
		return math.NaN()
	}
	return slices.Min(s[key])
}

// sizes are those of the results of a kind and way, ascending.
func (s samples) sizes(kind, way string) []uint64 {
	found := map[uint64]bool{}
	for key := range s {
		if key.kind == kind && key.way == way {
			found[key.size] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// choose is the best table.
func (s samples) choose() *calibration.Table {
	t := calibration.BuiltIn()
	if chunks := s.chooseChunks(); chunks != nil {
		t.Chunks = chunks
	}
	for _, d := range []struct {
		kind string
		into *uint64
	}{{"put", &t.PutDirect}, {"am", &t.AmDirect}, {"block", &t.BlockDirect}} {
		if from := s.directFrom(d.kind); from != 0 {
			*d.into = from
		}
	}
	return t
}

// cost of puts of a size in chunks, for comparison: one at a time counts as much as several.
func (s samples) cost(size, chunk uint64) float64 {
	cost := math.Log(s.best(trialKey{"put", size, "1", chunk})) +
		math.Log(s.best(trialKey{"put", size, "4", chunk}))
	if calibration.BuiltIn().ChunkOf(size) != chunk {
		cost += 2 * math.Log(worthIt)
	}
	return cost
}

// chooseChunks finds, of all tables whose chunks grow with the size, the one with the least sum of
// costs; nil without results.
func (s samples) chooseChunks() []calibration.Chunk {
	sizes := s.sizes("put", "1")
	if len(sizes) == 0 {
		return nil
	}
	// best[c] is the least sum up to a size whose chunk is candidate c; chosen[c] are the
	// candidates up to there.
	best, chosen := make([]float64, len(chunkCandidates)), make([][]int, len(chunkCandidates))
	for _, size := range sizes {
		nextBest, nextChosen := make([]float64, len(best)), make([][]int, len(best))
		before := 0 // the best candidate for the size before, of those up to c
		for c, chunk := range chunkCandidates {
			if best[c] < best[before] {
				before = c
			}
			nextBest[c] = best[before] + s.cost(size, chunk)
			nextChosen[c] = append(slices.Clone(chosen[before]), c)
		}
		best, chosen = nextBest, nextChosen
	}
	least := 0
	for c := range best {
		if best[c] < best[least] {
			least = c
		}
	}
	return rows(sizes, chosen[least])
}

// rows makes a table of a candidate for each size.
func rows(sizes []uint64, candidates []int) []calibration.Chunk {
	var chunks []calibration.Chunk
	for i, size := range sizes {
		chunk := chunkCandidates[candidates[i]]
		switch {
		case i == 0:
			chunks = append(chunks, calibration.Chunk{From: 0, Bytes: chunk})
		case chunk != chunks[len(chunks)-1].Bytes:
			chunks = append(chunks, calibration.Chunk{From: size, Bytes: chunk})
		}
	}
	return chunks
}

// directFrom is the size from which the direct way takes no more than packets at any size that was
// measured; twice the largest if that is not so for it, as the direct way leaves the target's
// processor alone. 0 without results.
func (s samples) directFrom(kind string) uint64 {
	chunk := chunkCandidates[len(chunkCandidates)-1]
	sizes := s.sizes(kind, "direct")
	if len(sizes) == 0 {
		return 0
	}
	from := 2 * sizes[len(sizes)-1]
	for _, size := range slices.Backward(sizes) {
		if s.best(trialKey{kind, size, "direct", chunk}) > s.best(trialKey{kind, size, "packets",
			chunk}) {
			break
		}
		from = size
	}
	return from
}

// report is what was found, for the user.
func (s samples) report(t *calibration.Table) string {
	var b strings.Builder
	b.WriteString(
		"\nPuts to a task that polls, us, one at a time/four at a time; * is chosen:\n   bytes")
	for _, chunk := range chunkCandidates {
		fmt.Fprintf(&b, "%18s", fmt.Sprintf("in %d KiB", chunk>>10))
	}
	b.WriteByte('\n')
	for _, size := range s.sizes("put", "1") {
		fmt.Fprintf(&b, "%8d", size)
		for _, chunk := range chunkCandidates {
			mark := " "
			if t.ChunkOf(size) == chunk {
				mark = "*"
			}
			fmt.Fprintf(&b, "%18s", fmt.Sprintf("%.2f/%.2f%s",
				s.best(trialKey{"put", size, "1", chunk})/1e3,
				s.best(trialKey{"put", size, "4", chunk})/1e3, mark))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nDirectly/in packets, us, the work of both tasks:\n   bytes")
	kinds := []string{"put", "am", "block"}
	for _, kind := range kinds {
		fmt.Fprintf(&b, "%18s", kind)
	}
	b.WriteByte('\n')
	chunk := chunkCandidates[len(chunkCandidates)-1]
	for _, size := range s.sizes("put", "direct") {
		fmt.Fprintf(&b, "%8d", size)
		for _, kind := range kinds {
			cell := ""
			if s[trialKey{kind, size, "direct", chunk}] != nil {
				cell = fmt.Sprintf("%.2f/%.2f", s.best(trialKey{kind, size, "direct", chunk})/1e3,
					s.best(trialKey{kind, size, "packets", chunk})/1e3)
			}
			fmt.Fprintf(&b, "%18s", cell)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nTo a task that computes or sleeps directly from: put %d, active message %d, blocks of %d bytes.\n",
		t.PutDirect, t.AmDirect, t.BlockDirect)
	return b.String()
}
