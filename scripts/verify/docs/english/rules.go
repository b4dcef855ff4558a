package main

import (
	"regexp"
	"strings"
)

// most is how many words a sentence of a document may have, and mostInCell how many a cell
// of a table.
const (
	most       = 30
	mostInCell = 20
)

// rule is an expression that this project does not use, with what to write instead.
type rule struct {
	pattern *regexp.Regexp
	instead string
}

// rules are matched in each sentence, in any case.
var rules = compile([][2]string{
	{`nobody|no one`, "no caller, unset, unowned"},
	{`(?:some|any|every)body`, "a client, another worker, users"},
	{`wh(?:oever|omever|ichever|atever|om)`, "any client, the caller, each"},
	{`behind`, "after (order), through (layer), in (a store)"},
	{`besides?`, "also; next to"},
	{`stands?|stood`, "is, is stored"},
	{`(?:comes?|came|coming) (?:to|of)`, "outcome of, becomes, reaches"},
	{`(?:goes?|went|going|gone) on`, "continues, resumes"},
	{`begun|anew|(?:the|its) begin`, "started, again, the start"},
	{`(?:takes?|took|taken|gives?|gave|given) (?:it |them )?back`, "withdraw, supersede; release"},
	{`left (?:behind|out|alone|to)`, "abandoned, omitted, unchanged"},
	{`(?:is|are|was|were|be) told`, "receives, is notified"},
	{`(?:is|are|was) (?:no|none)`, "is not a, does not exist"},
	{`of (?:one's|its|their|your|our) own`, "your own, its own, separate"},
	{`all the same|without a word|for good|meanwhile`, "anyway, silently, permanently, until then"},
	{`(?:a|each|every|another|last|no) (?:try|tries|go|goes)`, "attempt"},
	{`doors?`, "endpoint"},
	{`says? (?:so|it|that|what|which|how|who|whether|when|where)`, "states, names, reports"},
	{`what (?:it|they|is|are|was|were) (?:said|told|shown|asked|stored|kept|done|has|have|is|was|had)`, "a noun: the text, the request, the record"},
})

// allowed are uses of these words that are plain English.
var allowed = regexp.MustCompile(`(?i)\bbehind (?:an? |the |your |its )?(?:Amazon )?(?:API Gateway|Function URL|(?:reverse |other )?prox(?:y|ies)|load balancers?|CloudFront)\b|\bstand-ins?\b|\bthere (?:is|are|was|were) no\b|\b(?:is|are|was) no (?:longer|more than|fewer than|less than|later than|earlier than|larger than)\b`)

// start are the words that a statement does not begin with.
var start = regexp.MustCompile(`^(?:Of|What|Who|Whose)\b`)

func compile(table [][2]string) []rule {
	all := make([]rule, len(table))
	for i, row := range table {
		all[i] = rule{regexp.MustCompile(`(?i)\b(?:` + row[0] + `)\b`), row[1]}
	}
	return all
}

// text is what is checked: a paragraph, a cell, a comment.
type text struct {
	file    string
	line    int
	words   string
	heading bool
	cell    bool
	long    bool // its sentences may have any length
}

// hit is a place where a text breaks a rule.
type hit struct {
	file    string
	line    int
	found   string
	instead string
}

// check returns the hits of texts, in their order.
func check(texts []text) (hits []hit) {
	for _, t := range texts {
		for _, sentence := range sentences(t.words) {
			hits = append(hits, t.check(sentence)...)
		}
	}
	return hits
}

func (t text) check(sentence string) (hits []hit) {
	add := func(found, instead string) { hits = append(hits, hit{t.file, t.line, found, instead}) }
	cleaned := allowed.ReplaceAllString(sentence, " ")
	for _, r := range rules {
		for _, found := range r.pattern.FindAllString(cleaned, -1) {
			add(found, r.instead)
		}
	}
	question := strings.HasSuffix(sentence, "?")
	if word := start.FindString(sentence); word != "" && !question && !t.heading {
		add(word+" ...", "a subject first")
	}
	limit := most
	if t.cell {
		limit = mostInCell
	}
	if n := len(strings.Fields(sentence)); n > limit && !t.long {
		add(sentence, "two sentences: this one is too long")
	}
	return hits
}

// ends are the ends of sentences: a full stop, a question or exclamation mark, with the
// quotes and brackets that close there, before a blank.
var ends = regexp.MustCompile(`[.!?]["')\]*]*\s+`)

// abbreviations end no sentence.
var abbreviations = regexp.MustCompile(`(?:\be\.g|\bi\.e|\bvs|\betc|\bNo|\bcf)\.$`)

// sentences splits a text.
func sentences(s string) (all []string) {
	s = strings.Join(strings.Fields(s), " ")
	begin := 0
	for _, m := range ends.FindAllStringIndex(s, -1) {
		if abbreviations.MatchString(s[begin : m[0]+1]) {
			continue
		}
		all = append(all, strings.TrimSpace(s[begin:m[1]]))
		begin = m[1]
	}
	if begin < len(s) {
		all = append(all, s[begin:])
	}
	return all
}
