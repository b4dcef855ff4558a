package window

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/strict"
	"github.com/reveille-run/reveille/core/tool"
)

// How much of a result one call of the reader returns, in bytes.
const (
	defaultRead = 8_000 // less than what is large: what was read is not shortened again
	mostRead    = 100_000
)

// Reader is the tool that returns pieces of the results of a history, for results that
// are shown as references. The piece from offset 0 has the result's files.
type Reader struct{ History History }

// Definition is the reader as models see it.
func Definition() model.ToolDefinition {
	return model.ToolDefinition{
		Name: toolcall.ReadResult, Description: "Returns a piece of an earlier tool result that is shown shortened in this conversation.",
		Parameters: json.RawMessage(readParameters),
	}
}

const readParameters = `{"type":"object","properties":{` +
	`"result":{"type":"integer","minimum":1,"description":"Number of the result, as its shortened form says."},` +
	`"offset":{"type":"integer","minimum":0,"description":"Where to begin, in bytes; 0 where it is left out."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100000,"description":"How much to return, in bytes; 8000 where it is left out."}},` +
	`"required":["result"],"additionalProperties":false}`

type readArguments struct {
	Result uint64 `json:"result"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// Spec implements tool.Tool.
func (Reader) Spec() tool.Spec {
	d := Definition()
	return tool.Spec{Name: d.Name, Description: d.Description, Parameters: d.Parameters, ReadOnly: true}
}

// Check implements tool.Tool.
func (Reader) Check(arguments json.RawMessage) error {
	_, err := decodeRead(arguments)
	return err
}

func decodeRead(arguments json.RawMessage) (a readArguments, err error) {
	if err := (strict.Options{Name: "arguments"}).Decode(arguments, &a); err != nil {
		return a, err
	}
	switch {
	case a.Result == 0:
		return a, core.Errorf(core.CodeInvalid, "result is missing or 0, want the number of a result")
	case a.Offset < 0:
		return a, core.Errorf(core.CodeInvalid, "offset is %d, want 0 or more", a.Offset)
	case a.Limit < 0 || a.Limit > mostRead:
		return a, core.Errorf(core.CodeInvalid, "limit is %d, allowed are 1 to %d", a.Limit, mostRead)
	case a.Limit == 0:
		a.Limit = defaultRead
	}
	return a, nil
}

// Run implements tool.Tool.
func (r Reader) Run(_ context.Context, call tool.Call) (tool.Result, error) {
	a, err := decodeRead(call.Arguments)
	if err != nil {
		return tool.Result{}, err
	}
	i, found := Find(r.History.Places, a.Result)
	if !found || r.History.Messages[i].ToolResult == nil {
		return tool.Result{}, core.Errorf(core.CodeNotFound, "there is no result %d in what is shown of the conversation", a.Result)
	}
	text := r.History.Messages[i].ToolResult.Text()
	var files []core.Block // they go with the beginning of the text
	if a.Offset == 0 {
		files = filesOf(r.History.Messages[i].ToolResult)
	}
	if a.Offset >= len(text) && len(files) == 0 {
		return tool.Result{}, core.Errorf(core.CodeInvalid, "offset is %d, the result has %d bytes", a.Offset, len(text))
	}
	from, to := wholeFrom(text, a.Offset), wholeFrom(text, min(a.Offset+a.Limit, len(text)))
	if to <= from && from < len(text) { // a limit that is less than a character
		_, size := utf8.DecodeRuneInString(text[from:])
		to = from + size
	}
	said := text[from:to]
	if to < len(text) {
		said += fmt.Sprintf("\n\n[These are bytes %d to %d of %d. Offset %d returns what follows.]", from, to, len(text), to)
	}
	return tool.Result{ToolResult: core.ToolResult{Message: said, Content: files}}, nil
}

// wholeFrom is the beginning of the character that a place of a text is in.
func wholeFrom(text string, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
