package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// What a running tool may show is for whoever follows the run at this moment. It is
// not stored, the model never reads it, and it changes nothing of what the call comes
// to: the methods return nothing, and do nothing when nobody listens. They return at
// once, may be called from several goroutines, as often as the tool likes, and show
// nothing any more when the tool has returned or was left behind.

// ActivityProgress is the kind of the activity that [Call.Progress] shows.
const ActivityProgress = "tool_progress"

// The throttle of progress: a change is shown after this time, or when it is that
// large a part of the whole.
const (
	progressEvery  = 100 * time.Millisecond
	progressChange = 0.01
)

// Output shows a piece of what the tool puts out, such as a line of a command that
// it runs. Pieces are joined by whoever reads them; the result is shown apart from
// them, and replaces them.
func (c Call) Output(text string) {
	if text != "" && c.Live.listens() {
		c.Live.show(Report{Type: core.EventToolCallStreamDelta, Text: text})
	}
}

// Activity shows the whole of something that the tool works on, such as a plan or a
// file, as JSON: it replaces what was shown under this kind before. The kind is a
// name, as [core.CheckName] has it, by which a client knows how to show it. A panic of
// content's encoding is the tool's own.
func (c Call) Activity(kind string, content any) {
	if !c.Live.listens() {
		return
	}
	err := core.CheckName("kind of the activity", kind)
	var text json.RawMessage
	if err == nil {
		text, err = encode(content)
	}
	if err != nil {
		c.Live.refuse(fmt.Errorf("activity: %w", err))
		return
	}
	c.Live.snapshot(kind, text)
}

// encode is core.EncodeJSON for values that may have raw JSON in them, whose bytes it
// does not look at.
func encode(v any) (json.RawMessage, error) {
	text, err := core.EncodeJSON(v)
	if err == nil && !utf8.Valid(text) {
		err = core.Errorf(core.CodeInvalid, "the JSON has bytes that are no text")
	}
	return text, err
}

// PatchOperation is one operation of a JSON Patch, RFC 6902.
type PatchOperation struct {
	Op    string // add, replace or remove
	Path  string // a JSON Pointer into the content, "/lines/-" for one; empty: the whole
	Value any    // none for a remove
}

// MarshalJSON implements json.Marshaler. A value is always there but for a remove:
// null is one, too.
func (o PatchOperation) MarshalJSON() ([]byte, error) {
	if o.Path != "" && !strings.HasPrefix(o.Path, "/") {
		return nil, core.Errorf(core.CodeInvalid, "path %q of a patch does not begin with a slash", core.Excerpt(o.Path))
	}
	switch o.Op {
	case "remove":
		return core.EncodeJSON(struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		}{o.Op, o.Path})
	case "add", "replace":
		return core.EncodeJSON(struct {
			Op    string `json:"op"`
			Path  string `json:"path"`
			Value any    `json:"value"`
		}{o.Op, o.Path, o.Value})
	}
	return nil, core.Errorf(core.CodeInvalid, "operation %q of a patch does not exist", core.Excerpt(o.Op))
}

// ActivityPatch shows a change of what was shown by [Call.Activity] under the kind,
// for content of which little changes. A patch of a kind that was not shown is left
// out. Whether an operation fits the content is not looked at.
func (c Call) ActivityPatch(kind string, operations ...PatchOperation) {
	if len(operations) == 0 || !c.Live.listens() {
		return
	}
	text, err := encode(slices.Clone(operations)) // the caller's own need not be allocated for nobody
	if err != nil {
		c.Live.refuse(fmt.Errorf("patch of an activity: %w", err))
		return
	}
	c.Live.patch(kind, text)
}

// Progress shows how far the tool is: done of total, in whatever unit; a total of 0
// or less is one that is not known. What comes within 100 ms of the one before is
// left out unless it is 1 % of the total more or less, has another message, or is
// the end; so a loop may call it at every turn.
func (c Call) Progress(done, total float64, message string) {
	if c.Live.listens() && finite(done) && finite(total) {
		c.Live.showProgress(c, max(0, done), max(0, total), message)
	}
}

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

// showProgress passes progress on, unless the throttle holds it back.
func (l *Live) showProgress(c Call, done, total float64, message string) {
	content := progressContent{CallID: c.ID, ToolName: c.Name, Status: "running", Loaded: done, Total: total, Message: message}
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
	l.pass(Report{Type: core.EventActivitySnapshot, Kind: ActivityProgress, Content: text})
}

// snapshot passes an activity on, whose kind can be patched from here on.
func (l *Live) snapshot(kind string, content json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown == nil {
		l.shown = map[string]bool{}
	}
	l.shown[kind] = true
	l.pass(Report{Type: core.EventActivitySnapshot, Kind: kind, Content: content})
}

// patch passes a change of an activity on, if there is something to change.
func (l *Live) patch(kind string, patch json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.shown[kind] {
		l.drop(core.Errorf(core.CodeInvalid, "patch of the activity %q, which was not shown", core.Excerpt(kind)))
		return
	}
	l.pass(Report{Type: core.EventActivityDelta, Kind: kind, Patch: patch})
}
