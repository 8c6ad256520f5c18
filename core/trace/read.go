package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"lapi/transport/layout"
)

// ErrForeign says that a file is not a trace of this version and byte order.
var ErrForeign = errors.New("not a trace file of this version of LAPI")

// Head says whose trace was read.
type Head struct {
	Identity
	PID      int
	Machine  [16]byte
	OpenedNs uint64 // when the tasks had met in LAPI_Init, on the machine's clock
}

// Trace is what a file holds.
type Trace struct {
	Head
	Records []layout.TraceRecord // the valid ones, in the order claimed, with Kind's lower half
	By      []uint8              // of each record: the link of its message; 0: none, or not known
	Lost    uint64               // records for which the file was too small
	Broken  uint64               // claimed, but never filled (the task died), or of no known kind
}

// bounds of the values of a valid head.
const (
	maxTasks    = 1 << 20
	maxInstance = 1 << 10
)

// Read reads a trace. A file that ends early (its task was killed, the disk is full) gives the
// records that are there. The error is ErrForeign or the reader's.
func Read(r io.Reader) (*Trace, error) {
	raw := make([]byte, headSize)
	if _, err := io.ReadFull(r, raw); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = ErrForeign
		}
		return nil, err
	}
	h := decodeHead(raw)
	if h.Magic != layout.TraceMagic || h.Version != layout.TraceVersion || h.NumTasks < 1 ||
		h.NumTasks > maxTasks || h.Task < 0 || h.Task >= h.NumTasks || h.Instance < 1 ||
		h.Instance > maxInstance || h.OpenedNs > 1<<62 {
		return nil, ErrForeign
	}
	t := &Trace{Head: Head{
		Identity: Identity{
			Partition: text(h.Partition[:]), Task: int(h.Task), NumTasks: int(h.NumTasks),
			Instance: int(h.Instance), Level: int(min(h.Level, layout.TraceDispatcher))},
		PID: int(h.Pid), Machine: h.Machine, OpenedNs: h.OpenedNs}}
	if h.Next > h.Capacity {
		t.Lost = h.Next - h.Capacity
	}
	return t, t.records(r, min(h.Next, h.Capacity))
}

// records reads at most n records.
func (t *Trace) records(r io.Reader, n uint64) error {
	raw := make([]byte, recordSize)
	for range n {
		if _, err := io.ReadFull(r, raw); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		record := decodeRecord(raw)
		by := record.Kind >> layout.TraceLinkShift
		record.Kind &= 1<<layout.TraceLinkShift - 1
		if !known(record.Kind) || by > layout.TraceByRDMA || record.Ns > 1<<62 {
			t.Broken++
			continue
		}
		t.Records, t.By = append(t.Records, record), append(t.By, uint8(by))
	}
	return nil
}

func known(kind uint32) bool {
	phase, category := kind&0xff, kind&^0xff
	return phase >= layout.TraceBegin && phase <= layout.TraceReceived &&
		category >= layout.TraceCall && category <= layout.TraceCounter
}

// text is a padded text of a file. Anything may stand there.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.ToValidUTF8(string(b), "?")
}

// String names the trace for messages.
func (h *Head) String() string {
	return fmt.Sprintf("task %d of %d, partition %s", h.Task, h.NumTasks, h.Partition)
}
