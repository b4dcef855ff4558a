package reveille

import (
	"context"

	"github.com/reveille-run/reveille/core/tool"
)

// Types that define tools.
type (
	// Tool is a function that a model can call. [NewTool] makes one.
	Tool = tool.Tool
	// ToolSpec describes a tool to the model, and defines how it may be run.
	ToolSpec = tool.Spec
	// Call is one request to run a tool, with the values that its function may use.
	Call = tool.Call
	// ToolResult is the outcome of a call.
	ToolResult = tool.Result
)

// NewTool makes a tool of a function. It infers the JSON Schema of the parameters from Args, a
// struct: a field is required unless it is omitempty, and its jsonschema tag describes it. If
// Args has a method Check() error, it validates the arguments after the schema and before any
// gate, see [InvalidArgument].
//
// The returned value is the result: a string as text, a [ToolResult] as it is, any other Out as
// JSON. An error becomes a result that the model reads, unless it is [Fatal].
//
// NewTool has no error, so that you can write tools where you use them. [New] returns the
// errors of the spec and of Args.
func NewTool[Args, Out any](spec ToolSpec, run func(ctx context.Context, call Call, args Args) (Out, error)) Tool {
	return tool.New(spec, run)
}

// NewClientTool makes a tool that the client runs: its call waits, and the client's output, a
// [Reply], is its result. The parameters are inferred from Args as by [NewTool].
func NewClientTool[Args any](spec ToolSpec) Tool { return tool.NewClient[Args](spec) }

// NewResult returns a result: a string as text, anything else as JSON. Its With method adds
// changes of the state; its WithFile method adds an image or another file, which the model
// reads; its WithMetadata method adds data for clients, which the model does not read.
func NewResult(v any) ToolResult { return tool.NewResult(v) }

// Failed returns an error result. The model reads the message and may call again.
func Failed(message string) ToolResult { return tool.Failed(message) }

// Suspended returns the result of a call that waits for a decision. The tool runs again with
// the decision, in Call.Resume.
func Suspended(request TicketRequest) ToolResult { return tool.Suspended(request) }

// Fatal marks an error of a tool as the end of its run.
func Fatal(err error) error { return tool.Fatal(err) }

// InvalidArgument returns the error of a Check method about one argument. The model reads it.
func InvalidArgument(name, format string, args ...any) error {
	return tool.InvalidArgument(name, format, args...)
}
