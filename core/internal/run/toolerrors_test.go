package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// span is arguments with a check of their own.
type span struct {
	From  int `json:"from"`
	Until int `json:"until"`
}

func (s span) Check() error {
	if s.Until <= s.From {
		return tool.InvalidArgument("until", "%d is not after %d", s.Until, s.From)
	}
	return nil
}

func spanTool(t *testing.T) tool.Tool {
	t.Helper()
	made := tool.New(tool.Spec{Name: "span"}, func(_ context.Context, _ tool.Call, s span) (tool.Result, error) {
		return tool.NewResult(fmt.Sprint(s.Until - s.From)), nil
	})
	return made
}

// reading is a model that notes what its requests say of tool results.
func reading(m modelFunc, read *[]string) modelFunc {
	return func(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
		for _, message := range request.Messages {
			if message.ToolResult != nil {
				*read = append(*read, message.Text())
			}
		}
		return m(ctx, request)
	}
}

// Whatever goes wrong with a call is a result that the model reads, and the run goes
// on; only a fatal error ends it. Arguments are looked at before any gate is asked:
// by the schema first, then by the tool's own check.
func TestToolErrorsAreResultsThatTheModelReads(t *testing.T) {
	sleepy := timed{toolFunc{name: "sleepy", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}}, time.Second}
	stubborn := timed{toolFunc{name: "stubborn", run: func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(time.Minute)
		return tool.NewResult("late"), nil
	}}, time.Second}
	failed := toolFunc{name: "failed", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Failed("no such city"), nil }}
	huge := toolFunc{name: "huge", run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.NewResult(strings.Repeat("x", 1<<20)), nil
	}}
	const natural = `done 2 {"type":"natural_end"} "ok"`
	tests := []struct {
		name   string
		call   [2]string // tool, arguments
		gate   bool      // whether gates are asked
		result string    // status, and what the model reads
		end    string
	}{
		{"arguments that the schema refuses", [2]string{"span", `{"from":"a","until":2}`}, false,
			`invalid: invalid arguments: property "from": got string, want integer`, natural},
		{"arguments that the tool's own check refuses", [2]string{"span", `{"from":2,"until":1}`}, false,
			`invalid: invalid arguments: property "until": 1 is not after 2`, natural},
		{"arguments that pass both", [2]string{"span", `{"from":1,"until":3}`}, true, `ok: "2"`, natural},
		{"not found", [2]string{"nobody", `{}`}, false, `invalid: tool "nobody" not found`, natural},
		{"execution failed", [2]string{"fails", `{}`}, true, "error: execution failed: no such file", natural},
		{"an error result of its own", [2]string{"failed", `{}`}, true, "error: no such city", natural},
		{"timeout", [2]string{"sleepy", `{}`}, true, "error: execution timed out after 1s", natural},
		{"timeout that it ignores", [2]string{"stubborn", `{}`}, true, "unknown: timed out after 1s; whether it acted is not known", natural},
		{"panic", [2]string{"panics", `{}`}, true, "error: execution failed: the tool panicked", natural},
		{"a result that is too large", [2]string{"huge", `{}`}, true, "error: execution failed: result is larger than 1048576 bytes", natural},
		{"a command of nobody's", [2]string{"stray", `{}`}, true, `error: execution failed: `, natural},
		{"denied", [2]string{"asked", `{}`}, true, "denied: denied: not today after about-gate0", natural},
		{"fatal", [2]string{"fatal", `{}`}, true, "", `done 1 {"type":"error","code":"tool",`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read []string
				asked := false
				gate := gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
					if asked = true; c.Call.Name == "asked" {
						v = suspends("gate0")
					}
					return v, nil
				})
				w := newWorld(t, options{
					model:   reading(replies(calls(tt.call[0], tt.call[1]), text("ok")), &read),
					tools:   []tool.Tool{spanTool(t), fails, failed, sleepy, stubborn, panics, huge, stray, fatal, toolFunc{name: "asked"}},
					plugins: []plugin.Plugin{gate},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if tt.call[0] == "asked" {
					w.mustDecide(t, 0, deny)
					w.finish(t, key, nil)
				}
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, tt.end) {
					t.Errorf("the run is %s, want %s", got, tt.end)
				}
				time.Sleep(time.Minute) // until the last tool has ended
				if asked != tt.gate {
					t.Errorf("gates were asked: %t, want %t", asked, tt.gate)
				}
				if tt.result == "" {
					if len(read) > 0 {
						t.Errorf("a model read %q of a run that was over", read)
					}
					return
				}
				got := w.results(t)
				if len(got) != 1 || !strings.HasPrefix(got[0], tt.result) {
					t.Fatalf("results %q, want %q", got, tt.result)
				}
				_, message, _ := strings.Cut(strings.TrimSuffix(got[0], " after about-gate0"), ": ")
				if diff := cmp.Diff([]string{message}, read); diff != "" {
					t.Errorf("what the model reads (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A fatal error ends the run with the tool's name; calls that have not begun are told
// so, and one that ran beside it keeps its result.
func TestFatalErrorEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("echo", `{"text":"a"}`, "fatal", "{}", "echo", `{"text":"b"}`)), tools: []tool.Tool{fatal}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		results := w.results(t)
		if len(results) != 3 || results[0] != `ok: {"text":"a"}` || !strings.HasPrefix(results[1], "error: ") || !strings.HasPrefix(results[2], "not_executed: ") {
			t.Errorf("results %q, want ok, error and not_executed", results)
		}
		var end struct{ Type, Code string }
		_, said, _ := strings.Cut(w.end(t, key, receipt), "done 1 ")
		said, _, _ = strings.Cut(said, "} ")
		if err := json.Unmarshal([]byte(said+"}"), &end); err != nil || end.Type != string(core.TerminationError) || end.Code != "tool" {
			t.Errorf("the run ends %s (%v), want an error of code tool", said, err)
		}
	})
}
