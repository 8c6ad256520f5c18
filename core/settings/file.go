package settings

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// FileVariable names the settings file that is read in place of the site's and the user's; none: none
// is read.
const FileVariable = "LAPI_CONF"

const (
	siteFile = "/etc/lapi/lapi.conf"
	userFile = ".lapi.conf"

	maxFile = 64 << 10 // bytes of a file that are read
)

// Files are the settings of the files that were read. The zero value has none. It does not change
// after Read, so that any thread may use it.
type Files struct {
	entries []entry
	// Notices are sentences about lines without effect, and files that could not be read.
	Notices []string
}

type entry struct{ name, value, where string }

// Read reads the settings files: the file of LAPI_CONF, or ~/.lapi.conf and then
// /etc/lapi/lapi.conf, of which the first that has a setting counts. A file that is not there has no
// settings. privileged: the program has more rights than its user, so neither LAPI_CONF nor HOME is
// believed.
//
// A line is name = value; blank lines and those that begin with # are skipped. A value is taken as it
// stands, without the blanks around it. Files are read up to 64 KiB, must be regular, and must not be
// writable by everybody.
func Read(getenv func(string) (string, bool), privileged bool) *Files {
	f := &Files{}
	if named, _ := getenv(FileVariable); named != "" && !privileged {
		if named != "none" {
			f.add(named, true)
		}
		return f
	}
	if home, _ := getenv("HOME"); home != "" && !privileged {
		f.add(home+"/"+userFile, false)
	}
	f.add(siteFile, false)
	return f
}

// add reads one file; must: a missing one is worth a notice.
func (f *Files) add(path string, must bool) {
	text, err := read(path)
	if err != nil && (must || !errors.Is(err, unix.ENOENT)) {
		f.notice("%s: its settings have no effect: %v", path, err)
	}
	for i, line := range strings.Split(text, "\n") {
		f.line(fmt.Sprintf("%s, line %d", path, i+1), strings.TrimSpace(line))
	}
}

func (f *Files) notice(format string, args ...any) {
	f.Notices = append(f.Notices, fmt.Sprintf(format, args...))
}

func (f *Files) line(where, text string) {
	if text == "" || text[0] == '#' {
		return
	}
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	s, known := Named(name)
	switch {
	case !ok || strings.ContainsRune(text, 0):
		f.notice("%s has no effect: expected is name = value", where)
	case known && !s.Site:
		f.notice("%s: %s has no effect in a file: it is for the environment of one job", where, name)
	case known:
		f.entries = append(f.entries, entry{name, value, where})
	default:
		hint := "lapi_info lists all settings"
		if near, ok := nearest(name); ok {
			hint = "did you mean " + near + "?"
		}
		f.notice("%s: there is no setting %.60q; %s", where, name, hint)
	}
}

// read returns what a settings file holds. It makes system calls itself, as package os would start
// the run-time's poller in the program's process.
func read(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	switch err := unix.Fstat(fd, &info); {
	case err != nil:
		return "", err
	case info.Mode&unix.S_IFMT != unix.S_IFREG: // such as a FIFO, which is not waited for
		return "", errors.New("it is no regular file")
	case info.Mode&0o002 != 0:
		return "", errors.New("everybody may write it; remove that permission (chmod o-w)")
	case info.Size > maxFile:
		return "", fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	text := make([]byte, maxFile)
	n := 0
	for n < maxFile {
		more, err := unix.Read(fd, text[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		if more == 0 {
			break
		}
		n += more
	}
	return string(text[:n]), nil
}

// Lookup returns a setting's value in the files, and where it stands.
func (f *Files) Lookup(name string) (value, where string, ok bool) {
	for _, e := range f.entries {
		if e.name == name {
			return e.value, e.where, true
		}
	}
	return "", "", false
}

// Over returns an environment in which the files' settings stand for variables that are not set.
func (f *Files) Over(getenv func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if value, ok := getenv(name); ok {
			return value, true
		}
		value, _, ok := f.Lookup(name)
		return value, ok
	}
}

// Add returns environ (NAME=value) with the files' settings that it lacks.
func (f *Files) Add(environ []string) []string {
	has := make(map[string]bool, len(environ))
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		has[name] = true
	}
	all := environ[:len(environ):len(environ)]
	for _, e := range f.entries {
		if !has[e.name] {
			has[e.name] = true
			all = append(all, e.name+"="+e.value)
		}
	}
	return all
}
