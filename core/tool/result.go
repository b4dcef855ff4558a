package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/state"
)

// Result is what a tool returns: what the model reads, and what is to change
// and to happen. The run fills CallID, Name and Status.
type Result struct {
	core.ToolResult
	Command state.Command `json:"command,omitzero"`

	// Suspend makes the call wait for a decision instead; all other fields of the result
	// must be empty. It is not stored with a result.
	Suspend *core.TicketRequest `json:"-"`

	// Err is the reason of an error, for the log. It is not stored. The run sets it; if a
	// tool returns a result with an Err, it becomes an error result with that text.
	Err error `json:"-"`
}

// With returns the result with commands: they are committed with it, after those that it
// has already.
func (r Result) With(commands ...state.Command) Result {
	r.Command = state.Combine(append([]state.Command{r.Command}, commands...)...)
	return r
}

// WithMetadata returns the result with a value for programs under a name, see
// [core.ToolResult]. A value that JSON cannot express makes the result an error.
func (r Result) WithMetadata(name string, value any) Result {
	text, err := core.EncodeJSON(value)
	if err != nil {
		r.Err = cmp.Or(r.Err, fmt.Errorf("metadata %q: %w", name, err))
		return r
	}
	r.Metadata = maps.Clone(r.Metadata) // results are values: the one before keeps its own
	if r.Metadata == nil {
		r.Metadata = map[string]json.RawMessage{}
	}
	r.Metadata[name] = text
	return r
}

// WithFile returns the result with a file that the model reads after its data or message:
// an image, a document or text, by its media type, such as image/png. Models that accept no
// such file read that it was omitted. For a file name, a URL, or texts between files, append
// to Content.
//
// A result has at most 16 blocks of content, and 1 MB in all, with the bytes of files in
// base64. Beyond a limit, and for a file that [core.Block.CheckFile] refuses, the call gets
// an error result that says why.
func (r Result) WithFile(mediaType string, data []byte) Result {
	file := core.Block{Type: core.BlockFile, MediaType: mediaType, Data: data}
	r.Content = append(slices.Clip(r.Content), file)
	return r
}

// NewResult returns a result whose data is v: a string is text, anything else is encoded
// as JSON, a json.RawMessage as the JSON that it is, and a [Result] is itself. A value that
// JSON cannot express makes an error result that names it.
func NewResult(v any) Result {
	if r, ok := v.(Result); ok {
		return r
	}
	var data json.RawMessage
	err := env.Protect(func() (err error) {
		data, err = core.EncodeJSON(v)
		return err
	})
	if err != nil {
		err = fmt.Errorf("encoding the result: %w", err)
		result := Failed(toolcall.Complaint(err))
		result.Err = err
		return result
	}
	return Result{ToolResult: core.ToolResult{Data: data}}
}

// Failed returns an error result: the model reads the message and may try again.
func Failed(message string) Result {
	return Result{ToolResult: core.ToolResult{Message: message, IsError: true}}
}

// Fatal marks an error of a tool as the end of the run, for errors that no action of the
// model can fix, such as a revoked credential. Fatal(nil) is nil.
func Fatal(err error) error {
	return toolcall.Fatal(err)
}
