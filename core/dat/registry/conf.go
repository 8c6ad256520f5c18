package registry

import (
	"fmt"
	"strconv"
	"strings"
)

// fieldsOfLine is how many fields a line of dat.conf has.
const fieldsOfLine = 8

// Parse reads the text of a dat.conf: a line for each entry, with eight fields apart by blanks:
//
//	name  api  threadsafe|nonthreadsafe  default|nondefault  library  version  params  platform
//
// A field may be in double quotes, where a backslash takes the next character as it is. # begins a
// comment. What is no entry is skipped, and warn gets a line that names file and line number.
// Entries of the kernel's API (k…) are no concern of this library, and skipped without a word.
func Parse(file, text string, warn func(string)) []Entry {
	var entries []Entry
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields, err := split(strings.TrimRight(line, "\r\n"))
		if err == nil && len(fields) == 0 {
			continue
		}
		var e Entry
		user := false
		if err == nil {
			e, user, err = entry(fields)
		}
		switch {
		case err != nil:
			warn(fmt.Sprintf("%s:%d: %v: the line is skipped", file, number, err))
		case user:
			entries = append(entries, e)
		}
	}
	return entries
}

// Named reads LAPI_DAT_NAMES: name=device, apart by commas, gives a name to the interface, address or
// RDMA adapter that device is, port 0 of it. Unlike dat.conf it needs no file. What is no pair is
// skipped, and warn gets a line.
func Named(text string, warn func(string)) (entries []Entry) {
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, device, ok := strings.Cut(pair, "=")
		if !ok || name == "" || len(name) > NameMax || device == "" ||
			strings.ContainsAny(device, " \t") {
			warn(fmt.Sprintf("LAPI_DAT_NAMES: %q is not name=device: it is skipped", pair))
			continue
		}
		entries = append(entries, Entry{Name: name, Major: 2, Default: true, Params: device + " 0"})
	}
	return entries
}

// split takes a line apart.
func split(line string) (fields []string, err error) {
	var field strings.Builder
	inside, quoted := false, false // a field; quotes
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quoted && c == '\\' && i+1 < len(line):
			i++
			field.WriteByte(line[i])
		case c == '"':
			quoted, inside = !quoted, true
		case quoted:
			field.WriteByte(c)
		case c == ' ' || c == '\t':
			if inside {
				fields, inside = append(fields, field.String()), false
				field.Reset()
			}
		case c == '#' && !inside:
			return fields, nil
		default:
			inside = true
			field.WriteByte(c)
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed")
	}
	if inside {
		fields = append(fields, field.String())
	}
	return fields, nil
}

// entry makes an Entry of the fields of a line; user: of the user's API.
func entry(fields []string) (e Entry, user bool, err error) {
	if len(fields) != fieldsOfLine {
		return e, false, fmt.Errorf("%d fields, not %d", len(fields), fieldsOfLine)
	}
	e = Entry{Name: fields[0], Library: fields[4], Version: fields[5], Params: fields[6],
		Platform: fields[7]}
	if e.Name == "" || len(e.Name) > NameMax {
		return e, false, fmt.Errorf("a name of %d bytes, not 1 to %d", len(e.Name), NameMax)
	}
	if user, e.Major, e.Minor, err = api(fields[1]); err != nil {
		return e, false, err
	}
	if e.ThreadSafe, err = either(fields[2], "threadsafe", "nonthreadsafe"); err != nil {
		return e, false, err
	}
	if e.Default, err = either(fields[3], "default", "nondefault"); err != nil {
		return e, false, err
	}
	return e, user, nil
}

// api reads u2.0: whose API it is, and its version.
func api(field string) (user bool, major, minor uint32, err error) {
	before, after, ok := strings.Cut(strings.TrimLeft(field, "uk"), ".")
	a, errA := strconv.ParseUint(before, 10, 32)
	b, errB := strconv.ParseUint(after, 10, 32)
	if !ok || errA != nil || errB != nil || len(field) != len(before)+len(after)+2 {
		return false, 0, 0, fmt.Errorf("%q is no version such as u2.0", field)
	}
	return field[0] == 'u', uint32(a), uint32(b), nil
}

func either(field, yes, no string) (bool, error) {
	if field != yes && field != no {
		return false, fmt.Errorf("%q is neither %s nor %s", field, yes, no)
	}
	return field == yes, nil
}
