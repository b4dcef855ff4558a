package run_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// What hooks, gates, tools and providers say of their failures can quote
// anything. The log does; the run's end, which clients read, says what failed.
func TestAnEndQuotesNoCause(t *testing.T) {
	secret := errors.New("dial tcp 10.0.0.7:443: key sk-1 refused")
	hook := func(context.Context, plugin.Context) (state.Command, error) { return state.Command{}, secret }
	tests := []struct {
		name    string
		options options
		end     string
	}{
		{"a hook", options{plugins: []plugin.Plugin{hooks(core.PhaseStepStart, hook)}},
			`done 0 {"type":"error","code":"plugin","detail":"phase step_start: plugin \"hooks\" failed"} ""`},
		{"a hook of a call", options{plugins: []plugin.Plugin{hooks(core.PhaseBeforeToolExecute, hook)}, model: replies(calls("echo", `{"text":"a"}`))},
			`done 1 {"type":"error","code":"plugin","detail":"phase before_tool_execute of call call_0: plugin \"hooks\" failed"} ""`},
		{"a gate", options{plugins: []plugin.Plugin{gates(func(plugin.GateCall) (plugin.Verdict, error) { return plugin.Verdict{}, secret })}, model: replies(calls("echo", `{"text":"a"}`))},
			`done 1 {"type":"error","code":"plugin","detail":"gate of call call_0: plugin \"gates\" failed"} ""`},
		{"a fatal tool", options{model: replies(calls("cuts", "{}")), tools: []tool.Tool{toolFunc{name: "cuts", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, tool.Fatal(secret)
		}}}}, `done 1 {"type":"error","code":"tool","detail":"call call_0 of tool cuts: it ended the run with an error"} ""`},
		{"a model", options{model: replies([]model.Delta{{Text: secret.Error()}})},
			`done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				tt.options.logger = slog.New(slog.NewTextHandler(&log, nil))
				w := newWorld(t, tt.options)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := strings.ReplaceAll(w.end(t, key, receipt), shortCallID(receipt.RunID), "call_0"); got != tt.end {
					t.Errorf("the run is %s\nwant       %s", got, tt.end)
				}
				if !strings.Contains(log.String(), "dial tcp 10.0.0.7:443: key sk-1 refused") {
					t.Errorf("the log says nothing of the cause: %s", &log)
				}
			})
		})
	}
}
