package sockets

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"lapi/core/poll"
	"lapi/descriptor"
)

// tableSeals: a table never changes its size, so that a mapping of it is always good; and nobody
// else can map it to write (since Linux 5.1).
const tableSeals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// sealable makes a file in memory of that size.
func sealable(size int) (file int, err error) {
	const flags = unix.MFD_ALLOW_SEALING
	file, err = descriptor.Own(descriptor.Memory("lapi-dat", flags|unix.MFD_NOEXEC_SEAL))
	if err == unix.EINVAL { // before Linux 6.3
		file, err = descriptor.Own(descriptor.Memory("lapi-dat", flags))
	}
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	_ = unix.Fchmod(file, 0o600)
	if err = unix.Ftruncate(file, int64(size)); err != nil {
		unix.Close(file)
		return -1, err
	}
	return file, nil
}

// Table implements dat.TableMaker. It takes memory only where it is touched.
func (n *Network) Table(size int) (b []byte, file int, err error) {
	if file, err = sealable(size); err != nil {
		return nil, -1, err
	}
	_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, tableSeals)
	if err == nil {
		b, err = unix.Mmap(file, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS,
			unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SEAL)
	}
	if err != nil {
		n.CloseTable(b, file)
		return nil, -1, err
	}
	return b, file, nil
}

// PeerTable implements dat.TableMaker.
func (n *Network) PeerTable(file, size int) ([]byte, error) {
	return mapSealed(file, size, tableSeals, unix.PROT_READ)
}

// mapSealed maps another process's file. It refuses a file that its owner could truncate: accesses
// would fault.
func mapSealed(file, size, seals, protection int) ([]byte, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(file, &stat); err != nil {
		return nil, err
	}
	have, err := unix.FcntlInt(uintptr(file), unix.F_GET_SEALS, 0)
	if err != nil {
		return nil, err
	}
	if stat.Size != int64(size) || have&seals != seals {
		return nil, errors.New("no memory of this library")
	}
	return unix.Mmap(file, 0, size, protection, unix.MAP_SHARED)
}

// CloseTable implements dat.TableMaker.
func (n *Network) CloseTable(b []byte, file int) {
	if b != nil {
		_ = unix.Munmap(b)
	}
	if file >= 0 {
		_ = unix.Close(file)
	}
}

// Gone implements dat.TableMaker.
func (n *Network) Gone(pid int) bool { return poll.Ended(pid) }

// areaSeals: the memory of a group never changes its size.
const areaSeals = tableSeals | unix.F_SEAL_SEAL

// Area implements dat.AreaMaker. It takes memory only where it is touched.
func (n *Network) Area(size int) (b []byte, file int, err error) {
	if file, err = sealable(size); err != nil {
		return nil, -1, err
	}
	_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, areaSeals)
	if err == nil {
		b, err = unix.Mmap(file, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		n.CloseTable(b, file)
		return nil, -1, err
	}
	return b, file, nil
}

// PeerArea implements dat.AreaMaker.
func (n *Network) PeerArea(file, size int) ([]byte, error) {
	return mapSealed(file, size, areaSeals, unix.PROT_READ|unix.PROT_WRITE)
}
