// Package registry knows the names of interface adapters: those built into the library, and those
// of dat.conf. It opens nothing.
//
//	registry.go  the names, lookup, what a program registers
//	conf.go      dat.conf
package registry

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

// NameMax is the longest name of an adapter, in bytes.
const NameMax = 255

// Entry is one name.
type Entry struct {
	Name         string
	Major, Minor uint32 // of the API
	ThreadSafe   bool
	Default      bool   // else it is neither listed nor opened
	Library      string // that provides it, as written; of a built-in name ""
	Version      string // of the provider, as written
	Params       string // the provider's: for this library device and port
	Platform     string
	Provided     bool   // by Library, which is not this one
	Table        uint64 // address of the table that a program's provider has registered; 0: none
}

// key is what a lookup matches exactly.
type key struct {
	name         string
	major, minor uint32
	threadSafe   bool
}

func (e *Entry) key() key { return key{e.Name, e.Major, e.Minor, e.ThreadSafe} }

// Missing says how far a lookup came.
type Missing int

// What no entry has, the first that fails.
const (
	Found Missing = iota
	NoName
	NoMajor
	NoMinor
	NoThreadSafety
)

// ErrRegistered is the error of a name that is registered already.
var ErrRegistered = errors.New("dat registry: registered already")

// Registry is the names of a process. Any thread may call its methods.
type Registry struct {
	mu      sync.Mutex
	builtIn []Entry
	conf    []Entry
	added   []Entry // by dat_registry_add_provider
}

// New is a registry with the library's own names and those of a file.
func New(builtIn, conf []Entry) *Registry {
	return &Registry{builtIn: builtIn, conf: conf}
}

// Load reads the file that a process's environment and this installation name: $DAT_OVERRIDE if it
// is set, and no other then; else the first of files that can be read. warn gets a line for
// everything that is skipped.
func Load(getenv func(string) (string, bool), files []string, warn func(string)) []Entry {
	if file, ok := getenv("DAT_OVERRIDE"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			warn(fmt.Sprintf("DAT_OVERRIDE: %v: no interface adapters but the built-in ones", err))
			return nil
		}
		return Parse(file, string(text), warn)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			return Parse(file, string(text), warn)
		}
	}
	return nil
}

// all are the entries in the order of lookup: a file may say more of a built-in name.
func (r *Registry) all() []Entry { return slices.Concat(r.added, r.conf, r.builtIn) }

// Lookup finds the entries that a dat_ia_openv with these arguments may open, in the order to try
// them; if there is none, what is missing.
func (r *Registry) Lookup(name string, major, minor uint32, threadSafe bool) ([]Entry, Missing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	best := NoName
	var found []Entry
	for _, e := range r.all() {
		switch {
		case !e.Default || e.Name != name:
		case e.Major != major:
			best = max(best, NoMajor)
		case e.Minor != minor:
			best = max(best, NoMinor)
		case e.ThreadSafe != threadSafe:
			best = max(best, NoThreadSafety)
		default:
			found = append(found, e)
		}
	}
	if found != nil {
		return found, Found
	}
	return nil, best
}

// List is each name once that can be opened, as dat_registry_list_providers gives them.
func (r *Registry) List() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[key]bool{}
	var list []Entry
	for _, e := range r.all() {
		if k := e.key(); e.Default && !seen[k] {
			seen[k] = true
			list = append(list, e)
		}
	}
	return list
}

// Add registers a name of the program's.
func (r *Registry) Add(e Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.ContainsFunc(r.added, func(a Entry) bool { return a.key() == e.key() }) {
		return ErrRegistered
	}
	r.added = append(r.added, e)
	return nil
}

// HasTable says whether a provider's table is registered under some name.
func (r *Registry) HasTable(table uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.added, func(a Entry) bool { return a.Table == table })
}

// Remove takes out what Add has registered; false: there is no such name.
func (r *Registry) Remove(name string, major, minor uint32, threadSafe bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{name, major, minor, threadSafe}
	i := slices.IndexFunc(r.added, func(a Entry) bool { return a.key() == k })
	if i < 0 {
		return false
	}
	r.added = slices.Delete(r.added, i, i+1)
	return true
}
