package thread_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/thread"
)

// kinds has a line of a script for each row of the table of transitions, behind the lines that
// bring a head to where it applies.
var kinds = []struct {
	before   []string
	line     string
	stage    thread.Stage
	worker   bool  // by who has the claim, or takes it
	holder   bool  // its commit id is kept as the holder's
	attempts uint8 // what is left of three attempts without progress; 0 as well where the run is over
	over     bool
	deleted  bool // a deleted thread takes it
}{
	{nil, "create owner=ann", thread.StageStep, false, false, 0, true, false},
	{nil, "fork owner=ann seq=4", thread.StageStep, false, false, 0, true, false},
	{held, "enqueue d9 run=r9", thread.StageSubmit, false, false, 3, false, false},
	{nil, "enqueue-and-claim d9 run=r9 worker=w lease=30s", thread.StageSubmit, true, false, 1, false, false},
	{waiting, "input i", thread.StageSubmit, false, false, 0, false, false},
	{queue, "edit d2 revision=1", thread.StageSubmit, false, false, 3, false, false},
	{steered, "retract i", thread.StageSubmit, false, false, 3, false, false},
	{held, "interrupt dedupe=k", thread.StageSubmit, false, false, 0, false, false},
	{expired, "claim w lease=30s", thread.StageClaim, true, false, 1, false, false},
	{held, "reclaim", thread.StageClaim, false, false, 3, false, false},
	{held, "refence fence=1", thread.StageStep, true, true, 3, false, false},
	{held, "extend-lease fence=1 lease=40s", thread.StageStep, false, false, 3, false, false},
	{held, "add-child k fence=1", thread.StageStep, false, false, 3, false, false},
	{parent, "drop-child r1 k", thread.StageStep, false, false, 3, false, false},
	{held, "touch", thread.StageStep, false, false, 3, false, false},
	{held, "commit-turn fence=1 seq=1 calls=2", thread.StageTurn, true, true, 0, false, false},
	{round, "suspend fence=1 calls=done,new", thread.StageTurn, true, true, 0, false, false},
	{round, "commit-step fence=1 yield seq=1 calls=done,new", thread.StageStep, true, true, 0, false, false},
	{closing, "commit-close fence=1 seq=1", thread.StageStep, true, true, 0, true, false},
	{round, "nack fence=1 calls=done,new", thread.StageStep, true, true, 0, false, false},
	{waiting, "decide r1 0 id=x resume", thread.StageDecide, false, false, 0, false, false},
	{held, "cancel", thread.StageDecide, false, false, 0, false, false},
	{held, "send m run=r1", thread.StageStep, false, false, 3, false, false},
	{owing, "delivered r2 kind=child-ended", thread.StageStep, false, false, 3, false, true},
	{held, "delete", thread.StageStep, false, false, 0, true, true},
}

// The heads that the kinds are tried on.
var (
	held    = []string{"enqueue d1 run=r1", "claim w lease=30s"}
	parent  = append(slices.Clip(held), "add-child k fence=1")
	queue   = append(slices.Clip(held), "enqueue d2 run=r2")
	owing   = append(slices.Clip(held), "enqueue d2 run=r2 child", "cancel r2")
	steered = append(slices.Clip(held), "input i kind=internal")
	closing = append(slices.Clip(held), "cancel")
	round   = append(slices.Clip(held), "commit-turn fence=1 seq=1 calls=2")
	waiting = append(slices.Clip(round), "commit-step fence=1 wait seq=1 tickets=0:t:person:1m calls=suspended,done")
	expired = append(slices.Clip(waiting), "now 2m")
)

func TestWhatHoldsOfEachKindOfTransition(t *testing.T) {
	for _, tt := range kinds {
		name, _, _ := strings.Cut(tt.line, " ")
		t.Run(name, func(t *testing.T) {
			s := &stage{t: t, now: start}
			for _, line := range tt.before {
				s.run(line)
			}
			if s.head.Open() {
				s.head.Run.Attempts, s.head.Run.ModelFailed = 3, 2
			}
			change := parse(t, tt.line).change(s.head, s.now)
			kind, commit := thread.KindOf(change), id("this one")
			next, result, err := thread.Apply(s.head, thread.Transition{Now: s.now, CommitID: commit, Change: change})
			if err != nil || result.Unchanged {
				t.Fatalf("%v, unchanged %v", err, result.Unchanged)
			}
			if kind.Name != name {
				t.Errorf("it is named %q", kind.Name)
			}
			if kind.Stage != tt.stage || kind.Worker != tt.worker {
				t.Errorf("its stage is %d, by who works %v; want %d, %v", kind.Stage, kind.Worker, tt.stage, tt.worker)
			}
			if got := next.HolderCommitID == commit; got != tt.holder || kind.Holder != tt.holder {
				t.Errorf("its commit id is kept as the holder's: %v, the table says %v, want %v", got, kind.Holder, tt.holder)
			}
			if next.Run.Attempts != tt.attempts || next.Open() == tt.over {
				t.Errorf("%d attempts, over %v; want %d, %v", next.Run.Attempts, !next.Open(), tt.attempts, tt.over)
			}
			forgets := s.head.Open() && !tt.over && tt.attempts < 3
			if kind.Progress != forgets || forgets && next.Run.ModelFailed != 0 || next.Open() && s.head.Open() && !forgets && next.Run.ModelFailed != 2 {
				t.Errorf("progress is %v, want %v; %d calls of the model have failed", kind.Progress, forgets, next.Run.ModelFailed)
			}
			gone := thread.Head{Version: 1, Deleted: true}
			if _, _, err := thread.Apply(gone, thread.Transition{CommitID: commit, Change: change}); errors.Is(err, thread.ErrDeleted) == tt.deleted || kind.Deleted != tt.deleted {
				t.Errorf("a deleted thread says %v, the table %v; taken %v is wanted", err, kind.Deleted, tt.deleted)
			}
		})
	}
}

// TestOnlyWhatAsksForAPlaceIsRefusedByAFullHead tries each kind on a head all of whose tables
// are full, with the parents of earlier runs still to be told.
func TestOnlyWhatAsksForAPlaceIsRefusedByAFullHead(t *testing.T) {
	full := fullest(t)
	full.Owner = "" // whoever asks
	for i := range 9 {
		full.Outbox = append(full.Outbox, thread.OutboxEntry{ID: id(string(rune('a' + i))), Kind: thread.OutboxChildEnded})
	}
	var got []string
	for _, tt := range kinds {
		line := strings.Replace(tt.line, "interrupt dedupe=k", "interrupt enqueue=d9 run=r9", 1)
		line = strings.Replace(line, "send m run=r1", "send m", 1)
		change := parse(t, line).change(full, start)
		_, _, err := thread.Apply(full, thread.Transition{Now: start, CommitID: id("c"), Schemas: thread.Schemas{Reads: 65535}, Change: change})
		if errors.Is(err, thread.ErrFull) {
			got = append(got, thread.KindOf(change).Name)
		}
		if kind := thread.KindOf(change); kind.Places != errors.Is(err, thread.ErrFull) {
			t.Errorf("%s says %v, and asks for a place: %v", kind.Name, err, kind.Places)
		}
	}
	if want := []string{"enqueue", "enqueue-and-claim", "input", "interrupt", "send"}; !slices.Equal(got, want) {
		t.Errorf("a full head refuses %v, want %v", got, want)
	}
}

// TestWhoeverMakesWorkHints applies changes behind which something can be claimed.
func TestWhoeverMakesWorkHints(t *testing.T) {
	ready := append(slices.Clip(held), "nack fence=1")
	tests := []struct {
		before []string
		line   string
		want   string // the dispatch of the hint
	}{
		{ready, "enqueue d2 run=r2", "d1"},
		{[]string{"enqueue d1 run=r1"}, "enqueue-and-claim d2 run=r2 worker=w lease=30s", "d1"},
		{ready, "input i", "d1"},
		{waiting, "input i", "d1"},
		{ready, "interrupt dedupe=k", "d1"},
		{waiting, "decide r1 0 id=x resume", "d1"},
		{ready, "cancel", "d1"},
		{held, "reclaim", "d1"},
		{append(slices.Clip(ready), "enqueue d2 run=r2"), "edit d2 revision=1", ""},
		{append(slices.Clip(ready), "input i"), "retract i", ""},
		{ready, "touch", ""},
		{ready, "send m run=r1", "d1"},
		{ready, "send m", "d1"},
		{append(slices.Clip(ready), "enqueue d2 run=r2 child", "cancel r2"), "delivered r2 kind=child-ended", ""},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			s := &stage{t: t, now: start}
			for _, line := range tt.before {
				s.run(line)
			}
			change := parse(t, tt.line).change(s.head, s.now)
			next, result, err := thread.Apply(s.head, thread.Transition{Now: s.now, CommitID: id("c"), Change: change})
			if err != nil || result.Unchanged || !claimable(next, s.now) {
				t.Fatalf("%v, unchanged %v, claimable %v", err, result.Unchanged, claimable(next, s.now))
			}
			got := ""
			if result.Hint != nil {
				got = strings.TrimRight(string(result.Hint.Dispatch[:]), "\x00")
			}
			if got != tt.want || thread.KindOf(change).Wakes != (tt.want != "") {
				t.Errorf("the hint is for %q, the table says %v; want %q", got, thread.KindOf(change).Wakes, tt.want)
			}
		})
	}
}

// TestEveryTransitionHasARow finds the transitions in the source of the package: they have
// an apply method, a row of the table, a line in kinds, and a line in one of the scripts.
func TestEveryTransitionHasARow(t *testing.T) {
	methods := receivers(t)
	if len(methods["apply"]) < 20 {
		t.Fatalf("%d transitions are found: %v", len(methods["apply"]), methods["apply"])
	}
	if diff := cmp.Diff(methods["apply"], methods["kind"]); diff != "" {
		t.Errorf("types with an apply method, and types with a row (-apply +row):\n%s", diff)
	}
	said := commands(t)
	tried, names := map[string]bool{}, map[string]bool{}
	for _, tt := range kinds {
		change := parse(t, tt.line).change(thread.Head{}, start)
		tried[strings.TrimPrefix(fmt.Sprintf("%T", change), "thread.")] = true
		name := thread.KindOf(change).Name
		if names[name] {
			t.Errorf("two kinds are named %s", name)
		}
		if names[name] = true; !said[name] {
			t.Errorf("no script has a line %s", name)
		}
	}
	if diff := cmp.Diff(methods["apply"], slices.Sorted(maps.Keys(tried))); diff != "" {
		t.Errorf("types with an apply method, and those that are tried (-apply +tried):\n%s", diff)
	}
}

// receivers returns the types that have a method, by the method's name, in order.
func receivers(t *testing.T) map[string][]string {
	t.Helper()
	methods, fset := map[string][]string{}, token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if name, ok := of.(*ast.Ident); ok {
				methods[f.Name.Name] = append(methods[f.Name.Name], name.Name)
			}
		}
	}
	for _, types := range methods {
		slices.Sort(types)
	}
	return methods
}

// commands are the first words of the lines of all scripts.
func commands(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 0 {
				all[fields[0]] = true
			}
		}
	}
	return all
}
