package main

import (
	"regexp"
	"strings"
)

// A passage is text that people read: a paragraph, a comment of several lines, a message. Its lines
// are joined by spaces, so that a phrase is found wherever the line breaks.
type passage struct {
	text   string
	starts []int // the offset in text where each line begins
	first  int   // the number of the first line
}

// line gives the number of the line that holds offset at.
func (p *passage) line(at int) int {
	for i, start := range p.starts {
		if start > at {
			return p.first + i - 1
		}
	}
	return p.first + len(p.starts) - 1
}

// A collector joins pieces of lines to passages.
type collector struct {
	passages []passage
	last     int    // the line of the last piece
	class    string // of the last piece: pieces of one class join
}

// add takes a piece of line number. One that does not follow the last one begins a passage.
func (c *collector) add(class, piece string, number int) {
	piece = strings.TrimSpace(piece)
	if piece == "" {
		c.class = ""
		return
	}
	n := len(c.passages)
	if n == 0 || class != c.class || number > c.last+1 {
		c.passages = append(c.passages, passage{first: number})
		n++
	}
	p := &c.passages[n-1]
	if p.text != "" {
		p.text += " "
	}
	for len(p.starts) <= number-p.first {
		p.starts = append(p.starts, len(p.text))
	}
	p.text += piece
	c.last, c.class = number, class
}

// read gives the passages of a file: of C and Go the comments and strings, else all lines.
func read(name, source string) []passage {
	c := &collector{}
	for _, suffix := range []string{".go", ".c", ".h", ".cc"} {
		if strings.HasSuffix(name, suffix) {
			c.code(source, suffix == ".go")
			return c.passages
		}
	}
	fenced := false
	for i, line := range strings.Split(source, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			c.class = ""
			continue
		}
		if !fenced {
			c.prose(line, i+1)
		}
	}
	return c.passages
}

// Heads of lines that are no part of the sentence; a list's item and a heading begin a passage.
var (
	marks = regexp.MustCompile(`^\s*(?:#+!?|//+|\*|--|\.\\")\s?`)
	item  = regexp.MustCompile(`^\s*(?:[-*|]|[0-9]+\.|#{2,}|# [A-Z][^.]*$) ?`)
)

func (c *collector) prose(line string, number int) {
	if head := item.FindString(line); head != "" {
		c.class = ""
		line = line[len(head):]
	} else {
		line = line[len(marks.FindString(line)):]
	}
	c.add("prose", line, number)
}

// code collects comments and strings of a C or Go source.
func (c *collector) code(source string, isGo bool) {
	number := 1
	for i := 0; i < len(source); {
		rest := source[i:]
		class, length := "", 1
		switch {
		case strings.HasPrefix(rest, "//"):
			class, length = "comment", lineLength(rest)
		case strings.HasPrefix(rest, "/*"):
			class, length = "comment", 4
			if end := strings.Index(rest[2:], "*/"); end >= 0 {
				length += end
			}
		case rest[0] == '"':
			class, length = "string", quoted(rest)
		case rest[0] == '\'':
			length = quoted(rest)
		case rest[0] == '`' && isGo:
			class, length = "string", 2+max(strings.IndexByte(rest[1:], '`'), 0)
		}
		length = min(length, len(rest))
		if class != "" {
			c.lines(class, rest[:length], number)
		}
		number += strings.Count(rest[:length], "\n")
		i += length
	}
}

// lines adds a comment or string, without what marks it as one.
func (c *collector) lines(class, text string, number int) {
	if class == "comment" {
		text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
	} else {
		text = strings.NewReplacer(`\n`, " ", `\t`, " ").Replace(strings.Trim(text, "\"`"))
	}
	for i, line := range strings.Split(text, "\n") {
		if class == "comment" {
			line = line[len(marks.FindString(line)):]
		}
		c.add(class, line, number+i)
	}
}

func lineLength(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

// quoted gives the length of the literal at the beginning of text, to the end of the line at most.
func quoted(text string) int {
	for i := 1; i < len(text) && text[i] != '\n'; i++ {
		if text[i] == '\\' {
			i++
		} else if text[i] == text[0] {
			return i + 1
		}
	}
	return 1
}
