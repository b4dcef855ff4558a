package agent

import (
	"fmt"
	"regexp"

	"github.com/reveille-run/reveille/core"
)

// stopOnTool stops a run whose turn calls the tool, before that or any other of its calls
// runs. It is for a tool by which a model reports that it is done, or that a program is to
// run itself. An empty name never stops.
type stopOnTool string

// Check implements StopPolicy.
func (name stopOnTool) Check(v StopView) *core.Termination {
	for _, call := range v.Turn.ToolCalls {
		if name != "" && call.Name == string(name) {
			return stopped(StopOnTool, fmt.Sprintf("the tool %q was called", core.Excerpt(string(name))))
		}
	}
	return nil
}

func (stopOnTool) String() string { return StopOnTool }

// maxPattern bounds a pattern, in bytes.
const maxPattern = 1 << 10

// newContentMatch makes the policy that stops a run whose turn's text matches a regular
// expression (RE2, a search: use ^ and $ for the whole), whether the turn has calls or
// not. Reasoning does not count as text, and a turn without text never matches. An
// expression that is empty, wrong or longer than 1 KiB is an error with code invalid.
func newContentMatch(expression string) (StopPolicy, error) {
	switch {
	case expression == "":
		return nil, core.Errorf(core.CodeInvalid, "stop policy %q: the pattern is empty", StopContentMatch)
	case len(expression) > maxPattern:
		return nil, core.Errorf(core.CodeInvalid, "stop policy %q: the pattern is %d bytes long, at most %d are allowed", StopContentMatch, len(expression), maxPattern)
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "stop policy %q: pattern: %w", StopContentMatch, err)
	}
	return contentMatch{re}, nil
}

type contentMatch struct{ pattern *regexp.Regexp }

// Check implements StopPolicy.
func (c contentMatch) Check(v StopView) *core.Termination {
	text := v.Turn.Text()
	if text == "" || !c.pattern.MatchString(text) {
		return nil
	}
	return stopped(StopContentMatch, fmt.Sprintf("the text matches %q", core.Excerpt(c.pattern.String())))
}

func (contentMatch) String() string { return StopContentMatch }

// Bounds of the window of loop detection, in turns.
const (
	minWindow = 2
	maxWindow = 64
)

// newLoopDetection makes the policy that stops a run whose last turns, as many as the
// window, are the same. They either call the same tools with the same arguments (byte for
// byte, in the same order), or have the same text, which is not empty. A repeated sequence
// of several turns does not count as a loop. The window is 2 to 64; anything else is an
// error with code invalid.
func newLoopDetection(window int) (StopPolicy, error) {
	if window < minWindow || window > maxWindow {
		return nil, core.Errorf(core.CodeInvalid, "stop policy %q: window is %d, allowed are %d to %d", StopLoopDetection, window, minWindow, maxWindow)
	}
	return loopDetection(window), nil
}

type loopDetection int

// Check implements StopPolicy.
func (n loopDetection) Check(v StopView) *core.Termination {
	switch {
	case v.Failed != "": // nothing was said: the turns before it were judged
	case repeated(v.Calls, int(n)):
		return stopped(StopLoopDetection, fmt.Sprintf("the last %d turns made the same calls", int(n)))
	case repeated(v.Texts, int(n)):
		return stopped(StopLoopDetection, fmt.Sprintf("the last %d turns said the same text", int(n)))
	}
	return nil
}

func (loopDetection) String() string { return StopLoopDetection }

// repeated reports whether the last n fingerprints are the same, of something.
func repeated(prints []uint32, n int) bool {
	if len(prints) < n {
		return false
	}
	last := prints[len(prints)-n:]
	for _, p := range last {
		if p == 0 || p != last[0] {
			return false
		}
	}
	return true
}
