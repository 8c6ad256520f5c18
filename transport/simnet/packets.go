package simnet

import (
	"fmt"
	"net/netip"

	"lapi/transport/arena"
	"lapi/transport/udp"
)

// packet is a datagram on its way or at its receiver's socket.
type packet struct {
	// in mem, which is off the Go heap and starts on a multiple of 8: as in a socket's buffer
	b       []byte
	mem     []byte
	from    netip.AddrPort
	to      int32 // node
	path    udp.Path
	damaged bool
	class   uint8
}

// The memory of packets comes in pieces of these sizes, chunkPieces at a time.
var classSizes = [...]int{256, 2048, 16384, 65536}

const chunkPieces = 64

// packets holds all datagrams of a network by number, and their memory, which is reused last in,
// first out.
type packets struct {
	all  []packet
	free []int32
	mem  [len(classSizes)][][]byte
	maps [][]byte
}

// make returns the number of a new packet of n bytes, whose content is whatever was there.
func (p *packets) make(n int) int32 {
	class := 0
	for classSizes[class] < n {
		class++
	}
	if len(p.mem[class]) == 0 {
		p.grow(class)
	}
	m := p.mem[class]
	b := m[len(m)-1]
	p.mem[class] = m[:len(m)-1]
	if len(p.free) == 0 {
		p.all = append(p.all, packet{})
		p.free = append(p.free, int32(len(p.all)-1))
	}
	i := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.all[i] = packet{b: b[:n:n], mem: b, class: uint8(class)}
	return i
}

// drop takes back a packet. Its memory is overwritten, so that code that still looks at it is found
// out.
func (p *packets) drop(i int32) {
	k := &p.all[i]
	for j := range k.b {
		k.b[j] = 0xdb
	}
	p.mem[k.class] = append(p.mem[k.class], k.mem)
	k.b, k.mem = nil, nil
	p.free = append(p.free, i)
}

// inUse is how many packets are on their way or at sockets.
func (p *packets) inUse() int { return len(p.all) - len(p.free) }

func (p *packets) grow(class int) {
	size := classSizes[class]
	m, err := arena.Map(chunkPieces * size)
	if err != nil {
		panic(fmt.Sprintf("simnet: no memory for packets: %v", err))
	}
	p.maps = append(p.maps, m)
	for i := range chunkPieces {
		p.mem[class] = append(p.mem[class], m[i*size:(i+1)*size:(i+1)*size])
	}
}

func (p *packets) close() {
	for _, m := range p.maps {
		arena.Unmap(m)
	}
	*p = packets{}
}
