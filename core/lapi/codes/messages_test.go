package codes

import (
	"encoding/csv"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// messages returns the table of texts in all languages: its headings, and a row for each code.
func messages(t *testing.T) (headings []string, rows [][]string) {
	file, err := os.Open(tree + "/nls/messages.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	table := csv.NewReader(file)
	table.Comma, table.LazyQuotes = '\t', true
	all, err := table.ReadAll() // and each row has as many columns as the headings
	if err != nil || len(all) == 0 {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	return all[0], all[1:]
}

// The table's number, name and English are those of this package, and no code is missing.
func TestMessagesAreTheCodes(t *testing.T) {
	headings, rows := messages(t)
	if !slices.Equal(headings[:3], []string{"code", "name", "en"}) {
		t.Fatalf("headings: %q", headings)
	}
	codes := []int{int(Success)}
	for code := int(First); code <= int(Last); code++ {
		codes = append(codes, code)
	}
	if len(rows) != len(codes) {
		t.Fatalf("%d messages, want %d", len(rows), len(codes))
	}
	for i, code := range codes {
		english, _ := String(code)
		want := []string{strconv.Itoa(code), Name(Code(code)), english}
		if !slices.Equal(rows[i][:3], want) {
			t.Errorf("row %d: %q, want %q", i, rows[i][:3], want)
		}
	}
}

// inserted matches what a translation keeps as it is: names of programs, variables, members and
// calls, words in capitals, numbers, and conversions of printf.
var inserted = regexp.MustCompile(
	`%[-+ #0-9.]*[a-z]|[A-Za-z]*_\w*|[A-Z][A-Z0-9]+|[0-9]+|snX|lapirun|\b(?:root|fork|depth|uhdr)\b`)

// Each translation is there, fits the buffers of the guide's examples, and keeps what English
// inserts; two codes have two texts.
func TestMessagesAreWhole(t *testing.T) {
	headings, rows := messages(t)
	for column := 3; column < len(headings); column++ {
		seen := map[string]string{}
		for _, row := range rows {
			english, text := row[2], row[column]
			complain := func(what string) { t.Errorf("%s %s: %s: %q", headings[column], row[1], what, text) }
			if text == "" || len(text)+1 >= guideBuffer || strings.TrimSpace(text) != text {
				complain(strconv.Itoa(len(text)) + " bytes, or spaces around it")
			}
			if !utf8.ValidString(text) || strings.ContainsAny(text, "\\\"$\uFFFD") {
				complain("characters that are not valid")
			}
			want, got := insertions(english), insertions(text)
			if !slices.Equal(want, got) {
				complain(strings.Join(got, " ") + " in place of " + strings.Join(want, " "))
			}
			if other := seen[text]; other != "" {
				complain("the text of " + other)
			}
			seen[text] = row[1]
		}
	}
}

// insertions returns what of a text is the same in every language, sorted.
func insertions(text string) []string {
	found := inserted.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// Each language has catalogues in UTF-8 and in the encoding of its locale without a name for it,
// which can write all its texts.
func TestMessagesInTheirEncodings(t *testing.T) {
	if _, err := exec.LookPath("iconv"); err != nil {
		t.Skip(err)
	}
	headings, rows := messages(t)
	locales, err := os.ReadFile(tree + "/nls/locales")
	if err != nil {
		t.Fatal(err)
	}
	encodings := map[string][]string{}
	for line := range strings.Lines(string(locales)) {
		if fields := strings.Fields(line); fields[0] != "#" {
			encodings[fields[0]] = append(encodings[fields[0]], fields[1])
		}
	}
	for column, language := range headings[3:] {
		if len(encodings[language]) != 2 {
			t.Errorf("nls/locales: %s has the encodings %q", language, encodings[language])
		}
		var texts []string
		for _, row := range rows {
			texts = append(texts, row[3+column])
		}
		for _, encoding := range encodings[language] {
			convert := exec.Command("iconv", "-f", "UTF-8", "-t", encoding)
			convert.Stdin = strings.NewReader(strings.Join(texts, "\n"))
			if out, err := convert.Output(); err != nil {
				t.Errorf("%s in %s: %v after %d lines", language, encoding, err,
					strings.Count(string(out), "\n"))
			}
		}
	}
}
