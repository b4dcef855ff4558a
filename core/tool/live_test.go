package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/show"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// lines are reports, a line each.
func lines(reports []show.Report) (all []string) {
	for _, r := range reports {
		line := string(r.Type)
		for _, part := range []string{r.Text, r.Kind, string(r.Content), string(r.Patch)} {
			if part != "" {
				line += " " + part
			}
		}
		all = append(all, line)
	}
	return all
}

func TestWhatAToolShowsOfItsWork(t *testing.T) {
	plan := map[string]any{"title": "<plan>", "steps": []string{}}
	tests := []struct {
		name    string
		show    func(c tool.Call)
		want    []string
		dropped string // why the first was; empty: none was
	}{
		{"nothing", func(tool.Call) {}, nil, ""},
		{"output", func(c tool.Call) { c.Output("a\n"); c.Output(""); c.Output("b") }, []string{
			"tool_call_stream_delta a\n", "tool_call_stream_delta b"}, ""},
		{"an activity and its changes", func(c tool.Call) {
			c.Activity("plan", plan)
			c.ActivityPatch("plan", tool.PatchOperation{Op: "add", Path: "/steps/-", Value: "pack"}, tool.PatchOperation{Op: "remove", Path: "/title"})
			c.ActivityPatch("plan", tool.PatchOperation{Op: "replace", Path: "", Value: nil})
			c.ActivityPatch("plan")
		}, []string{
			`activity_snapshot plan {"steps":[],"title":"<plan>"}`,
			`activity_delta plan [{"op":"add","path":"/steps/-","value":"pack"},{"op":"remove","path":"/title"}]`,
			`activity_delta plan [{"op":"replace","path":"","value":null}]`}, ""},
		{"progress", func(c tool.Call) { c.Progress(1, 4, "reading"); c.Progress(4, 4, "") }, []string{
			`activity_snapshot tool_progress {"call_id":"c1","tool_name":"index","status":"running","progress":0.25,"loaded":1,"total":4,"message":"reading"}`,
			`activity_snapshot tool_progress {"call_id":"c1","tool_name":"index","status":"done","progress":1,"loaded":4,"total":4}`}, ""},
		{"progress of an unknown total", func(c tool.Call) { c.Progress(7, 0, "") }, []string{
			`activity_snapshot tool_progress {"call_id":"c1","tool_name":"index","status":"running","loaded":7}`}, ""},
		{"progress beyond its ends", func(c tool.Call) { c.Progress(-1, 4, ""); c.Progress(5, 4, "") }, []string{
			`activity_snapshot tool_progress {"call_id":"c1","tool_name":"index","status":"running","progress":0,"loaded":0,"total":4}`,
			`activity_snapshot tool_progress {"call_id":"c1","tool_name":"index","status":"done","progress":1,"loaded":5,"total":4}`}, ""},
		{"a kind that is no name", func(c tool.Call) { c.Activity("a plan", 1) }, nil,
			"activity: kind of the activity \"a plan\" has the character ' ', allowed are A-Z a-z 0-9 . _ : -"},
		{"content that JSON cannot express", func(c tool.Call) { c.Activity("plan", func() {}) }, nil, "activity: json: unsupported type: func()"},
		{"content that is no text", func(c tool.Call) { c.Activity("plan", json.RawMessage("\"\xff\"")) }, nil, "activity: the JSON is not valid UTF-8"},
		{"a change of what was not shown", func(c tool.Call) { c.ActivityPatch("plan", tool.PatchOperation{Op: "remove"}) }, nil,
			`patch of the activity "plan", which was not shown`},
		{"an operation that does not exist", func(c tool.Call) { c.Activity("plan", 1); c.ActivityPatch("plan", tool.PatchOperation{Op: "move"}) },
			[]string{"activity_snapshot plan 1"}, `operation "move" of a patch does not exist`},
		{"a path that is none", func(c tool.Call) {
			c.Activity("plan", 1)
			c.ActivityPatch("plan", tool.PatchOperation{Op: "remove", Path: "title"})
		},
			[]string{"activity_snapshot plan 1"}, `path "title" of a patch does not begin with a slash`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var shown show.Recorder
			call := tool.Call{ID: "c1", Name: "index", Live: shown.Live()}
			tt.show(call)
			if diff := cmp.Diff(tt.want, lines(shown.Reports())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			n, err := call.Live.Dropped()
			if (n > 0) != (tt.dropped != "") || n > 0 && !strings.Contains(err.Error(), tt.dropped) {
				t.Errorf("%d reports were dropped: %v; want %q", n, err, tt.dropped)
			}
			tt.show(tool.Call{ID: "c1", Name: "index"})                     // nobody listens
			tt.show(tool.Call{ID: "c1", Name: "index", Live: &show.Live{}}) // nor here
		})
	}
}

// Progress is shown after 100 ms, at 1 % more or less, with another message, and at
// the end.
func TestProgressIsThrottled(t *testing.T) {
	type at struct {
		after       time.Duration // the report before
		done, total float64
		message     string
		shown       bool
	}
	tests := []struct {
		name string
		all  []at
	}{
		{"by time", []at{{0, 0, 1000, "", true}, {99 * time.Millisecond, 1, 1000, "", false}, {time.Millisecond, 1, 1000, "", true}, {0, 1, 1000, "", false}}},
		{"by part", []at{{0, 0, 1000, "", true}, {0, 9, 1000, "", false}, {0, 10, 1000, "", true}, {0, 19, 1000, "", false}, {0, 0, 1000, "", true}}},
		{"by part, rounded", []at{{0, 29, 100, "", true}, {0, 30, 100, "", true}}},
		{"by message", []at{{0, 0, 1000, "a", true}, {0, 0, 1000, "b", true}, {0, 0, 1000, "b", false}, {0, 0, 1000, "", true}}},
		{"the end", []at{{0, 999, 1000, "", true}, {0, 1000, 1000, "", true}, {0, 1000, 1000, "", false}, {0, 1001, 1000, "", false}}},
		{"of an unknown total", []at{{0, 1, 0, "", true}, {0, 500, 0, "", false}, {100 * time.Millisecond, 501, 0, "", true}}},
		{"what is no number", []at{{0, nan(), 10, "", false}, {0, 1, 1 / zero(), "", false}, {0, -1 / zero(), 10, "", false}}},
		{"of a small total", []at{{0, 0.1, 1, "", true}, {0, 0.2, 1, "", true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shown := show.Recorder{Now: time.Now}
				call, n := tool.Call{Live: shown.Live()}, 0
				for i, at := range tt.all {
					time.Sleep(at.after)
					call.Progress(at.done, at.total, at.message)
					if at.shown {
						n++
					}
					if got := len(shown.Reports()); got != n {
						t.Fatalf("after report %d there are %d, want %d", i, got, n)
					}
				}
				if dropped, err := call.Live.Dropped(); dropped != 0 {
					t.Errorf("%d reports were dropped: %v", dropped, err)
				}
			})
		})
	}
}

func zero() float64 { return 0 }
func nan() float64  { return zero() / zero() }

func TestBoundsOfWhatACallShows(t *testing.T) {
	tests := []struct {
		name string
		show func(c tool.Call)
		want int // reports
	}{
		{"reports", func(c tool.Call) {
			for range 10_001 {
				c.Output("x")
			}
		}, 10_000},
		{"bytes at the limit", func(c tool.Call) { c.Output(strings.Repeat("x", 1<<20)) }, 1},
		{"bytes of everything at the limit", func(c tool.Call) { // 1,048,569 + 2 + 5
			c.Output(strings.Repeat("x", 1<<20-7))
			c.Activity("plan", "s")
		}, 2},
		{"bytes of an activity over it", func(c tool.Call) {
			c.Output(strings.Repeat("x", 1<<20-6))
			c.Activity("plan", "s")
		}, 1},
		{"bytes of a patch over it", func(c tool.Call) {
			c.Activity("plan", "s")
			c.Output(strings.Repeat("x", 1<<20-7-4-30))
			c.ActivityPatch("plan", tool.PatchOperation{Op: "remove", Path: "/title"}) // 4 + 32
		}, 2},
		{"bytes over it", func(c tool.Call) { c.Output(strings.Repeat("x", 1<<20+1)) }, 0},
		{"nothing comes behind what was dropped", func(c tool.Call) {
			c.Output("a")
			c.Output(strings.Repeat("x", 1<<20))
			c.Output("b")
			c.Progress(1, 1, "")
			c.Activity("plan", 1)
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var shown show.Recorder
			call := tool.Call{Live: shown.Live()}
			tt.show(call)
			dropped, err := call.Live.Dropped()
			whole := strings.HasSuffix(tt.name, "at the limit")
			call.Output("x") // is neither shown nor waits for what was asked before
			if got := len(shown.Reports()); !whole && got != tt.want || whole && got < tt.want || (dropped == 0) != whole || !whole && core.CodeOf(err) != core.CodeTooLarge {
				t.Errorf("%d reports, %d dropped (%v), want %d", got, dropped, err, tt.want)
			}
		})
	}
}

// A list of reports that somebody appends to is not the recorder's.
func TestARecorderGivesItsReportsAway(t *testing.T) {
	var shown show.Recorder
	call := tool.Call{Live: shown.Live()}
	for range 3 {
		call.Output("x")
	}
	mine := append(shown.Reports(), show.Report{Text: "mine"})
	call.Output("theirs")
	if all := shown.Reports(); mine[3].Text != "mine" || all[3].Text != "theirs" {
		t.Errorf("the fourth is %q for me, and %q for the recorder", mine[3].Text, all[3].Text)
	}
}

// leaving is an audience that goes away after some reports.
type leaving struct {
	left int
	got  []show.Report
}

func (l *leaving) Show(r show.Report) bool {
	l.got = append(l.got, r)
	l.left--
	return l.left > 0
}

func TestAudienceThatLeavesIsShownNothingMore(t *testing.T) {
	audience, encoded := &leaving{left: 1}, 0
	call := tool.Call{Live: &show.Live{}}
	call.Live.Begin(audience, time.Now)
	call.Output("a")
	call.Output("b")
	call.Activity("plan", counting{&encoded})
	call.ActivityPatch("plan", tool.PatchOperation{Op: "add", Value: counting{&encoded}})
	if dropped, err := call.Live.Dropped(); len(audience.got) != 1 || encoded != 0 || dropped != 0 {
		t.Errorf("%d reports, %d encoded, %d dropped (%v); want 1, and nothing else", len(audience.got), encoded, dropped, err)
	}
}

type counting struct{ encoded *int }

func (c counting) MarshalJSON() ([]byte, error) { *c.encoded++; return []byte("1"), nil }

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("oh") }

func TestPanicOfAnActivitysEncodingIsTheTools(t *testing.T) {
	var shown show.Recorder
	shows := typed(t, tool.Spec{Name: "t"}, func(_ context.Context, c tool.Call, _ struct{}) (tool.Result, error) {
		c.Activity("plan", panicking{})
		return tool.NewResult("done"), nil
	})
	got, err := toolrun.Execute(t.Context(), shows, tool.Call{Live: shown.Live()})
	if err != nil || got.Message != "execution failed: the tool panicked" || len(shown.Reports()) != 0 {
		t.Errorf("%q, %v and %d reports; want the panic and none", got.Message, err, len(shown.Reports()))
	}
}

// A tool may show from several goroutines; what each of them shows keeps its order.
func TestReportsOfSeveralGoroutinesKeepTheirOrder(t *testing.T) {
	var shown show.Recorder
	call := tool.Call{Live: shown.Live()}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 100 {
				call.Output(fmt.Sprintf("%d %d", i, n))
				call.Progress(float64(n), 100, "")
			}
		})
	}
	all.Wait()
	next := map[int]int{}
	for _, r := range shown.Reports() {
		var i, n int
		if _, err := fmt.Sscanf(r.Text, "%d %d", &i, &n); err != nil {
			continue // progress
		}
		if n != next[i] {
			t.Fatalf("goroutine %d shows %d, want %d", i, n, next[i])
		}
		next[i]++
	}
	if diff := cmp.Diff(map[int]int{0: 100, 1: 100, 2: 100, 3: 100}, next); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShowingNothingAllocatesNothing(t *testing.T) {
	call := tool.Call{ID: "c1"}
	if n := testing.AllocsPerRun(100, func() {
		call.Output("x")
		call.Progress(1, 2, "m")
		call.ActivityPatch("plan", tool.PatchOperation{Op: "remove"})
	}); n != 0 {
		t.Errorf("%g objects, want none", n)
	}
}

func TestWithLeavesTheResultBeforeAlone(t *testing.T) {
	first := tool.NewResult("ok").WithMetadata("a", 1)
	second := first.WithMetadata("b", 2)
	if len(first.Metadata) != 1 || len(second.Metadata) != 2 {
		t.Errorf("metadata of %d and %d names, want 1 and 2", len(first.Metadata), len(second.Metadata))
	}
}
