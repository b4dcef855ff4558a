package show

import (
	"encoding/json"
	"math"
	"time"

	"github.com/reveille-run/reveille/core"
)

// progressKind is the kind of the activity that progress is.
const progressKind = "tool_progress"

// The throttle of progress: a change is shown after this time, or when it is that
// large a part of the whole.
const (
	progressEvery  = 100 * time.Millisecond
	progressChange = 0.01
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// progressContent is the activity's content.
type progressContent struct {
	CallID   string   `json:"call_id"`
	ToolName string   `json:"tool_name"`
	Status   string   `json:"status"`             // running or done
	Progress *float64 `json:"progress,omitempty"` // from 0 to 1; absent: the total is not known
	Loaded   float64  `json:"loaded"`
	Total    float64  `json:"total,omitempty"`
	Message  string   `json:"message,omitempty"`
}

// shownProgress is the progress that was passed on last.
type shownProgress struct {
	any     bool // there was one
	at      time.Time
	part    float64 // from 0 to 1; 0 without a total
	message string
}

// wants reports whether progress is to be passed on. Without a total there is no part
// that could change, and no end.
func (p shownProgress) wants(now time.Time, part float64, message string) bool {
	const rounding = 1e-9 // 0.30 - 0.29 is a little less than 0.01
	return !p.any || message != p.message || now.Sub(p.at) >= progressEvery ||
		math.Abs(part-p.part) >= progressChange-rounding || part == 1 && p.part < 1
}

// Progress passes progress on, unless the throttle holds it back.
func (l *Live) Progress(callID, toolName string, done, total float64, message string) {
	if !finite(done) || !finite(total) {
		return
	}
	done, total = max(0, done), max(0, total)
	content := progressContent{CallID: callID, ToolName: toolName, Status: "running", Loaded: done, Total: total, Message: message}
	part := 0.0
	if total > 0 {
		part = min(1, done/total)
		content.Progress = &part
	}
	if part == 1 {
		content.Status = "done"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.over || !l.progress.wants(now, part, message) {
		return
	}
	l.progress = shownProgress{true, now, part, message}
	text, _ := core.EncodeJSON(content) // texts and finite numbers always encode
	l.pass(Report{Type: core.EventActivitySnapshot, Kind: progressKind, Content: text})
}

// Snapshot passes an activity on, whose kind can be patched from here on.
func (l *Live) Snapshot(kind string, content json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown == nil {
		l.shown = map[string]bool{}
	}
	l.shown[kind] = true
	l.pass(Report{Type: core.EventActivitySnapshot, Kind: kind, Content: content})
}

// Patch passes a change of an activity on, if there is something to change.
func (l *Live) Patch(kind string, patch json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shown[kind] {
		l.drop(core.Errorf(core.CodeInvalid, "patch of the activity %q, which was not shown", core.Excerpt(kind)))
		return
	}
	l.pass(Report{Type: core.EventActivityDelta, Kind: kind, Patch: patch})
}
