package job

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Sizes of a key file: less could be guessed, more is a mistake.
const (
	minKeyFile = 16
	maxKeyFile = 4096
)

// KeySize is the size of a job key in bytes.
const KeySize = 32

// Key returns the secret that all tasks of the job share, KeySize bytes: from lapirun, or made from the contents of LAPI_JOB_KEY_FILE.
// Without either the job is not authenticated, and key is nil. The caller must not change the key. Not for concurrent use.
//
// The key file must be a regular file that belongs to this user and that nobody else can read or write, and hold
// 16 to 4096 bytes; all tasks need the same contents.
func (c *Config) Key() (key []byte, authenticated bool, err error) {
	if c.key != nil {
		return c.key, true, nil
	}
	switch {
	case c.Launched:
		c.key, err = fetchKey(c)
	case c.keyFile != "":
		c.key, err = readKeyFile(c.keyFile)
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return c.key, true, nil
}

func readKeyFile(name string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("%s=%s: %w", KeyFileVariable, name, err)
	}
	// Non-blocking, so that a FIFO is seen for what it is instead of being waited for. All checks are on the open file.
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
	contents, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return fail(err)
	}
	if len(contents) < minKeyFile || len(contents) > maxKeyFile {
		return fail(fmt.Errorf("it must hold %d to %d bytes", minKeyFile, maxKeyFile))
	}
	sum := sha256.Sum256(append([]byte("LAPI job key file\x00"), contents...))
	return sum[:], nil
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
