package packet

import "lapi/transport/arena"

// Blocks hands out equal blocks of anonymous memory outside the Go heap. They are allocated a few
// at a time as they are needed, and touched only when used. They come back last in, first out, so
// that the memory in use stays warm.
type Blocks struct {
	Size  int // bytes of a block
	Count int // blocks that are allocated at a time
	Most  int // blocks at all
	made  int
	maps  [][]byte
	free  [][]byte
}

// Get returns a block. Nil: all are taken, or the kernel has no memory.
func (c *Blocks) Get() []byte {
	if len(c.free) == 0 && !c.grow() {
		return nil
	}
	b := c.free[len(c.free)-1]
	c.free = c.free[:len(c.free)-1]
	return b
}

// Put takes a block back.
func (c *Blocks) Put(b []byte) { c.free = append(c.free, b[:c.Size]) }

// Exhausted says whether all blocks that there may be are taken.
func (c *Blocks) Exhausted() bool { return len(c.free) == 0 && c.made == c.Most }

// InUse is how many are taken.
func (c *Blocks) InUse() int { return c.made - len(c.free) }

func (c *Blocks) grow() bool {
	n := min(c.Count, c.Most-c.made)
	if n <= 0 {
		return false
	}
	m, err := arena.Map(n * c.Size)
	if err != nil {
		return false
	}
	c.maps = append(c.maps, m)
	c.made += n
	for i := n - 1; i >= 0; i-- {
		c.free = append(c.free, m[i*c.Size:(i+1)*c.Size:(i+1)*c.Size])
	}
	return true
}

// Close frees all memory. There is none to get any more.
func (c *Blocks) Close() {
	for _, m := range c.maps {
		arena.Unmap(m)
	}
	c.maps, c.free, c.made = nil, nil, c.Most
}
