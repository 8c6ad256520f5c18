package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Version is the protocol's; both ends must have the same.
const Version = 5

// Limits of records and messages.
const (
	MaxRecord      = 32 << 10 // payload bytes of one record
	MaxRecordFiles = 250      // descriptors of one record; the kernel's limit is 253
	MaxMessage     = 64 << 20 // payload bytes of one message: 16384 tasks with 4 KiB each
	MaxFiles       = 1 << 16  // descriptors of one message
	headerSize     = 8
)

// Kind says what a message means.
type Kind uint8

// Kinds of messages, and which side sends them.
const (
	// task to launcher (with the session's socket), connecting task to listening task
	Hello   Kind = iota + 1
	Welcome      // the answer: accepted
	Refuse       // the answer: not accepted, Data is the reason
	Part         // one task's contribution to the exchange of round Number
	Parts        // launcher to task: all contributions to round Number
	// launcher to task: round Number will never be complete, Data is the reason
	Failed
	Died  // launcher to task: task Number has died, Data says how
	Leave // this session ends in good order
	// this task's process ends on purpose, with status 0, but its session has not left
	Ending
	Ended // launcher to task: task Number has ended after Ending, Data says how
	// hub to task, as is Ending then: these tasks have left (Data: 32 bits each, little-endian);
	// of the task itself it is the answer to Leave
	Left
	// of tasks that were started by hand only:
	// hub to task: another process of task Number mod MaxTasks has come; its part of the exchange
	Rejoined
	Answer // task to hub: this task's part for that one, of the same Number
	Expect // task to hub: task Number has left, or will, and may rejoin
	// task to hub: which tasks does the exchange wait for? The answer: these tasks (Data, as of
	// Left); Number is 0 for those that have not come, 1 for those that have not answered
	Missing
	// task to hub: has the process of task Number ended? The answer, after the notice of that end
	// if there is one: the same
	Settle
	// task to hub: its address, Data, has changed; hub to task: that of task Number has
	Moved
	lastKind
)

// Message is one message. Its files are this process's descriptors; those of a received message
// belong to the receiver.
type Message struct {
	Kind   Kind
	Number uint32
	Data   []byte
	Files  []int
}

// CloseFiles closes the message's descriptors.
func (m *Message) CloseFiles() {
	for _, fd := range m.Files {
		unix.Close(fd)
	}
	m.Files = nil
}

// ErrMalformed is a record that does not follow the protocol.
var ErrMalformed = errors.New("malformed record")

type header struct {
	kind   Kind
	more   bool
	files  int
	number uint32
}

func (h header) encode(b []byte) {
	b[0] = Version
	b[1] = byte(h.kind)
	b[2] = 0
	if h.more {
		b[2] = 1
	}
	b[3] = byte(h.files)
	binary.LittleEndian.PutUint32(b[4:], h.number)
}

// errVersion is an ErrMalformed of another protocol version.
var errVersion = fmt.Errorf("%w", ErrMalformed)

// Record is the one record of a message that has neither data nor descriptors, for a caller that
// sends it without a Conn.
func Record(kind Kind) []byte {
	b := make([]byte, headerSize)
	header{kind: kind}.encode(b)
	return b
}

func decodeHeader(b []byte) (header, error) {
	if len(b) < headerSize {
		return header{}, fmt.Errorf("%w: %d bytes", ErrMalformed, len(b))
	}
	if b[0] != Version {
		return header{},
			fmt.Errorf("%w: protocol version %d, not %d: lapirun and the tasks have different releases of the library",
				errVersion, b[0], Version)
	}
	h := header{kind: Kind(b[1]), more: b[2] == 1, files: int(b[3]),
		number: binary.LittleEndian.Uint32(b[4:])}
	if h.kind == 0 || h.kind >= lastKind || b[2] > 1 || h.files > MaxRecordFiles {
		return header{}, fmt.Errorf("%w: header % x", ErrMalformed, b[:headerSize])
	}
	return h, nil
}

// assembler joins records into messages.
type assembler struct {
	m     Message
	begun bool
}

// add takes over files, in every case. done says that m is complete; it is the caller's then.
func (a *assembler) add(record []byte, files []int) (m Message, done bool, err error) {
	h, err := decodeHeader(record)
	part := Message{Files: files}
	switch {
	case err != nil:
	case h.files != len(files):
		err = fmt.Errorf("%w: %d descriptors announced, %d came", ErrMalformed, h.files, len(files))
	case a.begun && (h.kind != a.m.Kind || h.number != a.m.Number):
		err = fmt.Errorf("%w: a message begins inside another", ErrMalformed)
	case len(a.m.Data)+len(record)-headerSize > MaxMessage || len(a.m.Files)+len(files) > MaxFiles:
		err = fmt.Errorf("%w: message too long", ErrMalformed)
	}
	if err != nil {
		if errors.Is(err, errVersion) { // a task that waits at such a socket learns of the other version by any record
			for _, fd := range files {
				_ = sendRecord(fd, Record(Refuse), nil, 0)
			}
		}
		part.CloseFiles()
		a.drop()
		return Message{}, false, err
	}
	a.begun = true
	a.m.Kind, a.m.Number = h.kind, h.number
	a.m.Data = append(a.m.Data, record[headerSize:]...)
	wipe(h.kind, record)
	a.m.Files = append(a.m.Files, files...)
	if h.more {
		return Message{}, false, nil
	}
	m = a.m
	a.m, a.begun = Message{}, false
	return m, true, nil
}

func (a *assembler) drop() {
	a.m.CloseFiles()
	a.m, a.begun = Message{}, false
}

// cutter cuts a message into records. Descriptors go with the earliest records.
type cutter struct {
	m      Message
	data   int // bytes already cut
	files  int // descriptors already cut
	record []byte
}

// peek builds the next record without consuming it, so that a send that did not go can be repeated.
func (c *cutter) peek() (record []byte, files []int, last bool) {
	n := min(len(c.m.Data)-c.data, MaxRecord)
	f := min(len(c.m.Files)-c.files, MaxRecordFiles)
	last = c.data+n == len(c.m.Data) && c.files+f == len(c.m.Files)
	if cap(c.record) < headerSize+n {
		c.record = make([]byte, headerSize+n)
	}
	c.record = c.record[:headerSize+n]
	header{kind: c.m.Kind, more: !last, files: f, number: c.m.Number}.encode(c.record)
	copy(c.record[headerSize:], c.m.Data[c.data:c.data+n])
	return c.record, c.m.Files[c.files : c.files+f], last
}

func (c *cutter) consume(record []byte, files []int) {
	c.data += len(record) - headerSize
	c.files += len(files)
	wipe(c.m.Kind, record)
}
