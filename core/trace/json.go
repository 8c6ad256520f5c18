package trace

import (
	"bufio"
	"encoding/json"
	"io"
)

// WriteJSON writes m as a Chrome trace, an object with one event a line. Perfetto and
// chrome://tracing read it. The summary stands in otherData.
func (m *Merged) WriteJSON(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")
	for i := range m.Events {
		line, err := json.Marshal(&m.Events[i])
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		b.Write(line)
	}
	summary, err := json.Marshal(&m.Summary)
	if err != nil {
		return err
	}
	b.WriteString("\n],\"otherData\":")
	b.Write(summary)
	b.WriteString("}\n")
	return b.Flush() // bufio keeps the first error
}
