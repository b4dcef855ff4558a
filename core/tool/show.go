package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// A running tool shows its work to the clients that follow the run at this moment. Reports
// are not stored, the model never reads them, and they do not change the outcome of the
// call. The methods return nothing, and do nothing when no client listens. They return
// immediately, may be called from several goroutines, as often as the tool likes, and show
// nothing any more when the tool has returned or was abandoned.

// Output shows a piece of the tool's output, such as a line of a command that it runs.
// Clients concatenate the pieces; the result is shown separately, and replaces them.
func (c Call) Output(text string) {
	if text != "" && c.Live.Listens() {
		c.Live.Output(text)
	}
}

// Activity shows the whole of something that the tool works on, such as a plan or a file,
// as JSON: it replaces the previous content of this kind. The kind is a name, as
// [core.CheckName] has it, by which a client knows how to show it. A panic in the encoding
// of content is the tool's own.
func (c Call) Activity(kind string, content any) {
	if !c.Live.Listens() {
		return
	}
	err := core.CheckName("kind of the activity", kind)
	var text json.RawMessage
	if err == nil {
		text, err = encode(content)
	}
	if err != nil {
		c.Live.Refuse(fmt.Errorf("activity: %w", err))
		return
	}
	c.Live.Snapshot(kind, text)
}

// encode is core.EncodeJSON for values that may have raw JSON in them, whose bytes it
// does not look at.
func encode(v any) (json.RawMessage, error) {
	text, err := core.EncodeJSON(v)
	if err == nil && !utf8.Valid(text) {
		err = core.Errorf(core.CodeInvalid, "the JSON is not valid UTF-8")
	}
	return text, err
}

// PatchOperation is one operation of a JSON Patch, RFC 6902.
type PatchOperation struct {
	Op    string // add, replace or remove
	Path  string // a JSON Pointer into the content, "/lines/-" for one; empty: the whole
	Value any    // none for a remove
}

// MarshalJSON implements json.Marshaler. A value is always there except for a remove: null
// is one, too.
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

// ActivityPatch shows a change of the content that [Call.Activity] has shown under the
// kind, for content of which little changes. A patch of a kind without content is dropped.
// Whether an operation fits the content is not checked.
func (c Call) ActivityPatch(kind string, operations ...PatchOperation) {
	if len(operations) == 0 || !c.Live.Listens() {
		return
	}
	text, err := encode(slices.Clone(operations)) // the caller's own need not be allocated if no client listens
	if err != nil {
		c.Live.Refuse(fmt.Errorf("patch of an activity: %w", err))
		return
	}
	c.Live.Patch(kind, text)
}

// Progress shows how far the tool is: done of total, in any unit; a total of 0 or less
// means that it is not known. A report within 100 ms of the previous one is dropped, unless
// it is 1 % of the total more or less, has another message, or is the end; so a loop may
// call it in every iteration. Readers see an activity of the kind tool_progress.
func (c Call) Progress(done, total float64, message string) {
	if c.Live.Listens() {
		c.Live.Progress(c.ID, c.Name, done, total, message)
	}
}
