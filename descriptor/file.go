package descriptor

import "golang.org/x/sys/unix"

// File is what a number has named: a program may close all descriptors of its process, and open
// files that get the same numbers. Files that are neither named nor sockets, as eventfds and
// epolls, have one identity.
type File struct {
	device, inode uint64
	kind          uint32
}

// FileOf is the file of an open descriptor; of others it is no file's.
func FileOf(fd int) File {
	var st unix.Stat_t
	for {
		switch err := unix.Fstat(fd, &st); err {
		case nil:
			return File{uint64(st.Dev), st.Ino, st.Mode&unix.S_IFMT | 1}
		case unix.EINTR:
		default:
			return File{}
		}
	}
}
