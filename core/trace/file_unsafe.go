package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lapi/transport/layout"
)

// Sizes of a trace file, bytes.
const (
	headSize   = int(unsafe.Sizeof(layout.TraceHead{}))
	recordSize = int(unsafe.Sizeof(layout.TraceRecord{}))
)

// File is the trace of one task that is being written.
type File struct {
	head    *layout.TraceHead
	records []layout.TraceRecord
	mapped  []byte
	file    *os.File
}

// Identity says whose trace a file is.
type Identity struct {
	Partition string
	Task      int // of NumTasks
	NumTasks  int
	Instance  int // LAPI instance of the process, from 1
	Level     int // MP_LAPI_TRACE_LEVEL
}

// Name is the file's name in its folder: lapi-trace.<partition>.<task>, and .<instance> from the
// second instance on. Of the partition, characters that are unwelcome in file names become '_'.
func (id *Identity) Name() string {
	safe := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, id.Partition)
	name := fmt.Sprintf("%s%.64s.%d", Prefix, safe, id.Task)
	if id.Instance > 1 {
		name += fmt.Sprint(".", id.Instance)
	}
	return name
}

// Prefix begins the name of every trace file.
const Prefix = "lapi-trace."

// Create makes the file for id in dir, of size bytes, which it reserves at once: a full disk is an
// error here, not a SIGBUS later. A file of that name is replaced; a process that has it open keeps
// the old one.
func Create(dir string, id *Identity, size int64) (*File, error) {
	path := filepath.Join(dir, id.Name())
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.reserve(size); err != nil {
		file.Close()
		os.Remove(path)
		return nil, err
	}
	f.describe(id)
	return f, nil
}

func (f *File) reserve(size int64) error {
	capacity := (int(size) - headSize) / recordSize
	if capacity < 1 {
		return fmt.Errorf("%d bytes have no room for a record", size)
	}
	fd := int(f.file.Fd())
	err := unix.Fallocate(fd, 0, 0, size)
	for err == unix.EINTR { // a signal stops it where memory is the file system
		err = unix.Fallocate(fd, 0, 0, size)
	}
	if err == unix.EOPNOTSUPP {
		if err := fill(f.file, size); err != nil {
			return err
		}
	} else if err != nil {
		return os.NewSyscallError("fallocate", err)
	}
	mapped, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	// A child of fork is not this task. Its calls are refused, so that it writes no trace where the
	// kernel refuses this, either.
	_ = unix.Madvise(mapped, unix.MADV_DONTFORK)
	f.mapped = mapped
	f.head = (*layout.TraceHead)(unsafe.Pointer(&mapped[0]))
	f.records = unsafe.Slice((*layout.TraceRecord)(unsafe.Pointer(&mapped[headSize])), capacity)
	return nil
}

// fill reserves where the file system cannot: by writing.
func fill(file *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) describe(id *Identity) {
	h := f.head
	h.Version, h.Level = layout.TraceVersion, uint32(id.Level)
	h.Task, h.NumTasks, h.Instance, h.Pid = int32(id.Task), int32(id.NumTasks), int32(id.Instance),
		int32(os.Getpid())
	h.Capacity, h.OpenedNs = uint64(len(f.records)), Now()
	copy(h.Partition[:], id.Partition)
	copy(h.Machine[:], machine())
	h.Magic = layout.TraceMagic
}

// machine is the kernel's id of this machine since it was started; empty if it does not say.
func machine() []byte {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil
	}
	var id []byte
	for digits := strings.ReplaceAll(strings.TrimSpace(string(text)), "-",
		""); len(digits) >= 2; digits = digits[2:] {
		var b byte
		if _, err := fmt.Sscanf(digits[:2], "%02x", &b); err != nil {
			return nil
		}
		id = append(id, b)
	}
	return id
}

// Address is where the head is mapped, for the C side; it is valid until Close.
func (f *File) Address() uint64 { return uint64(uintptr(unsafe.Pointer(f.head))) }

// Add appends a record: r's members as they are, name, and the kind, which makes it valid. It
// allocates nothing. If the file is full the record is counted and lost.
func (f *File) Add(r layout.TraceRecord, name string) {
	i := atomic.AddUint64(&f.head.Next, 1) - 1
	if i >= uint64(len(f.records)) {
		return
	}
	at := &f.records[i]
	at.Ns, at.Id, at.Size, at.Thread, at.Peer, at.Code = r.Ns, r.Id, r.Size, r.Thread, r.Peer,
		r.Code
	copy(at.Name[:], name)
	atomic.StoreUint32(&at.Kind, r.Kind) // release: pairs with the reader, as in cshim_trace_write
}

// Close cuts the file behind its last record and unmaps it. No record may be added any more.
func (f *File) Close() error {
	used := min(atomic.LoadUint64(&f.head.Next), uint64(len(f.records)))
	err := unix.Munmap(f.mapped)
	f.head, f.records, f.mapped = nil, nil, nil
	if e := f.file.Truncate(int64(headSize) + int64(used)*int64(recordSize)); err == nil {
		err = e
	}
	if e := f.file.Close(); err == nil {
		err = e
	}
	return err
}

// decodeHead and decodeRecord read from bytes of any alignment and any content.
func decodeHead(b []byte) (h layout.TraceHead) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&h)), headSize), b)
	return h
}

func decodeRecord(b []byte) (r layout.TraceRecord) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&r)), recordSize), b)
	return r
}
