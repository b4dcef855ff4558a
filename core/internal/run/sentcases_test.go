package run_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

// transforms is a plugin that changes the messages of each request.
func transforms(change func([]core.Message) []core.Message) plugin.Plugin {
	return pluginFunc{"transforms", func(r *plugin.Registrar) {
		r.Transform(func(_ context.Context, _ plugin.BeforeInference, request *model.Request) error {
			request.Messages = change(request.Messages)
			return nil
		})
	}}
}

// turns reads the records of the turns of the world's thread.
func (w *world) turns(t *testing.T) (all []threadlog.Entry) {
	t.Helper()
	for e, err := range threadlog.Entries(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && e.Message.Role == core.RoleAssistant {
			all = append(all, e)
		}
	}
	return all
}

// Whatever transforms make of the messages, the record has what is needed to make the same
// again: the world compares each request with those that its model received. Messages that
// they leave alone are not stored again.
func TestWhatTransformsMakeOfARequestIsStored(t *testing.T) {
	note := func(text string) core.Message { return core.UserMessage(text).WithID("note") }
	tests := []struct {
		name   string
		change func([]core.Message) []core.Message
		stored []int // messages in the records of the two turns
	}{
		{"nothing", func(m []core.Message) []core.Message { return m }, []int{0, 0}},
		{"an equal copy", slices.Clone[[]core.Message], []int{0, 0}},
		{"a message before", func(m []core.Message) []core.Message { return slices.Concat([]core.Message{note("a")}, m) }, []int{1, 1}},
		{"a message after", func(m []core.Message) []core.Message { return slices.Concat(m, []core.Message{note("a")}) }, []int{1, 1}},
		{"one in place", func(m []core.Message) []core.Message { m[0] = note("changed"); return m }, []int{1, 1}},
		{"only the newest", func(m []core.Message) []core.Message { return m[len(m)-1:] }, []int{0, 0}},
		{"all of them gone", func([]core.Message) []core.Message { return []core.Message{note("instead")} }, []int{1, 1}},
		{"another order", func(m []core.Message) []core.Message { m = slices.Clone(m); slices.Reverse(m); return m }, []int{0, 2}},
		{"twice the first", func(m []core.Message) []core.Message { return slices.Concat(m[:1], m) }, []int{1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &heard{says: [][]model.Delta{calls("look", "{}"), text("ok")}}
				w := newWorld(t, options{agents: demo(t, m, agent.Spec{}, transforms(tt.change))})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				for i, e := range w.turns(t) {
					n := 0
					if e.Sent != nil {
						for _, p := range e.Sent.Parts {
							if p.Message != nil {
								n++
							}
						}
					}
					if e.Prompt == "" || n != tt.stored[i] {
						t.Errorf("turn %d has the prompt %q and %d messages, want %d: %+v", i, e.Prompt, n, tt.stored[i], e.Sent)
					}
				}
				if got := w.turns(t)[0].Prompt; got != w.turns(t)[1].Prompt {
					t.Errorf("the prompts differ")
				}
			})
		})
	}
}

// A part that is large has its own record; one that is too large is not stored, and the
// turn says so: the run goes on.
func TestARequestThatIsTooLargeIsNotStored(t *testing.T) {
	// What surrounds the text in the record of the parts.
	const frame = len(`{"schema":1,"parts":[{"count":1},{"message":{"id":"note","role":"user","content":[{"type":"text","text":""}]}}]}`)
	tests := []struct {
		name    string
		size    int
		inline  bool
		missing string
	}{
		{"as large as a turn's record takes", thread.MaxSentInline - frame, true, ""},
		{"a byte more", thread.MaxSentInline - frame + 1, false, ""},
		{"as large as a record may be", thread.MaxSent - frame, false, ""},
		{"a byte more than that", thread.MaxSent - frame + 1, true, thread.SentTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &heard{says: [][]model.Delta{text("ok")}}
				w := newWorld(t, options{agents: demo(t, m, agent.Spec{}, transforms(func(m []core.Message) []core.Message {
					return slices.Concat(m, []core.Message{core.UserMessage(strings.Repeat("x", tt.size)).WithID("note")})
				}))})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "ok"` {
					t.Errorf("the run is %s", got)
				}
				e := w.turns(t)[0]
				if (e.Sent.Stored == "") != tt.inline || e.Sent.Missing != tt.missing || (e.Prompt == "") != (tt.missing != "") {
					t.Errorf("the turn has %d parts, stored %q, missing %q, prompt %q", len(e.Sent.Parts), e.Sent.Stored, e.Sent.Missing, e.Prompt)
				}
				_, err := sent.Reader{Store: w.store}.Read(t.Context(), key, e)
				if want := "step 1 has no stored request: it was too large to be stored"; tt.missing != "" && (core.CodeOf(err) != core.CodeNotFound || err.Error() != want) {
					t.Errorf("%v, want %s", err, want)
				}
			})
		})
	}
}

// The record of tools and prompt is put once: with the first turn, and again when they
// change. Another process finds in the log that the thread has it.
func TestThePromptOfAThreadIsPutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &heard{says: [][]model.Delta{calls("look", "{}"), calls("look", "{}"), text("ok"), text("more")}}
		o := options{agents: demo(t, m, agent.Spec{SystemPrompt: "Be kind."}, before(func(step int) state.Command {
			if step == 2 {
				return plugin.ExcludeTool.Schedule("look")
			}
			return state.Command{}
		}))}
		w := newWorld(t, o)
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		w.stepper = w.other(t, o) // which has seen nothing
		w.finish(t, key, nil)
		w.submit(t, key, "more", mailbox.ModeQueue)
		w.finish(t, key, nil)
		turns := w.turns(t)
		if a, b, c, d := turns[0].Prompt, turns[1].Prompt, turns[2].Prompt, turns[3].Prompt; a == b || a != c || c != d {
			t.Errorf("the prompts are %s, %s, %s and %s", a, b, c, d)
		}
		stored, err := w.store.Records(t.Context(), key, "P#", "", 10)
		if err != nil || len(stored) != 2 {
			t.Errorf("%d records of prompts, %v, want 2", len(stored), err)
		}
		if _, ok, err := w.store.Get(t.Context(), key, recordname.Prompt(turns[3].Prompt)); !ok || err != nil {
			t.Errorf("the prompt is not there: %v", err)
		}
	})
}
