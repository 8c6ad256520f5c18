package job

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Task 0's secret travels through the launcher's key-value space, which others may read. Where
// munge's daemon runs, as it does on most clusters with Slurm, the secret is sealed by it: only
// processes of this user open it, on hosts with the same munge key.

// Sealer seals a secret so that only processes of this user open it.
type Sealer interface {
	// Seal makes printable text of it.
	Seal(secret []byte) ([]byte, error)
	// Open writes what was sealed to secret, which has just that size.
	Open(sealed, secret []byte) error
}

// Munge is munge's daemon on this host. The library's C part asks it, which core does not import:
// the package that links both sets it, before any FromEnv. Nil: there is none.
var Munge Sealer

// sealing is what LAPI_MUNGE says.
type sealing uint8

const (
	sealYes sealing = iota // where the daemon of task 0's host answers
	sealNo
	sealOnly
)

// mungeVariable is this library's own.
const mungeVariable = "LAPI_MUNGE"

// sealedBegin is how a credential begins: no other content of a card's secret begins so.
const sealedBegin = "MUNGE:"

// maxSealed bounds what a card may hold of it, bytes.
const maxSealed = 4096

func (r *reader) munge(c *Config) error {
	s, ok := r.get(mungeVariable)
	switch strings.ToLower(s) {
	case "yes":
	case "no":
		c.munge = sealNo
	case "only":
		c.munge = sealOnly
	default:
		if ok {
			return &EnvError{mungeVariable, codeNoEnvVar, fmt.Sprintf(
				"the value %q is not valid; set it to yes, no or only, the same for all tasks", s)}
		}
	}
	return nil
}

// sealSecret seals the secret in f, task 0's card, as LAPI_MUNGE says. With a key file nothing in
// it is secret.
func (c *Config) sealSecret(f *fieldCard) error {
	if len(f.secret) == 0 || c.munge == sealNo || c.keyFile != "" {
		return nil
	}
	sealed, err := seal(f.secret)
	switch {
	case err == nil:
		clear(f.secret)
		f.secret = sealed
	case c.munge == sealOnly:
		return fmt.Errorf("%s=only, but munge does not seal the job key: %w; start munged, or set "+
			"%s=yes or %s", mungeVariable, err, mungeVariable, KeyFileVariable)
	}
	return nil
}

func seal(secret []byte) ([]byte, error) {
	if Munge == nil {
		return nil, errors.New("this program cannot ask it")
	}
	sealed, err := Munge.Seal(secret)
	if err == nil && (len(sealed) > maxSealed || !isSealed(sealed)) {
		err = errors.New("its credential is of a kind that is not known")
	}
	return sealed, err
}

func isSealed(b []byte) bool { return bytes.HasPrefix(b, []byte(sealedBegin)) }

// openSecret opens the secret that task 0 has sealed.
func (c *Config) openSecret(f *fieldCard) error {
	switch {
	case !isSealed(f.secret):
		if c.munge == sealOnly && c.keyFile == "" {
			return fmt.Errorf("%s=only here, but task 0 has not sealed the job key: set it for "+
				"all tasks", mungeVariable)
		}
		return nil
	case Munge == nil:
		return fmt.Errorf("task 0 has sealed the job key by munge, which this program cannot ask: "+
			"set %s=no for all tasks", mungeVariable)
	}
	plain := make([]byte, nameSize+KeySize)
	if err := Munge.Open(f.secret, plain); err != nil {
		return fmt.Errorf("task 0 has sealed the job key by munge, which does not open it here: "+
			"%w; start munged with the same key on all hosts, or set %s=no for all tasks", err,
			mungeVariable)
	}
	f.secret = plain
	return nil
}
