package agui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// The output of running tools is sent live only: a replayed response has the results
// instead.

// outputActivity is the type of the activity that shows what a running call puts out.
const outputActivity = "tool-stream-output"

// toolOutput shows a piece of what a running call puts out: an activity whose content
// has a list of pieces, to which each one is added. To tell the whole output each time
// would cost the square of it.
func (e *encoder) toolOutput(in core.Event) {
	id := in.CallID + ":output"
	if !slices.Contains(e.outputs, in.CallID) {
		e.outputs = append(e.outputs, in.CallID)
		content := struct {
			ToolCallID   string   `json:"toolCallId"`
			ToolCallName string   `json:"toolCallName"`
			Output       []string `json:"output"`
		}{in.CallID, in.Name, []string{in.Delta}}
		e.emit(event{Type: "ACTIVITY_SNAPSHOT", MessageID: id, ActivityType: outputActivity, Content: content, Replace: new(true)})
		return
	}
	patch, _ := core.EncodeJSON([]map[string]string{{"op": "add", "path": "/output/-", "value": in.Delta}}) // strings always encode
	e.emit(event{Type: "ACTIVITY_DELTA", MessageID: id, ActivityType: outputActivity, Patch: patch})
}

// endOutput forgets what a call has put out: it has its result.
func (e *encoder) endOutput(id string) {
	e.outputs = slices.DeleteFunc(e.outputs, func(call string) bool { return call == id })
}

// activity reports the activity of a tool. The protocol requires an object: other content
// becomes its member content.
func (e *encoder) activity(in core.Event) {
	if in.Type == core.EventActivitySnapshot {
		content := any(in.Content)
		object := strings.HasPrefix(strings.TrimSpace(string(in.Content)), "{")
		e.wrapped = slices.DeleteFunc(e.wrapped, func(id string) bool { return id == in.MessageID })
		if !object {
			if len(in.Content) == 0 {
				content = nil
			}
			content = map[string]any{"content": content}
			e.wrapped = append(e.wrapped, in.MessageID)
		}
		e.emit(event{Type: "ACTIVITY_SNAPSHOT", MessageID: in.MessageID, ActivityType: in.ActivityType, Content: content, Replace: &in.Replace})
		return
	}
	patch := in.Patch
	if len(patch) == 0 {
		return
	}
	if slices.Contains(e.wrapped, in.MessageID) {
		patch = below(patch, "/content")
	}
	e.emit(event{Type: "ACTIVITY_DELTA", MessageID: in.MessageID, ActivityType: in.ActivityType, Patch: patch})
}

// below is a patch for a value that has moved to a path.
func below(patch json.RawMessage, at string) json.RawMessage {
	var operations []map[string]json.RawMessage
	if json.Unmarshal(patch, &operations) != nil {
		return patch
	}
	for _, o := range operations {
		for _, member := range []string{"path", "from"} {
			var path string
			if json.Unmarshal(o[member], &path) == nil && o[member] != nil {
				o[member], _ = core.EncodeJSON(at + path) // a string always encodes
			}
		}
	}
	moved, err := core.EncodeJSON(operations)
	if err != nil {
		return patch
	}
	return moved
}
