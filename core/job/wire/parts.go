package wire

import (
	"encoding/binary"
	"fmt"
)

// Contribution is one task's part of an exchange inside a Parts message.
type Contribution struct {
	Task  int
	Data  []byte
	Files []int
}

const contributionHeader = 12 // task, bytes, descriptors: 32 bits each, little-endian

// EncodeParts packs contributions into the data and files of a Parts message.
func EncodeParts(all []Contribution) (data []byte, files []int) {
	n := 0
	for _, c := range all {
		n += contributionHeader + len(c.Data)
	}
	data = make([]byte, 0, n)
	for _, c := range all {
		data = binary.LittleEndian.AppendUint32(data, uint32(c.Task))
		data = binary.LittleEndian.AppendUint32(data, uint32(len(c.Data)))
		data = binary.LittleEndian.AppendUint32(data, uint32(len(c.Files)))
		data = append(data, c.Data...)
		files = append(files, c.Files...)
	}
	return data, files
}

// DecodeParts unpacks what EncodeParts packed; tasks are in 0 to numTasks-1 and come once each at
// most. The results share data and files.
func DecodeParts(data []byte, files []int, numTasks int) ([]Contribution, error) {
	seen := make([]bool, numTasks)
	var all []Contribution
	for len(data) > 0 {
		if len(data) < contributionHeader {
			return nil, fmt.Errorf("%w: contribution of %d bytes", ErrMalformed, len(data))
		}
		task := binary.LittleEndian.Uint32(data)
		n := binary.LittleEndian.Uint32(data[4:])
		f := binary.LittleEndian.Uint32(data[8:])
		data = data[contributionHeader:]
		if uint64(task) >= uint64(numTasks) || seen[task] || uint64(n) > uint64(len(data)) ||
			uint64(f) > uint64(len(files)) {
			return nil, fmt.Errorf("%w: contribution of task %d with %d bytes and %d descriptors",
				ErrMalformed, task, n, f)
		}
		seen[task] = true
		all = append(all, Contribution{Task: int(task), Data: data[:n:n], Files: files[:f:f]})
		data, files = data[n:], files[f:]
	}
	if len(files) > 0 {
		return nil, fmt.Errorf("%w: %d descriptors that belong to no task", ErrMalformed,
			len(files))
	}
	return all, nil
}
