package httpapi

import (
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// position is the Last-Event-ID of a reconnecting client; the zero value means
// that it has seen nothing.
type position struct {
	text   string
	step   int
	passed bool
}

// resumeFrom reads a Last-Event-ID, "run.step.attempt.offset" of that run.
func resumeFrom(header string, runID core.ID) (position, error) {
	if header == "" {
		return position{passed: true}, nil
	}
	step, ok := stepOf(header)
	if !ok || !strings.HasPrefix(header, runID.String()+".") {
		return position{}, core.Errorf(core.CodeInvalid, "header Last-Event-ID %q is not a position of run %s", core.Excerpt(header), runID)
	}
	return position{text: header, step: step}, nil
}

// seen reports whether the client has an event of the replay. If the position
// does not occur any more, because the step was restarted, what is left of its
// step cannot be told from what the client has and counts as seen: the stream
// goes on with the next step or with run_finish.
func (p *position) seen(e core.Event) bool {
	if p.passed {
		return false
	}
	if e.Position == p.text {
		p.passed = true
		return true
	}
	step, ok := stepOf(e.Position)
	p.passed = e.Type == core.EventRunFinish || ok && step > p.step
	return !p.passed
}

func stepOf(position string) (int, bool) {
	parts := strings.SplitN(position, ".", 4)
	if len(parts) != 4 {
		return 0, false
	}
	step, err := strconv.Atoi(parts[1])
	return step, err == nil && step >= 0
}
