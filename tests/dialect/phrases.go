package main

import (
	"regexp"
	"strings"
)

// A kind is a group of phrases that are counted together.
type kind struct {
	name    string
	pattern *regexp.Regexp
	say     string // what to write in their place
}

// The kinds, by the rules of CONTRIBUTING.md. A phrase is here if a pattern finds it with few
// mistakes: what remains of these only keeps a count from falling to zero.
var kinds = []kind{
	{"who", sentence("who"), `a noun: not "Who waits, sleeps" but "A waiting thread sleeps"`},
	{"to-who", phrase(`(?:only|of|to|for|by|from|with|than|against) who`), "a noun"},
	{"what", sentence("what"), `a noun: not "What is left, is sent" but "The rest is sent"`},
	{"one-that", phrase("one that"), "the thing's name"},
	{"what-is-none", phrase("what is (?:none|no|not)"), "the thing's name"},
	{"of-before", phrase("of before"), "earlier, previous"},
	{"told", phrase("told|untold|tells? of"), "publish, notify, report, log; pending"},
	{"heard", phrase("hears?|heard|unheard"), "receive, collect, learn"},
	{"so-many", phrase("so many"), "every N-th; the number's name"},
	{"comes-to-be", phrase("comes? to be|came to be"), "is created, is made"},
	{"generation", phrase("epochs?|incarnations?|hisLife|hisRound"), "generation"},
	{"his", phrase("he|him|his|mates?|fellows?|budd(?:y|ies)"), "peer, member, local task"},
	{"lend", phrase("lends?|lent|lending"), "offload, hand over; reclaim"},
	{"rests", phrase("stands? still|hung up on|hangs? up on|(?:goes|went) silent|lanes? rests?"),
		"is stopped; does not respond; its connection is closed; is suspended"},
	{"detour", phrase("detours?|strayed|sparing|spokenOf"), "fallback, tried ways, pair"},
}

func phrase(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`)
}

// sentence finds sentences that begin with word. Questions are left out by isQuestion.
func sentence(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[.;:!?][)"]* )[("*]*` +
		strings.ToUpper(word[:1]) + word[1:] + ` [a-z]`)
}

// isQuestion says whether the sentence of text with a match at [begin, end) is a question, or is
// no sentence, as a title.
func isQuestion(text string, end int) bool {
	stop := strings.IndexAny(text[end:], ".?:;|")
	return stop < 0 || text[end+stop] == '?' || text[end+stop] == '|'
}

// find gives the offsets of the phrases of k in text.
func (k *kind) find(text string) []int {
	var found []int
	for _, at := range k.pattern.FindAllStringIndex(text, -1) {
		if (k.name == "who" || k.name == "what") && isQuestion(text, at[1]) {
			continue
		}
		found = append(found, at[0])
	}
	return found
}
