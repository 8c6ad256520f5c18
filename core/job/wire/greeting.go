package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Purpose says what the sender of a Hello wants.
type Purpose uint8

// Purposes of hellos.
const (
	Join Purpose = iota + 1 // begin a session, or rejoin one
	Ask                     // only the job key, from the launcher
)

// Greeting is the data of a message of kind Hello: which task sends it.
type Greeting struct {
	Purpose  Purpose
	Task     int
	NumTasks int
	Instance int
	PID      int
}

// GreetingSize is the length of an encoded greeting, bytes.
const GreetingSize = 20

// Limits of jobs, and the size of their keys.
const (
	MaxTasks     = 16384 // MAX_TASKS
	MaxInstances = 16    // of each task
	KeySize      = 64    // bytes
)

// Encode returns the bytes that ParseGreeting reads.
func (g Greeting) Encode() []byte {
	b := make([]byte, GreetingSize)
	b[0] = byte(g.Purpose)
	binary.LittleEndian.PutUint32(b[4:], uint32(g.Task))
	binary.LittleEndian.PutUint32(b[8:], uint32(g.NumTasks))
	binary.LittleEndian.PutUint32(b[12:], uint32(g.Instance))
	binary.LittleEndian.PutUint32(b[16:], uint32(g.PID))
	return b
}

// ParseGreeting reads a greeting and checks its ranges.
func ParseGreeting(b []byte) (Greeting, error) {
	if len(b) != GreetingSize {
		return Greeting{}, fmt.Errorf("hello of %d bytes, not %d", len(b), GreetingSize)
	}
	g := Greeting{
		Purpose:  Purpose(b[0]),
		Task:     int(int32(binary.LittleEndian.Uint32(b[4:]))),
		NumTasks: int(int32(binary.LittleEndian.Uint32(b[8:]))),
		Instance: int(int32(binary.LittleEndian.Uint32(b[12:]))),
		PID:      int(int32(binary.LittleEndian.Uint32(b[16:]))),
	}
	if g.Purpose < Join || g.Purpose > Ask || g.NumTasks < 1 || g.NumTasks > MaxTasks ||
		g.Task < 0 || g.Task >= g.NumTasks ||
		g.Instance < 0 || g.Instance >= MaxInstances {
		return Greeting{}, errors.New("hello out of range")
	}
	return g, nil
}
