package toolrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// stub is a tool of two functions; a nil check accepts everything.
type stub struct {
	check func() error
	run   func(ctx context.Context) (tool.Result, error)
}

func (s stub) Spec() tool.Spec { return tool.Spec{Name: "stub"} }

func (s stub) Check(json.RawMessage) error {
	if s.check == nil {
		return nil
	}
	return s.check()
}

func (s stub) Run(ctx context.Context, _ tool.Call) (tool.Result, error) { return s.run(ctx) }

func returns(r tool.Result, err error) func(context.Context) (tool.Result, error) {
	return func(context.Context) (tool.Result, error) { return r, err }
}

func content(blocks ...core.Block) stub {
	return stub{run: returns(tool.Result{ToolResult: core.ToolResult{Content: blocks}}, nil)}
}

func weather() tool.Tool {
	type forecast struct {
		City string `json:"city"`
		Days int    `json:"days,omitempty"`
	}
	return tool.New(tool.Spec{Name: "weather"}, func(_ context.Context, _ tool.Call, args forecast) (string, error) {
		return fmt.Sprintf("sunny in %s for %d days", args.City, args.Days), nil
	})
}

func TestExecuteMakesAResultOfEverything(t *testing.T) {
	tests := []struct {
		name string
		tool stub
		want core.ToolResult
	}{
		{"text", stub{run: returns(tool.NewResult(`say "hi"`), nil)}, core.ToolResult{Data: json.RawMessage(`"say \"hi\""`), Status: core.ResultOK}},
		{"an error result of the tool", stub{run: returns(tool.Failed("no such city"), nil)}, core.ToolResult{Message: "no such city", IsError: true, Status: core.ResultError}},
		{"nothing", stub{run: returns(tool.Result{}, nil)}, core.ToolResult{Data: json.RawMessage(`null`), Status: core.ResultOK}},
		{"invalid arguments", stub{check: func() error { return errors.New("city is missing") }}, core.ToolResult{Message: "invalid arguments: city is missing", IsError: true, Status: core.ResultInvalid}},
		{"a panic of Check", stub{check: func() error { panic("oh") }}, core.ToolResult{Message: "invalid arguments: the tool panicked", IsError: true, Status: core.ResultInvalid}},
		{"an error", stub{run: returns(tool.Result{}, errors.New("connection refused"))}, core.ToolResult{Message: "execution failed: connection refused", IsError: true, Status: core.ResultError}},
		{"a panic", stub{run: func(context.Context) (tool.Result, error) { panic("oh") }}, core.ToolResult{Message: "execution failed: the tool panicked", IsError: true, Status: core.ResultError}},
		{"its own timeout", stub{run: returns(tool.Result{}, fmt.Errorf("fetching: %w", context.DeadlineExceeded))}, core.ToolResult{Message: "execution timed out: fetching: context deadline exceeded", IsError: true, Status: core.ResultError}},
		{"data that is not JSON", stub{run: returns(tool.Result{ToolResult: core.ToolResult{Data: json.RawMessage("{")}}, nil)}, core.ToolResult{Message: "execution failed: the result's data is not JSON", IsError: true, Status: core.ResultError}},
		{"data with a byte that is no text", stub{run: returns(tool.Result{ToolResult: core.ToolResult{Data: json.RawMessage("\"\xff\"")}}, nil)}, core.ToolResult{Message: "execution failed: the result's data is not JSON", IsError: true, Status: core.ResultError}},
		{"a status of its own", stub{run: returns(tool.Result{ToolResult: core.ToolResult{Message: "no", Status: core.ResultUnknown}}, nil)}, core.ToolResult{Message: "no", Status: core.ResultOK}},
		{"a file alone", stub{run: returns(tool.Result{}.WithFile("image/png", []byte("png")), nil)}, core.ToolResult{Content: []core.Block{{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")}}, Status: core.ResultOK}},
		{"a file after data", stub{run: returns(tool.NewResult("a chart").WithFile("image/png", []byte("png")), nil)}, core.ToolResult{Data: json.RawMessage(`"a chart"`), Content: []core.Block{{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")}}, Status: core.ResultOK}},
		{"a file without its type", stub{run: returns(tool.NewResult(1).WithFile("", []byte("png")), nil)}, core.ToolResult{Message: `execution failed: content[0]: invalid media type "", want one such as image/png`, IsError: true, Status: core.ResultError}},
		{"a file without bytes", stub{run: returns(tool.NewResult(1).WithFile("image/png", nil), nil)}, core.ToolResult{Message: "execution failed: content[0]: the file is empty, want its bytes or a URL", IsError: true, Status: core.ResultError}},
		{"reasoning", content(core.Block{Type: core.BlockText, Text: "ok"}, core.Block{Type: core.BlockReasoning, Text: "hm"}), core.ToolResult{Message: `execution failed: content[1]: type "reasoning", allowed are text and file`, IsError: true, Status: core.ResultError}},
		{"an echo", content(core.Block{Type: core.BlockText, Text: "ok", Origin: "a/b"}), core.ToolResult{Message: "execution failed: content[0]: echo, origin and annotations belong to blocks of a model", IsError: true, Status: core.ResultError}},
		{"an annotation", content(core.Block{Type: core.BlockText, Text: "ok", Annotations: []core.Annotation{{}}}), core.ToolResult{Message: "execution failed: content[0]: echo, origin and annotations belong to blocks of a model", IsError: true, Status: core.ResultError}},
		{"a text with a name", content(core.Block{Type: core.BlockText, Text: "ok", Filename: "a"}), core.ToolResult{Message: "execution failed: content[0]: a text has no file", IsError: true, Status: core.ResultError}},
		{"a text that is no UTF-8", content(core.Block{Type: core.BlockText, Text: "\xff"}), core.ToolResult{Message: "execution failed: content[0]: the text is not UTF-8", IsError: true, Status: core.ResultError}},
		{"an endless error", stub{run: returns(tool.Result{}, errors.New(strings.Repeat("é", 400)))}, core.ToolResult{Message: "execution failed: " + strings.Repeat("é", 250) + "...", IsError: true, Status: core.ResultError}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := toolrun.Execute(t.Context(), test.tool, tool.Call{ID: "c1", Name: "stub"})
			if err != nil {
				t.Fatal(err)
			}
			test.want.CallID, test.want.Name = "c1", "stub"
			if diff := cmp.Diff(test.want, got.ToolResult); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExecuteKeepsTheCommands(t *testing.T) {
	emit := func(key string) state.Command { return state.Command{Effects: []state.Effect{{Key: key}}} }
	result := tool.NewResult("done").With(emit("mail")).With(emit("page"), emit("log"))
	got, err := toolrun.Execute(t.Context(), stub{run: returns(result, nil)}, tool.Call{ID: "c1", Name: "stub"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]state.Effect{{Key: "mail"}, {Key: "page"}, {Key: "log"}}, got.Command.Effects); diff != "" {
		t.Error(diff)
	}
}

func TestExecuteKeepsThePanicForTheLog(t *testing.T) {
	got, err := toolrun.Execute(t.Context(), stub{run: func(context.Context) (tool.Result, error) { panic("oh") }}, tool.Call{})
	if err != nil {
		t.Fatal(err)
	}
	var panicked *env.PanicError
	if !errors.As(got.Err, &panicked) || !strings.Contains(string(panicked.Stack), "execute_test.go") {
		t.Errorf("got %v, want the panic with its stack", got.Err)
	}
}

func TestExecuteReturnsAFatalError(t *testing.T) {
	cause := errors.New("credential revoked")
	_, err := toolrun.Execute(t.Context(), stub{run: returns(tool.Result{}, fmt.Errorf("charging: %w", tool.Fatal(cause)))}, tool.Call{})
	if !toolcall.IsFatal(err) || !errors.Is(err, cause) {
		t.Errorf("got %v, want the fatal error", err)
	}
	if tool.Fatal(nil) != nil || toolcall.IsFatal(cause) {
		t.Error("nil and plain errors are not fatal")
	}
}

func TestExecuteDoesNotBlameTheToolForAWorkerThatStops(t *testing.T) {
	lost := errors.New("claim lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := toolrun.Execute(ctx, stub{run: func(ctx context.Context) (tool.Result, error) {
		cancel(lost)
		return tool.Result{}, ctx.Err()
	}}, tool.Call{Name: "stub"})
	if !errors.Is(err, lost) || toolcall.IsFatal(err) {
		t.Errorf("got %v, want the context's cause", err)
	}
	_, err = toolrun.Execute(ctx, stub{run: func(context.Context) (tool.Result, error) {
		t.Error("the tool ran")
		return tool.Result{}, nil
	}}, tool.Call{Name: "stub"})
	if !errors.Is(err, lost) {
		t.Errorf("got %v, want the context's cause", err)
	}
}

func TestExecuteStoresWhatAToolFinishedAlthoughTheWorkerStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, err := toolrun.Execute(ctx, stub{run: func(context.Context) (tool.Result, error) {
		cancel()
		return tool.NewResult("paid"), nil
	}}, tool.Call{})
	if err != nil || string(got.Data) != `"paid"` {
		t.Errorf("got %s, %v", got.Data, err)
	}
}

func TestLimits(t *testing.T) {
	// The arguments are {"city":"xx..."}: 11 bytes around the name.
	arguments := func(size int) json.RawMessage {
		return json.RawMessage(`{"city":"` + strings.Repeat("x", size-11) + `"}`)
	}
	result := func(size int) tool.Result { return tool.NewResult(strings.Repeat("x", size-2)) }
	// A file of 786,420 bytes has 1,048,560 in base64, and its type has 9.
	image := func(text int) tool.Result {
		return tool.NewResult(strings.Repeat("x", text-2)).WithFile("image/png", make([]byte, 786_420))
	}
	blocks := func(n int) (r tool.Result) {
		for range n {
			r = r.WithFile("image/png", []byte("x"))
		}
		return r
	}
	tests := []struct {
		name string
		tool tool.Tool
		call tool.Call
		want string // message; empty: no error
	}{
		{"arguments at the limit", weather(), tool.Call{Arguments: arguments(262144)}, ""},
		{"arguments over it", weather(), tool.Call{Arguments: arguments(262145)}, "invalid arguments: arguments are larger than 262144 bytes"},
		{"arguments over it, of any tool", stub{}, tool.Call{Arguments: arguments(262145)}, "invalid arguments: arguments are larger than 262144 bytes"},
		{"result at the limit", stub{run: returns(result(1048576), nil)}, tool.Call{}, ""},
		{"result over it", stub{run: returns(result(1048577), nil)}, tool.Call{}, "execution failed: result is larger than 1048576 bytes"},
		{"a file at the limit", stub{run: returns(image(7), nil)}, tool.Call{}, ""},
		{"a file over it", stub{run: returns(image(8), nil)}, tool.Call{}, "execution failed: result is larger than 1048576 bytes"},
		{"blocks at the limit", stub{run: returns(blocks(16), nil)}, tool.Call{}, ""},
		{"blocks over it", stub{run: returns(blocks(17), nil)}, tool.Call{}, "execution failed: result has more than 16 blocks of content: it has 17"},
		{"message over it", stub{run: returns(tool.Failed(strings.Repeat("x", 1048577)), nil)}, tool.Call{}, "execution failed: result is larger than 1048576 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := toolrun.Execute(t.Context(), test.tool, test.call)
			if err != nil {
				t.Fatal(err)
			}
			if got.Message != test.want || got.IsError != (test.want != "") {
				t.Errorf("message %q, error %v, want %q", core.Excerpt(got.Message), got.IsError, test.want)
			}
			if test.want != "" && core.CodeOf(got.Err) != core.CodeTooLarge {
				t.Errorf("%v has code %q, want too_large", got.Err, core.CodeOf(got.Err))
			}
		})
	}
	if err := weather().Check(arguments(262145)); err != toolcall.ErrArgumentsTooLarge {
		t.Errorf("got %v, want ErrArgumentsTooLarge", err)
	}
}

// unsayable is a value whose encoding panics.
type unsayable struct{}

func (unsayable) MarshalJSON() ([]byte, error) { panic("a secret") }

// A result says what went wrong with its value even where only its data is read, as that
// of a gate is.
func TestNewResultOfAnyValue(t *testing.T) {
	const cannot = "encoding the result: json: unsupported type: func()"
	for _, test := range []struct {
		name  string
		value any
		want  core.ToolResult
		err   string
	}{
		{"a text", `say "hi"`, core.ToolResult{Data: json.RawMessage(`"say \"hi\""`)}, "<nil>"},
		{"a map", map[string]int{"b": 1, "a": 2}, core.ToolResult{Data: json.RawMessage(`{"a":2,"b":1}`)}, "<nil>"},
		{"JSON", json.RawMessage(`{"a":"<"}`), core.ToolResult{Data: json.RawMessage(`{"a":"<"}`)}, "<nil>"},
		{"nothing", nil, core.ToolResult{Data: json.RawMessage(`null`)}, "<nil>"},
		{"no JSON", json.RawMessage(nil), core.ToolResult{Data: json.RawMessage(`null`)}, "<nil>"},
		{"a result", tool.Failed("no"), core.ToolResult{Message: "no", IsError: true}, "<nil>"},
		{"what JSON cannot express", func() {}, core.ToolResult{Message: cannot, IsError: true}, cannot},
		{"what is not JSON", json.RawMessage(`{`), core.ToolResult{
			Message: "encoding the result: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input", IsError: true,
		}, "encoding the result: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
		{"what panics", unsayable{}, core.ToolResult{Message: "the tool panicked", IsError: true}, "encoding the result: panic: a secret"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := tool.NewResult(test.value)
			if diff := cmp.Diff(test.want, got.ToolResult); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text := fmt.Sprint(got.Err); text != test.err {
				t.Errorf("the error is %q, want %q", text, test.err)
			}
		})
	}
}
