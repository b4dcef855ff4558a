package run_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// formless is a model whose provider has no form for answers of its own.
type formless struct{ modelFunc }

// Check implements model.Checker.
func (formless) Check(r model.Request) error {
	if r.ResponseFormat != nil {
		return core.Errorf(core.CodeInvalid, "no response format")
	}
	return nil
}

// notebook collects one line for each thing that a run reports: log lines, the answer, the
// failure, and how the run ended.
type notebook struct{ lines []string }

func (r *notebook) note(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// Write implements io.Writer, for a logger.
func (r *notebook) Write(line []byte) (int, error) {
	r.note("%s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// logger is one that logs to it, without times and the names of runs and threads.
func (r *notebook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "tenant", "thread", "run", "stack", "place":
			return slog.Attr{}
		}
		return a
	}}))
}

// An answer is accepted if it matches its schema and the caller's check accepts it. A rejected
// answer goes back to the model as often as the agent's spec allows, unless another try cannot
// change the result.
func TestWhoTakesTheAnswerOfARun(t *testing.T) {
	const (
		failed  = `failed: it is odd`
		back    = `level=WARN msg="answer rejected, the model corrects it" step=1 repair=1 error="it is odd"`
		asks    = `user: [The answer cannot be used: it is odd. Answer again, with nothing but JSON that matches its schema.]`
		odd     = `assistant: {"n":7}`
		oddEnd  = `done 1 {"type":"error","code":"invalid_output","detail":"it is odd"} "{\"n\":7}"`
		even    = `assistant: {"n":8}`
		evenEnd = `{"type":"natural_end"} "{\"n\":8}"`
	)
	ends := func(said string, why core.StopReason) []model.Delta {
		return []model.Delta{say(said), {Type: model.DeltaStop, Stop: why}}
	}
	tests := []struct {
		name    string
		answers [][]model.Delta
		repairs int
		format  *model.ResponseFormat
		tool    bool // the provider has no form of its own
		want    []string
	}{
		{"right at once", [][]model.Delta{text(`{"n":8}`)}, 1, numbered, false, []string{`asked in step 1: {"n":8}`, even, `done 1 ` + evenEnd}},
		{"right then", [][]model.Delta{text(`{"n":7}`), text(`{"n":8}`)}, 1, numbered, false,
			[]string{`asked in step 1: {"n":7}`, "it is judged as one to mend", back, `asked in step 2: {"n":8}`, odd, asks, even, `done 2 ` + evenEnd}},
		{"right then, by a tool", [][]model.Delta{text(`{"n":7}`), text(`{"n":8}`)}, 1, numbered, true, []string{
			`asked in step 1: {"n":7}`, "it is judged as one to mend", back, `asked in step 2: {"n":8}`, odd,
			`user: [The answer cannot be used: it is odd. Answer again, by calling final_answer.]`, even, `done 2 ` + evenEnd,
		}},
		{"never right", [][]model.Delta{text(`{"n":7}`)}, 0, numbered, false, []string{
			`asked in step 1: {"n":7}`, failed, odd, oddEnd,
		}},
		{"another form, of which nobody is asked", [][]model.Delta{text(`[]`)}, 0, numbered, false, []string{
			`failed: property "answer": got array, want object`, `assistant: []`,
			`done 1 {"type":"error","code":"invalid_output","detail":"property \"answer\": got array, want object"} "[]"`,
		}},
		{"a check that panics", [][]model.Delta{text(`{"n":9}`)}, 0, numbered, false, []string{
			`asked in step 1: {"n":9}`, `failed: panic: nine`, `assistant: {"n":9}`,
			`done 1 {"type":"error","code":"invalid_output","detail":"its check panicked"} "{\"n\":9}"`,
		}},
		{"cut off at the limit of its tokens", [][]model.Delta{ends(`{"n":8}`, core.StopMaxTokens)}, 1, numbered, false, []string{
			`failed: the answer was cut off at the limit of its tokens`, even,
			`done 1 {"type":"error","code":"invalid_output","detail":"the answer was cut off at the limit of its tokens"} "{\"n\":8}"`,
		}},
		{"cut off at the end of the window", [][]model.Delta{ends(`{"n":8}`, core.StopContextOverflow)}, 1, numbered, false, []string{
			`failed: the answer was cut off at the end of the model's window`, even,
			`done 1 {"type":"error","code":"invalid_output","detail":"the answer was cut off at the end of the model's window"} "{\"n\":8}"`,
		}},
		{"refused", [][]model.Delta{ends(`{"n":8}`, core.StopContentFilter)}, 1, numbered, false, []string{
			`failed: the model refused to answer`, even,
			`done 1 {"type":"error","code":"invalid_output","detail":"the model refused to answer"} "{\"n\":8}"`,
		}},
		{"right behind words", [][]model.Delta{{say("Look"), think("hm"), say(`{"n":8}`), stopped}}, 1, numbered, false,
			[]string{`asked in step 1: {"n":8}`, `assistant: Look{"n":8}`, `done 1 ` + evenEnd}},
		{"wrong behind words", [][]model.Delta{{say("Look"), think("hm"), say(`{"n":7}`), stopped}}, 0, numbered, false,
			[]string{`asked in step 1: {"n":7}`, failed, `assistant: Look{"n":7}`, `done 1 {"type":"error","code":"invalid_output","detail":"it is odd"} "Look{\"n\":7}"`}},
		{"no answer", [][]model.Delta{{{Text: "broken pipe"}}}, 1, numbered, false, []string{
			`level=WARN msg="run ends with an error" step=1 code=model detail="the model failed" error="broken pipe"`, `failed: broken pipe`,
			`done 0 {"type":"error","code":"model","detail":"the model failed"} ""`,
		}},
		{"of no form", [][]model.Delta{text(`{"n":7}`)}, 1, nil, false, []string{odd, `done 1 {"type":"natural_end"} "{\"n\":7}"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				var m model.Model = replies(tt.answers...)
				if tt.tool {
					m = formless{replies(tt.answers...)}
				}
				w := newWorld(t, options{
					agents: spec(t, m, agent.Spec{ResponseFormat: tt.format, MaxRepairs: &tt.repairs}), logger: got.logger(),
					failed: func(_ core.ID, cause error) { got.note("failed: %s", cause) },
					stop: []agent.StopPolicy{agent.StopFunc(func(v agent.StopView) *core.Termination {
						if v.Mends {
							got.note("it is judged as one to mend")
						}
						return nil
					})},
					accept: func(_ core.ID, step int, answer string) error {
						got.note("asked in step %d: %s", step, answer)
						switch answer {
						case `{"n":7}`:
							return errors.New("it is odd")
						case `{"n":9}`:
							panic("nine")
						}
						return nil
					},
				})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				got.lines = append(append(got.lines, w.log(t, key)[1:]...), w.end(t, key, receipt))
				if diff := cmp.Diff(tt.want, got.lines); diff != "" {
					t.Errorf("what is told (-want +got):\n%s", diff)
				}
			})
		})
	}
}
