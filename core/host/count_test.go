package host_test

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
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// counts are the operations of a store since the last look. "log" is how often
// the log is read, "record" how many of its records.
type counts map[string]int

func (w *way) counts() counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.kinds
	w.kinds = nil
	return c
}

func wantCounts(t *testing.T, what string, way *way, want counts) {
	t.Helper()
	if diff := cmp.Diff(want, way.counts()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// workNext works on the hint that is due.
func workNext(t *testing.T, r *rig, process *host.Host) {
	t.Helper()
	hint, ok := r.queue.Receive()
	if !ok {
		t.Fatal("no hint is due")
	}
	if err := process.WorkLocal(t.Context(), hint); err != nil {
		t.Fatal(err)
	}
}

// What a run with one tool call costs a process that has its thread in memory.
// The second run of the thread is the one that is counted.
func TestOperationsOfAWarmRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		way := newWay(r.store)
		process := r.process("w", way)
		submit := func(key string) {
			s := submission("t1", "echo: hello")
			s.Key.Value = key
			if _, err := process.Submit(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		submit("")
		workNext(t, r, process)
		workNext(t, r, process)
		way.counts()

		submit("")
		wantCounts(t, "submission", way, counts{"head": 1, "commit": 1})
		workNext(t, r, process) // claim, input, commit A, commit B with the result
		wantCounts(t, "step with one tool", way, counts{"head": 1, "get": 1, "commit": 3})
		workNext(t, r, process) // claim, commit B
		wantCounts(t, "text step", way, counts{"head": 1, "commit": 2})

		submit("key")
		wantCounts(t, "submission with a key", way, counts{"pointer": 1, "head": 1, "commit": 1})
		workNext(t, r, process)
		way.counts()
		other := newWay(r.store)
		workNext(t, r, r.process("cold", other))
		wantCounts(t, "text step of a process that does not know the thread", other,
			counts{"head": 1, "get": 1, "list": 1, "log": 1, "record": 11, "commit": 2})
	})
}

// What an inline run costs: one write to submit and claim, then as a step each.
func TestOperationsOfAnInlineRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		way := newWay(r.store)
		process := r.process("w", way)
		if _, err := process.Stream(t.Context(), submission("t1", "echo: hello"), host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, "inline run of two steps", way, counts{"head": 1, "commit": 4, "putsnapshot": 1})
	})
}

// What a page of messages costs: a thread where something is superseded one record
// more, and nothing for what is passed over, nor behind the record that says so.
func TestOperationsOfAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		process := r.process("w", r.store)
		run := func(text string, supersede uint64) {
			s := submission("t1", text)
			s.Opening.Supersede = supersede
			if _, err := process.Submit(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			r.settle(process, s.Thread)
		}
		page := func(what string, after uint64, limit int, want counts) {
			t.Helper()
			way := newWay(r.store)
			if _, err := r.process("r", way).Messages(t.Context(), local, "t1", host.MessageQuery{After: after, Limit: limit}); err != nil {
				t.Fatal(err)
			}
			wantCounts(t, what, way, want)
		}
		for range 50 {
			run("hi", 0)
		}
		page("nothing is superseded", 0, 200, counts{"head": 1, "log": 1, "record": 100})
		run("again", 5) // the record at 101, input and turn behind it
		page("all", 0, 200, counts{"head": 1, "log": 3, "record": 1 + 4 + 3})
		page("before the range", 0, 4, counts{"head": 1, "log": 2, "record": 1 + 4})
		page("from inside the range", 50, 200, counts{"head": 1, "log": 2, "record": 1 + 3})
		page("behind the range", 101, 200, counts{"head": 1, "log": 1, "record": 2})
	})
}

// endless is a model that calls a tool whatever it is told, and counts the
// messages that it was shown.
type endless struct{ shown *int }

func (m endless) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	*m.shown = len(request.Messages)
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "echo"}, nil) &&
			yield(model.Delta{Type: model.DeltaToolArgument, Text: `{"text":"on"}`}, nil) &&
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}

// twoKB is the text of a message, 512 tokens and 8 for its frame: 61 of them
// fill a window of 32,000.
var twoKB = strings.Repeat("0123456789abcdef", 128)

// longThread stores a log of 10,000 messages, of one run, which is open, or of
// finished ones, and a snapshot of its state that is five messages old.
func longThread(t *testing.T, backend store.Backend, runs int) core.ThreadKey {
	t.Helper()
	const messages = 10_000
	key := core.ThreadKey{Tenant: "local", Thread: "long"}
	each := messages / runs
	var run core.ID
	for i := range messages {
		n := i % each
		if n == 0 {
			run = core.ID{1, byte(i >> 8), byte(i)}
		}
		if err := backend.Put(t.Context(), key, longRecord(t, run, uint64(i+1), n, each)); err != nil {
			t.Fatal(err)
		}
	}
	head := thread.Head{Layout: thread.Layout, Schema: 1, Version: 1, CommitID: core.ID{9}, Incarnation: 1, Fence: 1, Seq: messages}
	commit := store.Commit{}
	if runs == 1 {
		head.Run = thread.Run{ID: run, Dispatch: core.ID{2}, Cursor: thread.CursorInfer, Step: messages/2 - 1}
		head.DueAt = time.Now().UnixMilli()
		payload, err := thread.Records{}.EncodeRun(&thread.RunRecord{Run: core.Run{
			ID: run, ThreadID: key.Thread, AgentID: "demo", Status: core.RunRunning, Dispatch: core.ID{2}, FirstSeq: 1,
		}})
		if err != nil {
			t.Fatal(err)
		}
		commit.Records = []store.Record{{Name: recordname.Run(run), Fence: 1, Version: 1, Payload: payload}}
	}
	commit.Head = head
	manifest, err := thread.Records{}.Encode("state snapshot", map[string]any{"run": run, "as_of": messages - 5})
	if err != nil {
		t.Fatal(err)
	}
	commit.Records = append(commit.Records, store.Record{Name: recordname.Snapshot, Fence: 1, Version: 1, Payload: manifest})
	if outcome, err := backend.Commit(t.Context(), key, commit); err != nil || !outcome.Written {
		t.Fatalf("%+v, %v", outcome, err)
	}
	return key
}

// longRecord is message n of a run of so many: the question, then turns with one
// call and their results, and a last turn without a call.
func longRecord(t *testing.T, run core.ID, seq uint64, n, of int) store.Record {
	t.Helper()
	step := (n + 1) / 2
	m := core.Message{ID: fmt.Sprint("m", seq), RunID: run, Step: step, Content: []core.Block{{Type: core.BlockText, Text: twoKB}}}
	e := thread.Entry{Run: run, Step: step, Message: &m}
	call := fmt.Sprint("call", (n-1)/2)
	switch {
	case n == 0:
		m.Role, m.Step, e.Step = core.RoleUser, 0, 0
	case n%2 == 0:
		m.Role, m.Content = core.RoleTool, nil
		m.ToolResult = &core.ToolResult{CallID: call, Name: "echo", Data: json.RawMessage(`"` + twoKB + `"`)}
	default:
		m.Role = core.RoleAssistant
		if n < of-1 {
			m.ToolCalls = []core.ToolCall{{ID: call, Name: "echo", Arguments: json.RawMessage("{}")}}
		}
		e.Totals, e.Attempt = &thread.Totals{Steps: step}, 1
	}
	payload, err := thread.Records{}.EncodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	return store.Record{Name: store.LogName(seq), Fence: 1, Payload: payload}
}

// A cold step of a thread of 10,000 messages reads its window, not the thread.
func TestOperationsOfAColdStepAtTenThousandMessages(t *testing.T) {
	tests := []struct {
		name             string
		runs             int
		cold, warm       counts
		coldSaw, warmSaw int // messages that the model was shown
	}{
		{ // the log: two ranges back, and the run's first message
			name: "one run", runs: 1,
			cold: counts{"head": 1, "get": 1, "list": 1, "log": 3, "record": 65, "commit": 3, "putsnapshot": 1}, coldSaw: 62, // what was read, and the question
			warm: counts{"head": 1, "commit": 3}, warmSaw: 64,
		},
		{
			name: "a thousand runs", runs: 1000,
			cold: counts{"head": 1, "get": 1, "list": 1, "log": 2, "record": 64, "commit": 3, "putsnapshot": 1}, coldSaw: 63, // a note before them, since a turn comes first
			warm: counts{"head": 1, "commit": 3}, warmSaw: 65,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, backend, shown := newRig(t), memory.New(), 0
			agent := func(c *host.Options) {
				c.Agents.Models["m"] = binding(endless{&shown})
				c.Agents.Specs[0].MaxRounds = new(0)
			}
			key := longThread(t, backend, tt.runs)
			hint := core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}
			if tt.runs > 1 {
				if _, err := r.process("sender", backend).Submit(t.Context(), submission(key.Thread, "go on")); err != nil {
					t.Fatal(err)
				}
			}
			work := func(process *host.Host) {
				t.Helper()
				if err := process.WorkLocal(t.Context(), hint); err != nil {
					t.Fatal(err)
				}
			}
			way := newWay(backend)
			process := r.process("w", way, agent)
			work(process)
			wantCounts(t, "cold step", way, tt.cold)
			if shown != tt.coldSaw {
				t.Errorf("cold: the model was shown %d messages, want %d", shown, tt.coldSaw)
			}
			work(process)
			wantCounts(t, "warm step", way, tt.warm)
			if shown != tt.warmSaw {
				t.Errorf("warm: the model was shown %d messages, want %d", shown, tt.warmSaw)
			}
		})
	}
}
