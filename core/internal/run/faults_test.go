package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var errReset = errors.New("connection reset by peer")

// faulty is the world's process, of which one operation of the store fails.
type faulty struct {
	n      int  // the operation that fails, counted in steps alone; 0: none
	writes bool // reads do not count
	after  bool // the store has done it, and its answer is lost

	mu     sync.Mutex
	count  int
	failed string // what the operation was, once it was reached
	read   bool   // it was a read
}

// around is a [storetest.Faulty] hook. A look at the head does not count: a step's watch
// takes one now and then.
func (f *faulty) around(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
	if op.Method == "Head" || f.writes && reads(op) || !f.isNext(op) {
		return do(ctx)
	}
	if f.after {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return errReset
}

func reads(op storetest.Operation) bool {
	return slices.Contains([]string{"Get", "Log", "LogBackwards", "Records", "RecordsBackwards", "Pointer", "Admission", "ReadProfile", "Snapshot"}, op.Method)
}

func (f *faulty) isNext(op storetest.Operation) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count != f.n {
		return false
	}
	f.failed, f.read = op.Method+" "+op.Name, reads(op)
	return true
}

// start makes the world's steps those of the process.
func (f *faulty) start(t *testing.T, w *world, o options) {
	t.Helper()
	process := *w
	process.store = newBackend()
	process.store.Backend, process.store.Around = w.store, f.around
	var err error
	process.box, err = mailbox.New(mailbox.Options{
		Env: o.env, Store: process.store, Waker: w.queue, Logger: quiet, KeepUsage: o.metering.Keep, Limits: account.Tenants{Default: o.limits},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.stepper = newStepper(t, &process, o)
}

// when finds the times in a line: they depend on how long the pause before another try is.
var when = regexp.MustCompile(` (finished|until) -?\d+,?`)

// outcome is what a world has come to: its log, how its runs ended, what was metered, and
// which effects ran.
func (r *trace) outcome(t *testing.T, w *world) string {
	t.Helper()
	head := w.head(t, key)
	lines := []string{fmt.Sprintf("open %t, due %t, summary of %d records", head.Open(), head.DueAt != 0, head.Summary)}
	if !head.Deleted {
		for _, line := range w.log(t, key) {
			lines = append(lines, r.named(line))
		}
	}
	for _, line := range r.lines {
		if strings.HasPrefix(line, "observed: done") || strings.HasPrefix(line, "usage: ") || strings.HasPrefix(line, "effect ") {
			lines = append(lines, when.ReplaceAllString(line, ""))
		}
	}
	return "\t" + strings.Join(lines, "\n\t") + "\n"
}

// outcomes are what a scenario comes to without a fault, and what else with which faults: of
// a warm process those of writes, and of one whose every step reads the thread anew all.
func outcomes(t *testing.T, name string, scenario func(t *testing.T) traced) string {
	order, faults := []string{}, map[string][]string{}
	play := func(f *faulty) {
		synctest.Test(t, func(t *testing.T) {
			tt := scenario(t)
			if !f.writes {
				tt.options.cache = 1 // no step finds what the one before has read
			}
			w, r := newTraced(t, tt, true)
			f.start(t, w, r.options)
			tt.run(t, w, r)
			got, label := r.outcome(t, w), r.named(f.failed)
			if faults[got] == nil {
				order, faults[got] = append(order, got), []string{}
			}
			if f.after {
				label += " (done)"
			}
			if !slices.Contains(faults[got], label) {
				faults[got] = append(faults[got], label)
			}
		})
	}
	for _, writes := range []bool{true, false} {
		play(&faulty{writes: writes})
		for n := 1; ; n++ {
			f := &faulty{n: n, writes: writes}
			if play(f); f.failed == "" {
				break
			}
			if !f.read {
				play(&faulty{n: n, writes: writes, after: true})
			}
		}
	}
	var text strings.Builder
	for i, got := range order {
		title := name
		if i > 0 {
			slices.Sort(faults[got])
			title += "; it fails at " + strings.Join(faults[got], ", ")
		}
		fmt.Fprintf(&text, "# %s\n%s\n", title, got)
	}
	return text.String()
}

// Whichever operation of the store fails in a step, whether the store has done it or not, a
// run comes to the same end, but for what testdata/faults.txt lists. So does one whose every
// step reads the thread anew.
func TestWhicheverOperationOfTheStoreFailsARunEndsAlike(t *testing.T) {
	var got bytes.Buffer
	scenario := func(t *testing.T, name string, make func(t *testing.T) traced) {
		t.Run(name, func(t *testing.T) {
			got.WriteString(outcomes(t, name, make))
		})
	}
	for i, tt := range tracedEnds() {
		if !tt.endless {
			scenario(t, tt.name, func(*testing.T) traced { return tracedEnds()[i] })
		}
	}
	for i, tt := range faultedWays(t) {
		scenario(t, tt.name, func(t *testing.T) traced { return faultedWays(t)[i] })
	}
	path := filepath.Join("testdata", "faults.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
