package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/reveille-run/reveille/core"
)

// IDs are the ids of one message in a request.
type IDs struct {
	Calls  []string // of its tool calls, in order
	Result string   // of the call that the message has the result of
}

// CallIDs returns the ids in a request of each message's calls and result: c<n>_<i>,
// where n is the place of the turn among the messages and i the call's place in the turn,
// both from 0. The ids of the provider are not sent: ids of other providers may be
// missing, repeat, or have characters that this one refuses. A result belongs to a call
// of the last turn before it. A result without such a call, or a second one, is a
// *model.Error of KindInvalid that names it.
func CallIDs(adapter string, messages []core.Message) ([]IDs, error) {
	ids := make([]IDs, len(messages))
	var open []core.ToolCall // of the last turn
	var wire []string        // their ids, "" once they have their results
	for i, m := range messages {
		switch m.Role {
		case core.RoleAssistant:
			open, wire = m.ToolCalls, make([]string, len(m.ToolCalls))
			for k := range wire {
				wire[k] = "c" + strconv.Itoa(i) + "_" + strconv.Itoa(k)
			}
			ids[i].Calls = append([]string(nil), wire...)
		case core.RoleTool:
			if m.ToolResult == nil {
				return nil, Invalid(adapter, fmt.Sprintf("tool message %s has no result", quoted(m.ID)))
			}
			for k := range open {
				if wire[k] != "" && open[k].ID == m.ToolResult.CallID {
					ids[i].Result, wire[k] = wire[k], ""
					break
				}
			}
			if ids[i].Result == "" {
				return nil, Invalid(adapter, fmt.Sprintf("tool message %s has the result of call %s, which is not open in the previous turn", quoted(m.ID), quoted(m.ToolResult.CallID)))
			}
		}
	}
	return ids, nil
}

// ArgumentObject returns the arguments of a stored call as an object, since APIs accept
// nothing else: some accept text, but pass it to servers that parse it, and these refuse
// every later request of a thread if it is not an object. Malformed arguments are stored
// as a JSON string. They become the member "invalid_arguments", so that the model reads
// its own text next to the result that explains the error. The bytes of an object are not
// changed.
func ArgumentObject(raw json.RawMessage) json.RawMessage {
	if IsObject(raw) {
		return raw
	}
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &text) != nil: // other JSON
		text = string(raw)
	}
	if text == "" || text == "{}" {
		return json.RawMessage("{}")
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": text})
	if err != nil {
		return json.RawMessage("{}") // a map of strings has always a form
	}
	return wrapped
}

func quoted(text string) string { return strconv.Quote(core.Excerpt(text)) }
