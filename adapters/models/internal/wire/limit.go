package wire

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The bounds of a limit that is believed, in tokens.
const (
	leastLimit = 256
	mostLimit  = 100_000_000
)

// believed returns a limit that a provider says, or 0 if it is out of bounds: a process that
// believed one would cut its requests to nothing, or not at all.
func believed(n int) int {
	if n < leastLimit || n > mostLimit {
		return 0
	}
	return n
}

// limits find the number of tokens that a request may have in the refusal of a longer one.
// No provider has a field for it, but for llama.cpp. They are compiled when a request is
// refused: a start of a function has no need of them.
var limits = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// OpenAI and those that follow it, vLLM, xAI, LM Studio, llama.cpp, Gemini
		regexp.MustCompile(`(?i)(?:maximum (?:context|prompt|model) length (?:is|of)|context (?:length|window) of(?: only)?|context size \(|number of tokens allowed \(?|exceeds limit of) *([0-9][0-9,]*)`),
		regexp.MustCompile(`(?i)> *([0-9][0-9,]*) maximum`),                    // Anthropic
		regexp.MustCompile(`(?i)\bwith ([0-9][0-9,]*) maximum context length`), // Mistral
	}
})

// LimitIn returns how many tokens a request may have according to the refusal of a longer
// one; 0: it does not say.
func LimitIn(message string) int {
	for _, r := range limits() {
		found := r.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
		if err == nil && believed(n) != 0 {
			return n
		}
	}
	return 0
}
