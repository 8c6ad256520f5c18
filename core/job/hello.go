package job

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Purpose says what the sender of a hello wants.
type Purpose uint8

// Purposes of hellos.
const (
	Join   Purpose = iota + 1 // begin a session
	Ask                       // only the job key, from the launcher
	Rejoin                    // begin a session, or rejoin that of a higher task
)

// Hello is the data of a message of kind wire.Hello: who speaks.
type Hello struct {
	Purpose  Purpose
	Task     int
	NumTasks int
	Instance int
	PID      int
}

const helloSize = 20

// Encode returns the bytes that ParseHello reads.
func (h Hello) Encode() []byte {
	b := make([]byte, helloSize)
	b[0] = byte(h.Purpose)
	binary.LittleEndian.PutUint32(b[4:], uint32(h.Task))
	binary.LittleEndian.PutUint32(b[8:], uint32(h.NumTasks))
	binary.LittleEndian.PutUint32(b[12:], uint32(h.Instance))
	binary.LittleEndian.PutUint32(b[16:], uint32(h.PID))
	return b
}

// ParseHello reads a hello and checks its ranges.
func ParseHello(b []byte) (Hello, error) {
	if len(b) != helloSize {
		return Hello{}, fmt.Errorf("hello of %d bytes, not %d", len(b), helloSize)
	}
	g := Hello{
		Purpose:  Purpose(b[0]),
		Task:     int(int32(binary.LittleEndian.Uint32(b[4:]))),
		NumTasks: int(int32(binary.LittleEndian.Uint32(b[8:]))),
		Instance: int(int32(binary.LittleEndian.Uint32(b[12:]))),
		PID:      int(int32(binary.LittleEndian.Uint32(b[16:]))),
	}
	if g.Purpose < Join || g.Purpose > Rejoin || g.NumTasks < 1 || g.NumTasks > maxTasks ||
		g.Task < 0 || g.Task >= g.NumTasks ||
		g.Instance < 0 || g.Instance >= maxInstances {
		return Hello{}, errors.New("hello out of range")
	}
	return g, nil
}
