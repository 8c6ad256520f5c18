package main

import (
	"errors"
	"strings"
)

// splitWords splits a command as a shell would split it into words: at blanks, tabs and newlines,
// except where quotes or a backslash keep them. Between single quotes everything stands for itself;
// between double quotes a backslash keeps only ", \, $ and ` from having a meaning, and joins
// lines. Nothing is expanded: $, *, ~ and # are characters like others.
func splitWords(s string) ([]string, error) {
	var words []string
	for {
		s = strings.TrimLeft(s, " \t\n")
		if s == "" {
			return words, nil
		}
		word, rest, err := firstWord(s)
		if err != nil {
			return nil, err
		}
		if word != nil {
			words = append(words, string(word))
		}
		s = rest
	}
}

// firstWord reads the word with which s begins; nil if there is none, only a joined line. Quotes
// without anything between them are an empty word.
func firstWord(s string) (word []byte, rest string, err error) {
	for s != "" {
		switch c := s[0]; c {
		case ' ', '\t', '\n':
			return word, s, nil
		case '\'':
			inner, after, ok := strings.Cut(s[1:], "'")
			if !ok {
				return nil, "", errors.New("a ' is not closed")
			}
			word, s = append(append([]byte{}, word...), inner...), after
		case '"':
			if word, s, err = doubleQuoted(append([]byte{}, word...), s[1:]); err != nil {
				return nil, "", err
			}
		case '\\':
			if len(s) == 1 {
				return nil, "", errors.New("nothing follows its last backslash")
			}
			if s[1] != '\n' {
				word = append(word, s[1])
			}
			s = s[2:]
		default:
			word, s = append(word, c), s[1:]
		}
	}
	return word, "", nil
}

// doubleQuoted adds to word what stands before the closing quote.
func doubleQuoted(word []byte, s string) ([]byte, string, error) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return word, s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\"\\$`\n", s[i+1]) >= 0:
			if i++; s[i] != '\n' {
				word = append(word, s[i])
			}
		default:
			word = append(word, s[i])
		}
	}
	return nil, "", errors.New(`a " is not closed`)
}
