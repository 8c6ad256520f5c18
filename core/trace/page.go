package trace

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// pageTemplate is the page but for its data. It loads nothing.
//
//go:embed page.html
var pageTemplate []byte

// page is the data of the page, as its script reads them.
type page struct {
	Title      string       `json:"title"`
	Summary    string       `json:"summary"`
	End        float64      `json:"end"` // us
	Names      []string     `json:"names"`
	Categories []string     `json:"categories"`
	Rows       []*pageRow   `json:"rows"`   // one a thread
	Arrows     [][4]float64 `json:"arrows"` // time and row of each end
}

type pageRow struct {
	Label   string  `json:"label"`
	Longest float64 `json:"longest"` // us, of its slices
	// Beginning and length in us, name, category, peer, depth, code, bytes.
	Slices [][8]float64 `json:"slices"`
}

// WritePage writes the traces of one job as one HTML page that shows them without a network: the
// picture that WriteJSON has for a viewer, and the digest.
func WritePage(w io.Writer, traces []*Trace) error {
	merged, err := Merge(traces)
	if err != nil {
		return err
	}
	var summary strings.Builder
	if err := Digests(traces).WriteText(&summary, 0); err != nil {
		return err
	}
	p := &page{Summary: summary.String(), Title: fmt.Sprintf("%d tasks, %d records",
		merged.Summary.Tasks, merged.Summary.Records)}
	p.fill(merged)
	text, err := json.Marshal(p) // escapes <, so that no name ends the script
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(pageTemplate, []byte("@DATA@"))
	_, err = w.Write(slices.Concat(before, text, after))
	return err
}

// fill takes the events, whose order is that of their beginnings, and of two that begin together the
// longer first. So a slice's depth is how many slices of its thread have not ended.
func (p *page) fill(m *Merged) {
	type thread struct {
		pid int
		tid int32
	}
	rows := map[thread]int{}
	open := map[thread][]float64{} // ends
	names, tasks, threads := map[string]float64{}, map[int]string{}, map[thread]string{}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(categories)) {
		kinds = append(kinds, categories[kind])
	}
	p.Categories = kinds
	arrows := map[uint64][4]float64{}
	rowOf := func(at thread) int {
		row, ok := rows[at]
		if !ok {
			row = len(p.Rows)
			rows[at] = row
			p.Rows = append(p.Rows, &pageRow{Slices: [][8]float64{},
				Label: fmt.Sprintf("%s, %s", tasks[at.pid], threads[at])})
		}
		return row
	}
	for i := range m.Events {
		e := &m.Events[i]
		at := thread{e.PID, e.TID}
		switch e.Phase {
		case "M":
			switch name, _ := e.Args["name"].(string); e.Name {
			case "process_name":
				tasks[e.PID], _, _ = strings.Cut(name, " (")
			case "thread_name":
				threads[at] = name
			}
		case "s":
			a := arrows[e.ID]
			a[0], a[1] = e.Time, float64(rowOf(at))
			arrows[e.ID] = a
		case "f":
			a := arrows[e.ID]
			a[2], a[3] = e.Time, float64(rowOf(at))
			arrows[e.ID] = a
		case "X", "i":
			row := p.Rows[rowOf(at)]
			length := length(*e)
			ends := slices.DeleteFunc(open[at], func(end float64) bool { return end <= e.Time })
			name, ok := names[e.Name]
			if !ok {
				name = float64(len(p.Names))
				names[e.Name] = name
				p.Names = append(p.Names, e.Name)
			}
			row.Slices = append(row.Slices, [8]float64{e.Time, length, name,
				float64(slices.Index(kinds, e.Category)), number(e.Args["task"], -1),
				float64(len(ends)), number(e.Args["code"], 0), number(e.Args["size"], 0)})
			row.Longest = max(row.Longest, length)
			p.End = max(p.End, e.Time+length)
			if e.Phase == "X" {
				ends = append(ends, e.Time+length)
			}
			open[at] = ends
		}
	}
	p.Arrows = [][4]float64{}
	for _, id := range slices.Sorted(maps.Keys(arrows)) {
		p.Arrows = append(p.Arrows, arrows[id])
	}
	p.sort()
}

// sort puts the rows in the order of tasks, of a task main first.
func (p *page) sort() {
	order := make([]int, len(p.Rows))
	for i := range order {
		order[i] = i
	}
	key := func(i int) (task int, label string) {
		label = p.Rows[i].Label
		_, _ = fmt.Sscanf(label, "task %d", &task)
		if strings.HasSuffix(label, ", main") {
			label = ""
		}
		return task, label
	}
	slices.SortStableFunc(order, func(a, b int) int {
		taskA, labelA := key(a)
		taskB, labelB := key(b)
		return cmp.Or(cmp.Compare(taskA, taskB), cmp.Compare(labelA, labelB))
	})
	rows, to := make([]*pageRow, len(order)), make([]float64, len(order))
	for place, i := range order {
		rows[place], to[i] = p.Rows[i], float64(place)
	}
	p.Rows = rows
	for i := range p.Arrows {
		p.Arrows[i][1], p.Arrows[i][3] = to[int(p.Arrows[i][1])], to[int(p.Arrows[i][3])]
	}
}

// number is an argument of an event.
func number(v any, none float64) float64 {
	switch n := v.(type) {
	case int32:
		return float64(n)
	case uint64:
		return float64(n)
	case int:
		return float64(n)
	}
	return none
}
