// Package calibration is the sizes at which transfers on one node leave one way for another: the
// built-in ones, or those that `lapirun --calibrate` has measured on this machine and left in a
// file (docs/bulk.md, "Calibration"). Environment variables: LAPI_CALIBRATION, XDG_CACHE_HOME,
// HOME. Every function is safe for concurrent use.
package calibration

import (
	"fmt"
	"math/bits"
)

// Table is the sizes, bytes.
type Table struct {
	// Chunks: data that goes through chunks, of a length of From or more, goes in chunks of Bytes.
	// The first is from 0; each is from a power of two, and more than the one before.
	Chunks []Chunk
	// To a target that does not attend, data goes directly (process_vm_*) from so many bytes on: a
	// put's, an active message's, and a vector's, whose blocks in the other task's memory have so
	// many on average. Never: it does not.
	PutDirect, AmDirect, BlockDirect uint64
}

// Chunk is a row of Table.Chunks.
type Chunk struct{ From, Bytes uint64 }

// Limits of what a table may say.
const (
	Never       = 1 << 40
	chunkUnit   = 4 << 10
	chunkMost   = 64 << 10 // data of the longest message of transport/shm
	chunkFrom   = uint64(1) << 31
	chunkRows   = 32
	blockLeast  = 1 << 10 // the lists of blocks that are read grow with the inverse
	directLeast = 1
	areaLeast   = 256 << 10
	areaMost    = 1 << 20
)

// BuiltIn is what holds without a file: measured on a virtual machine with 2 processors, x86-64
// server, tasks that poll for the chunks, a target that computes for the rest.
func BuiltIn() *Table {
	return &Table{
		// Many enough that both ends copy at once, few enough to cost little: at most 10 % between
		// neighbours with 8 to 64 KiB, 25 % for 16 KiB in one chunk or two.
		Chunks: []Chunk{
			{0, 4 << 10},
			{16 << 10, 8 << 10},
			{64 << 10, 16 << 10},
			{256 << 10, 32 << 10},
		},
		PutDirect: 4 << 10,  // equal at 2 to 4 KiB
		AmDirect:  16 << 10, // below, it comes whole, and its handler sees it at once
		// below, two copies through a chunk take less than the kernel's work for each block
		BlockDirect: 16 << 10,
	}
}

// ChunkOf is in chunks of how many bytes n bytes go.
func (t *Table) ChunkOf(n uint64) uint64 {
	chunk := uint64(chunkUnit)
	for _, c := range t.Chunks {
		if n >= c.From {
			chunk = c.Bytes
		}
	}
	return chunk
}

// check says what is wrong with a table.
func (t *Table) check() error {
	if len(t.Chunks) == 0 || t.Chunks[0].From != 0 {
		return fmt.Errorf("no chunk is from 0 on")
	}
	if len(t.Chunks) > chunkRows {
		return fmt.Errorf("more than %d chunks", chunkRows)
	}
	for i, c := range t.Chunks {
		switch {
		case i > 0 && c.From <= t.Chunks[i-1].From:
			return fmt.Errorf("chunk %d does not come after %d", c.From, t.Chunks[i-1].From)
		case bits.OnesCount64(c.From) > 1 || c.From > chunkFrom:
			return fmt.Errorf("chunk from %d: not a power of two up to %d", c.From, chunkFrom)
		case c.Bytes%chunkUnit != 0 || c.Bytes == 0 || c.Bytes > chunkMost:
			return fmt.Errorf("chunk of %d bytes: not a multiple of %d up to %d",
				c.Bytes, chunkUnit, chunkMost)
		}
	}
	for _, d := range []struct {
		name         string
		value, least uint64
	}{{keyPut, t.PutDirect, directLeast}, {keyAm, t.AmDirect, directLeast},
		{keyBlock, t.BlockDirect, blockLeast}} {
		if d.value < d.least || d.value > Never {
			return fmt.Errorf("%s %d: not from %d to %d", d.name, d.value, d.least, uint64(Never))
		}
	}
	return nil
}
