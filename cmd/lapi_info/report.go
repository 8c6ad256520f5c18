package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"lapi/core/settings"
)

// report is the output of lapi_info. Its JSON has the names of the tags.
type report struct {
	Sections []section `json:"sections,omitempty"`
	Settings []setting `json:"settings"`
	Notices  []string  `json:"notices"` // of settings without effect
}

type section struct {
	Title string `json:"title"`
	Items []item `json:"items"`
}

// item is one fact.
type item struct {
	Name  string `json:"name"`
	State state  `json:"state"`
	Text  string `json:"text"`
	// Remedy is what to do about it, "": nothing.
	Remedy string `json:"remedy,omitempty"`
}

type state string

const (
	works   state = "works"
	absent  state = "absent"  // not there, or not usable
	limited state = "limited" // usable, and less than it could be
	fact    state = "fact"    // neither good nor bad
)

type setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Where   string `json:"where"` // "default", "environment", or a file and line
	Default string `json:"default"`
	Values  string `json:"values"`
	Meaning string `json:"meaning"`
}

const byDefault = "default"

// addSettings adds those of names, without names all. The error names those that are no settings.
func (r *report) addSettings(names []string, getenv func(string) (string, bool),
	environ []string) error {
	files := settings.Read(getenv, false)
	var unknown []string
	var chosen []settings.Setting
	for _, name := range names {
		if s, ok := settings.Named(name); ok {
			chosen = append(chosen, s)
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(names) == 0 {
		chosen = settings.All()
	}
	for _, s := range chosen {
		line := setting{s.Name, s.Default, byDefault, s.Default, s.Values, s.Meaning}
		if value, ok := getenv(s.Name); ok && value != "" {
			line.Value, line.Where = value, "environment"
		} else if value, where, found := files.Lookup(s.Name); found && !ok && value != "" {
			line.Value, line.Where = value, where
		}
		r.Settings = append(r.Settings, line)
	}
	r.Notices = append(files.Notices, settings.Unknown(environ)...)
	if unknown != nil {
		return fmt.Errorf("no such setting: %s; lapi_info --settings lists all",
			strings.Join(unknown, ", "))
	}
	return nil
}

func (r *report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if r.Notices == nil {
		r.Notices = []string{}
	}
	return e.Encode(r)
}

func (r *report) text(w io.Writer) error {
	var b strings.Builder
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "%s\n", s.Title)
		width := 0
		for _, i := range s.Items {
			width = max(width, len(i.Name))
		}
		for _, i := range s.Items {
			mark := map[state]string{works: "yes  ", absent: "no   ", limited: "but  ", fact: "     "}
			fmt.Fprintf(&b, "  %s%-*s  %s\n", mark[i.State], width, i.Name, i.Text)
			if i.Remedy != "" {
				fmt.Fprintf(&b, "  %*s%s\n", width+7, "", "-> "+i.Remedy)
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString("Settings (* is set)\n")
	for _, s := range r.Settings {
		if s.Where == byDefault {
			fmt.Fprintf(&b, "    %-24s %s  [%s]\n", s.Name, s.Default, s.Meaning)
			continue
		}
		fmt.Fprintf(&b, "  * %-24s %s  (%s; default: %s)  [%s]\n", s.Name, s.Value, s.Where,
			s.Default, s.Meaning)
	}
	for _, n := range r.Notices {
		fmt.Fprintf(&b, "! %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
