package job

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"

	"lapi/core/job/pmi"
)

// daemon seals by a key of one byte. Without one it does not answer.
type daemon byte

func (d daemon) Seal(secret []byte) ([]byte, error) {
	if d == 0 {
		return nil, errors.New("nobody there")
	}
	sealed := []byte(sealedBegin)
	for _, b := range secret {
		sealed = append(sealed, b^byte(d))
	}
	return append(sealed, byte(d)), nil
}

func (d daemon) Open(sealed, secret []byte) error {
	text, ok := bytes.CutPrefix(sealed, []byte(sealedBegin))
	if !ok || len(text) != len(secret)+1 || text[len(secret)] != byte(d) {
		return errors.New("sealed elsewhere")
	}
	for i := range secret {
		secret[i] = text[i] ^ byte(d)
	}
	return nil
}

// atDaemon has Munge be d for this test.
func atDaemon(t *testing.T, d Sealer) {
	before := Munge
	Munge = d
	t.Cleanup(func() { Munge = before })
}

// exchanged are the cards of two tasks, and what each task's Meet came to.
func exchanged(t *testing.T, env [2]string) (cards [][]byte, got [2]*meeting, errs [2]error) {
	cards, all := make([][]byte, 2), new(sync.WaitGroup)
	all.Add(2)
	each(t, 2, func(task int) error {
		c, err := FromEnv(environment("PMI_FD=9 PMI_SIZE=2 PMI_RANK="+string(rune('0'+task))+
			" "+env[task]), nil)
		if err != nil {
			return err
		}
		c.openField = func() (pmi.Launcher, int, error) {
			return board{task: task, cards: cards, all: all}, 3, nil
		}
		got[task] = &meeting{place: func() (place, error) { return place{"a", "b", "c"}, nil }}
		errs[task] = got[task].hold(c)
		return nil
	})
	return cards, got, errs
}

// TestSealed: where munge answers, no card holds the job key.
func TestSealed(t *testing.T) {
	for _, c := range []struct {
		name   string
		munge  Sealer
		env    [2]string
		sealed bool
	}{
		{"by default", daemon(7), [2]string{}, true},
		{"only", daemon(7), [2]string{"LAPI_MUNGE=only", "LAPI_MUNGE=Only"}, true},
		{"refused", daemon(7), [2]string{"LAPI_MUNGE=no", "LAPI_MUNGE=yes"}, false},
		{"no daemon", daemon(0), [2]string{"", ""}, false},
		{"no library", nil, [2]string{"", ""}, false},
	} {
		atDaemon(t, c.munge)
		cards, got, errs := exchanged(t, c.env)
		if err := errors.Join(errs[:]...); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if key := got[0].key; len(key) != KeySize || !bytes.Equal(key, got[1].key) ||
			bytes.Count(key, key[:1]) == KeySize || bytes.Contains(cards[0], key) == c.sealed {
			t.Errorf("%s: the key is %x, the card %x", c.name, key, cards[0])
		}
	}
}

// TestSealRefused: a secret that should be sealed, or cannot be opened, makes no job, and the
// message says what to do.
func TestSealRefused(t *testing.T) {
	atDaemon(t, daemon(0))
	c := &Config{munge: sealOnly}
	f := fieldCard{secret: make([]byte, nameSize+KeySize)}
	if err := c.sealSecret(&f); err == nil || !strings.Contains(err.Error(), "start munged") {
		t.Error(err)
	}
	if err := c.openSecret(&f); err == nil || !strings.Contains(err.Error(), "has not sealed") {
		t.Error(err)
	}
	c.keyFile = "key" // it is the key then
	if err := errors.Join(c.sealSecret(&f), c.openSecret(&f)); err != nil {
		t.Error(err)
	}
	c = new(Config)
	f.secret, _ = daemon(7).Seal(f.secret)
	for _, d := range []Sealer{daemon(0), daemon(8), nil} {
		atDaemon(t, d)
		if err := c.openSecret(&f); err == nil || !strings.Contains(err.Error(), "LAPI_MUNGE=no") {
			t.Error(err)
		}
	}
	var e *EnvError
	if _, err := FromEnv(environment("PMI_FD=9 PMI_SIZE=2 PMI_RANK=0 LAPI_MUNGE=1"), nil); !errors.As(
		err, &e) || e.Variable != mungeVariable {
		t.Error(err)
	}
}

// oversized makes seals that do not fit in a card, strange makes seals that are not munge's.
type oversized struct{ daemon }
type strange struct{ daemon }

func (oversized) Seal([]byte) ([]byte, error) {
	return append([]byte(sealedBegin), make([]byte, maxSealed)...), nil
}
func (strange) Seal([]byte) ([]byte, error) { return []byte("sealed"), nil }

// TestStrangeSeal: what other tasks could not read is not sent.
func TestStrangeSeal(t *testing.T) {
	for _, d := range []Sealer{oversized{}, strange{}} {
		atDaemon(t, d)
		f := fieldCard{secret: []byte("secret")}
		if err := new(Config).sealSecret(&f); err != nil || string(f.secret) != "secret" {
			t.Errorf("%q, %v", f.secret, err)
		}
	}
}
