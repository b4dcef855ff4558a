package reveille

import (
	"context"

	"github.com/reveille-run/reveille/core/tool"
)

// What tools are made of.
type (
	// Tool is something that a model can call. [NewTool] makes one of a function.
	Tool = tool.Tool
	// ToolSpec is how a tool presents itself, and how it may be run.
	ToolSpec = tool.Spec
	// Call is one request to run a tool, and what its function may use.
	Call = tool.Call
	// ToolResult is what came of a call.
	ToolResult = tool.Result
)

// NewTool makes a tool of a function. The JSON Schema of its parameters is inferred from
// Args, a struct: a field is required unless it is omitempty, and its jsonschema tag
// describes it. If Args has a method Check() error, it is asked about arguments that fit the
// schema, before any gate, see [InvalidArgument].
//
// What the function returns is the result: a string as text, a [ToolResult] as it is, any
// other Out as JSON. An error becomes a result that the model reads, unless it is [Fatal].
//
// NewTool has no error, so that tools can be written where they are used. What is wrong with
// the spec or with Args is an error of [New].
func NewTool[Args, Out any](spec ToolSpec, run func(ctx context.Context, call Call, args Args) (Out, error)) Tool {
	return tool.New(spec, run)
}

// NewClientTool makes a tool that the client runs: its call waits, and the client's output,
// a [Reply], is its result. Parameters are inferred from Args as by [NewTool].
func NewClientTool[Args any](spec ToolSpec) Tool { return tool.NewClient[Args](spec) }

// NewResult returns a result: a string as text, anything else as JSON. Its With method adds
// changes of the state, WithMetadata what clients read and the model does not.
func NewResult(v any) ToolResult { return tool.NewResult(v) }

// Failed returns an error result. The model reads the message and may try again.
func Failed(message string) ToolResult { return tool.Failed(message) }

// Suspended returns the result of a call that waits for a decision. The tool runs again when
// that has come, and finds it in Call.Resume.
func Suspended(request TicketRequest) ToolResult { return tool.Suspended(request) }

// Fatal marks an error of a tool as the end of its run.
func Fatal(err error) error { return tool.Fatal(err) }

// InvalidArgument returns the error of a Check method about one argument. The model reads it.
func InvalidArgument(name, format string, args ...any) error {
	return tool.InvalidArgument(name, format, args...)
}
