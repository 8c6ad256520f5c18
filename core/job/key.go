package job

import (
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"lapi/core/job/wire"
)

// Sizes of a key file: less could be guessed, more is a mistake.
const (
	minKeyFile = 16
	maxKeyFile = 4096
)

// KeySize is the size of a job key in bytes. It is the block size of SHA-256 so that a hash reads
// the key where it is and keeps no part of it in a buffer of its own.
const KeySize = wire.KeySize

// Key returns the secret that all tasks of the job share, KeySize bytes: from lapirun, or made from
// the contents of LAPI_JOB_KEY_FILE, or, under a launcher of the field, what task 0 has made.
// Without any the job is not authenticated, and key is nil.
// The key is in memory that no core dump contains, the only copy in this process; the caller must
// neither change nor copy it, nor use it after ForgetKey. Not for concurrent use.
//
// The key file must be a regular file that belongs to this user and that nobody else can read or
// write, and hold 16 to 4096 bytes; all tasks need the same contents.
func (c *Config) Key() (key []byte, authenticated bool, err error) {
	if c.key != nil {
		return c.key, true, nil
	}
	switch {
	case c.Launched:
		err = fetchKey(c)
	case c.keyFile != "":
		c.key, err = readKeyFile(c.keyFile)
	case c.start != byHand && c.start != byAddress: // without a key file others may have listened
		met.Lock()
		err = met.copyKey(c)
		met.Unlock()
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return c.key, true, nil
}

// ForgetKey wipes the key. Key finds it anew.
func (c *Config) ForgetKey() {
	freeSecret(c.key)
	c.key = nil
}

func readKeyFile(name string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("%s=%s: %w", KeyFileVariable, name, err)
	}
	// Non-blocking, so that a FIFO is seen for what it is instead of being waited for. All
	// checks are on the open file.
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return fail(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(err)
	}
	if err := checkKeyFile(&st); err != nil {
		return fail(err)
	}
	// One block of the hash says what this is and how long; then come the contents and zeros up
	// to the end of a block: the hash reads whole blocks where they are, and has no need to
	// keep a part of them.
	const block = sha512.BlockSize
	b, err := secretMemory(block + maxKeyFile + block)
	if err != nil {
		return fail(err)
	}
	defer freeSecret(b)
	n := 0
	for n <= maxKeyFile {
		k, err := f.Read(b[block+n : block+maxKeyFile+1])
		if n += k; err == io.EOF {
			break
		}
		if err != nil {
			return fail(err)
		}
	}
	if n < minKeyFile || n > maxKeyFile {
		return fail(fmt.Errorf("it must hold %d to %d bytes", minKeyFile, maxKeyFile))
	}
	copy(b, "LAPI job key file")
	binary.LittleEndian.PutUint64(b[block-8:], uint64(n))
	key, err := secretMemory(KeySize)
	if err != nil {
		return fail(err)
	}
	scrub()
	hashTo(key, b[:block+(n+block-1)/block*block])
	scrub()
	return key, nil
}

// hashTo writes the hash of whole blocks to key, and leaves it nowhere else but on the stack.
//
//go:noinline
func hashTo(key, blocks []byte) {
	h := sha512.New()
	h.Write(blocks)
	h.Sum(key[:0])
	h.Reset()
}

func checkKeyFile(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d, not to you (user %d)", st.Uid, os.Geteuid())
	case st.Mode&0o077 != 0:
		return fmt.Errorf("its mode %#o lets others read or write it; use chmod 600", st.Mode&0o777)
	}
	return nil
}
