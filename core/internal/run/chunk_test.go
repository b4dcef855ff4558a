package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// paced is a model that says each delta so long after the one before it. One of no
// type is a failure that passes. Its calls go on in the list.
type paced struct {
	every time.Duration
	said  []model.Delta
	next  *int
}

func pacing(every time.Duration, said ...model.Delta) paced { return paced{every, said, new(int)} }

func (p paced) Stream(context.Context, model.Request) iterator {
	return func(yield func(model.Delta, error) bool) {
		for *p.next < len(p.said) {
			d := p.said[*p.next]
			*p.next++
			time.Sleep(p.every)
			if d.Type == 0 {
				yield(d, &model.Error{Kind: model.KindInterrupted, Message: "cut"})
				return
			}
			if !yield(d, nil) || d.Type == model.DeltaStop {
				return
			}
		}
	}
}

// stored are the chunks of the thread, one line each: fence and number, and the events
// with their places.
func stored(t *testing.T, w *world) (lines []string) {
	t.Helper()
	records, err := w.store.Backend.Records(t.Context(), key, "E#", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		parts := strings.Split(r.Name, "#")
		id, err := core.ParseID(parts[1])
		if err != nil || len(parts) != 5 || r.Kind() != store.KindCreate || r.Fence != 0 || r.Version != 0 {
			t.Fatalf("chunk %+v: %v", r, err)
		}
		a := live.Attempt{Run: id}
		if _, err := fmt.Sscan(parts[2]+" "+parts[3], &a.Step, &a.Fence); err != nil {
			t.Fatal(err)
		}
		events, err := a.Events(thread.Records{}, r)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s.%s.%s:", parts[2], parts[3], parts[4])
		for _, e := range events {
			if e.RunID != id || e.Step != a.Step {
				t.Errorf("%s has the event %+v", r.Name, e)
			}
			line += " " + strings.TrimSpace(string(e.Type)+" "+e.Delta)
			if at, err := position.Parse(e.Position); err == nil && at.Run == id && at.Step == a.Step && at.Attempt == a.Fence {
				line += fmt.Sprintf("@%d-%d", at.Block, at.End)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// asked is the work of a step whose words somebody in another process waits for.
func asked(head thread.Head) run.Work {
	return run.Work{Key: key, Head: head, Followed: time.Now().Add(time.Minute).UnixMilli()}
}

// puts notes when chunks are stored, as the times since it was called.
func puts(w *world) (times *[]string) {
	began := time.Now()
	times = new([]string)
	w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		if strings.HasPrefix(r.Name, "E#") {
			*times = append(*times, fmt.Sprint(time.Since(began), " ", r.Expires-time.Now().Unix()))
		}
		return w.store.Backend.Put(ctx, key, r)
	}
	return times
}

func TestWhatIsSaidIsStoredInChunks(t *testing.T) {
	long := strings.Repeat("x", 1500)
	tests := []struct {
		name  string
		model model.Model
		puts  []string // since the step began, and the seconds until they may vanish
		want  []string
	}{
		{
			name:  "a turn that is said at once",
			model: pacing(10*time.Millisecond, say("Hello"), say(" there"), stopped),
		},
		{
			name:  "words",
			model: pacing(200*time.Millisecond, think("hm"), say("a"), say("b"), say("c"), say("d"), say("é"), say("€"), stopped),
			puts:  []string{"700ms 86400", "1.3s 86400"},
			want: []string{
				"1.1.000000: step_start@0-0 reasoning_delta hm@0-2 text_delta ab@1-2",
				"1.1.000001: text_delta cdé@1-6",
			},
		},
		{
			name:  "a pause",
			model: paced{2 * time.Second, []model.Delta{say("a"), say("b"), stopped}, new(int)},
			puts:  []string{"2.5s 86400", "4.5s 86400"},
			want:  []string{"1.1.000000: step_start@0-0 text_delta a@0-1", "1.1.000001: text_delta b@0-2"},
		},
		{
			name: "a word, and a pause",
			model: modelFunc(func(context.Context, model.Request) iterator {
				return func(yield func(model.Delta, error) bool) {
					time.Sleep(100 * time.Millisecond)
					more := yield(say("a"), nil)
					time.Sleep(3 * time.Second)
					_ = more && yield(say("b"), nil) && yield(stopped, nil)
				}
			}),
			puts: []string{"600ms 86400"},
			want: []string{"1.1.000000: step_start@0-0 text_delta a@0-1"},
		},
		{
			name:  "two calls at once",
			model: pacing(200*time.Millisecond, begin(0, "x", "echo"), begin(1, "y", "echo"), argue(0, `{"a":`), argue(1, `{"b":`), argue(0, `1}`), argue(1, `2}`), stopped),
			puts:  []string{"700ms 86400", "1.3s 86400"},
			want: []string{
				`1.1.000000: step_start@0-0 tool_call_start@0-0 tool_call_start@1-0 tool_call_delta {"a":@0-5`,
				`1.1.000001: tool_call_delta {"b":@1-5 tool_call_delta 1}@0-7 tool_call_delta 2}@1-7`,
			},
		},
		{
			name:  "four kilobytes",
			model: pacing(100*time.Millisecond, say(long), say(long), say(long), say(long), stopped),
			puts:  []string{"300ms 86400"},
			want:  []string{"1.1.000000: step_start@0-0 text_delta " + long + long + "@0-3000 text_delta " + long + "@0-4500"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{model: tt.model, chunks: true})
				w.submit(t, key, "hi", "")
				times := puts(w)
				if _, err := w.stepper.Step(t.Context(), asked(w.take(t, key)), listener); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, stored(t, w)); diff != "" {
					t.Errorf("chunks (-want +got):\n%s", diff)
				}
				var none []string
				if diff := cmp.Diff(append(none, tt.puts...), *times); diff != "" {
					t.Errorf("times (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A claim that takes its next fence within an inference begins its chunks anew, with
// the remaining part of the turn. Echoes of reasoning are a part of it, marks of texts are not.
func TestChunksBeginAnewUnderTheNextFence(t *testing.T) {
	echo := model.Delta{Type: model.DeltaReasoning, Echo: json.RawMessage(`"signed"`)}
	phase := model.Delta{Type: model.DeltaText, Echo: json.RawMessage(`"phase"`)}
	tests := []struct {
		name string
		said []model.Delta
		want []string
	}{
		{"plain blocks", []model.Delta{think("hm"), say("one"), say(" two"), begin(0, "a", "echo"), argue(0, `{"te`), {}, say(" three"), say(" four"), say(" five"), stopped}, []string{
			"1.1.000000: step_start@0-0 reasoning_delta hm@0-2 text_delta one@1-3",
			`1.1.000001: text_delta  two@1-7 tool_call_start@2-0`,
			"1.2.000000: step_start@0-0 reasoning_delta hm@0-2 text_delta one two three@1-13",
			"1.2.000001: text_delta  four five@1-23",
		}},
		{"blocks with echoes", []model.Delta{think("hm"), echo, say("one"), phase, begin(0, "a", "echo"), argue(0, `{"te`), {}, say("two"), say(" three"), stopped}, []string{
			"1.1.000000: step_start@0-0 reasoning_delta hm@0-2 reasoning_encrypted_value@0-2",
			"1.1.000001: text_delta one@1-3",
			`1.1.000002: tool_call_start@2-0 tool_call_delta {"te@2-4`,
			"1.2.000000: step_start@0-0 reasoning_delta hm@0-2 reasoning_encrypted_value@0-2 text_delta one@1-3 text_delta two@2-3",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, options{env: drawing(0), model: pacing(300*time.Millisecond, tt.said...), chunks: true})
				w.submit(t, key, "hi", "")
				if _, err := w.stepper.Step(t.Context(), asked(w.take(t, key)), listener); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, stored(t, w)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A write never holds up the inference: while one is slow, the next chunk grows.
func TestASlowWriteHoldsUpNoInference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []model.Delta
		for i := range 40 {
			said = append(said, say(fmt.Sprintf("%02d", i)))
		}
		w := newWorld(t, options{model: pacing(130*time.Millisecond, append(said, stopped)...), chunks: true})
		w.submit(t, key, "hi", "")
		head, began := w.take(t, key), time.Now()
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if strings.HasPrefix(r.Name, "E#") {
				select {
				case <-time.After(1500 * time.Millisecond):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		if _, err := w.stepper.Step(t.Context(), asked(head), listener); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 5330*time.Millisecond {
			t.Errorf("the step takes %s, want the 5.33 s of its inference", took)
		}
		want := []string{
			"1.1.000000: step_start@0-0 text_delta 00010203@0-8",
			"1.1.000001: text_delta 040506070809101112131415@0-32",
			"1.1.000002: text_delta 1617181920212223242526@0-54",
		}
		got := stored(t, w)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// However much waits, a chunk stays small.
func TestAChunkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []model.Delta
		for range 60 {
			said = append(said, say(strings.Repeat("x", 3000)))
		}
		w := newWorld(t, options{model: pacing(52*time.Millisecond, append(said, stopped)...), chunks: true})
		w.submit(t, key, "hi", "")
		head := w.take(t, key)
		var sizes []int
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if strings.HasPrefix(r.Name, "E#") {
				time.Sleep(time.Second)
				sizes = append(sizes, len(r.Payload)/1000)
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		if _, err := w.stepper.Step(t.Context(), asked(head), listener); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{6, 15, 15, 15}, sizes); diff != "" {
			t.Errorf("kilobytes (-want +got):\n%s", diff)
		}
	})
}

// A write that fails costs the readers time and the run nothing. What may have been
// stored goes out again with the same bytes, and no chunk before the one before it.
func TestAChunkThatIsNotStoredEndsNoRun(t *testing.T) {
	lost := core.Errorf(core.CodeUnavailable, "no route")
	tests := []struct {
		name  string
		fails func(n int) (stores bool, err error) // the nth write, from 0
		puts  int                                  // 0: not looked at, since one comes as the step ends
		want  []string                             // chunks, of those that are stored before
		log   string
	}{
		{
			name:  "a lost response",
			fails: func(n int) (bool, error) { return true, map[bool]error{true: lost}[n == 0] },
			puts:  4,
			want:  []string{"step_start@0-0 text_delta abc@0-3", "text_delta def@0-6", "text_delta ghi@0-9"},
		},
		{
			name:  "two failures in a row",
			fails: func(n int) (bool, error) { return n > 1, map[bool]error{true: lost}[n < 2] },
			puts:  5,
			want:  []string{"step_start@0-0 text_delta abc@0-3", "text_delta defgh@0-8", "text_delta ijk@0-11"},
		},
		{
			name:  "each first try fails",
			fails: func(n int) (bool, error) { return n%2 > 0, map[bool]error{true: lost}[n%2 == 0] },
			want:  []string{"step_start@0-0 text_delta abc@0-3", "text_delta def@0-6"},
		},
		{
			name:  "a store that does not come back",
			fails: func(int) (bool, error) { return false, lost },
			puts:  3, log: "no route",
		},
		{
			name:  "a store that refuses",
			fails: func(int) (bool, error) { return false, &store.RefusedError{Name: "E#", Cause: store.ErrConflict} },
			puts:  1, log: "other content",
		},
		{
			name:  "a store that panics",
			fails: func(int) (bool, error) { panic("boom") },
			puts:  3, log: "boom",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []model.Delta
				for _, r := range "abcdefghijk" {
					said = append(said, say(string(r)))
				}
				var log bytes.Buffer
				w := newWorld(t, options{
					model: pacing(200*time.Millisecond, append(said, stopped)...), chunks: true, logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				receipt := w.submit(t, key, "hi", "")
				head, n := w.take(t, key), 0
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if !strings.HasPrefix(r.Name, "E#") {
						return w.store.Backend.Put(ctx, key, r)
					}
					n++
					stores, err := tt.fails(n - 1)
					if stores {
						if err := w.store.Backend.Put(ctx, key, r); err != nil {
							return err
						}
					}
					return err
				}
				if _, err := w.stepper.Step(t.Context(), asked(head), listener); err != nil {
					t.Fatal(err)
				}
				if tt.puts > 0 && n != tt.puts {
					t.Errorf("%d writes, want %d", n, tt.puts)
				}
				var want []string
				for i, events := range tt.want {
					want = append(want, fmt.Sprintf("1.1.%06d: %s", i, events))
				}
				got := stored(t, w)
				if tt.puts == 0 {
					got = got[:min(len(got), len(want))]
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if end := w.end(t, key, receipt); end != `done 1 {"type":"natural_end"} "abcdefghijk"` {
					t.Errorf("the run is %s", end)
				}
				if lines := strings.Count(log.String(), "level=WARN"); tt.log == "" && lines > 0 || tt.log != "" && (lines != 1 || !strings.Contains(log.String(), tt.log)) {
					t.Errorf("log, want one warning that says %q:\n%s", tt.log, log.String())
				}
			})
		})
	}
}

// What waits for a store that does not respond is bounded, and what would be stored as
// something else is not: the commit has it.
func TestWhatIsNotStoredOfATurn(t *testing.T) {
	tests := []struct {
		name  string
		piece string
		every time.Duration
		hangs bool
		want  []string
		log   string
	}{
		{name: "4 MiB are said", piece: strings.Repeat("x", 120000), every: 10 * time.Millisecond, hangs: true, log: "4243360 bytes were said, at most 4194304 are kept"},
		{name: "half a letter", piece: "\xc3", every: 130 * time.Millisecond, log: "a piece of text_delta is not UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []model.Delta
				for range 40 {
					said = append(said, say(tt.piece))
				}
				var log bytes.Buffer
				w := newWorld(t, options{model: pacing(tt.every, append(said, stopped)...), chunks: true, logger: slog.New(slog.NewTextHandler(&log, nil))})
				w.submit(t, key, "hi", "")
				head := w.take(t, key)
				w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
					if tt.hangs && strings.HasPrefix(r.Name, "E#") {
						<-ctx.Done()
						return ctx.Err()
					}
					return w.store.Backend.Put(ctx, key, r)
				}
				if _, err := w.stepper.Step(t.Context(), asked(head), listener); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, stored(t, w)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), tt.log) {
					t.Errorf("log, want one warning that says %q:\n%s", tt.log, log.String())
				}
				if h := w.head(t, key); h.Open() {
					t.Errorf("the run is open: %+v", h)
				}
			})
		})
	}
}
