package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// enough is the score under which a run fails, in percent.
const enough = 95

// run does what the options ask for and prints it; an error is a run that must
// not pass.
func run(ctx context.Context, o options, out io.Writer) error {
	reasons, err := readEquivalents(o.equivalent)
	if err != nil {
		return err
	}
	units, err := load(ctx, o.root, o.packages)
	if err != nil {
		return err
	}
	var all []*mutant
	for _, u := range units {
		mutants, err := u.mutants()
		if err != nil {
			return err
		}
		all = append(all, mutants...)
	}
	stale := printStale(out, o, units, all, reasons)
	chosen, left := choose(o, all, reasons)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%s:%d %s\n  - %s\n  + %s\n", m.file, m.line, m.operator, m.before, m.after)
		}
		fmt.Fprintf(out, "mutants=%d, %d more do not compile\n", len(chosen), left)
		return nil
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &runner{root: o.root, scratch: scratch, suites: maps.Clone(o.suites), took: map[suite]time.Duration{}, content: map[string]string{}}
	missing, err := r.baseline(ctx, units)
	if err != nil {
		return err
	}
	for _, u := range units {
		fmt.Fprintf(out, "%s: killed by %v\n", u.name, r.suites[u.name])
	}
	for _, name := range missing {
		fmt.Fprintf(out, "%s does not exist and kills nothing\n", name)
	}
	fmt.Fprintf(out, "seed %d: %d of %d mutants, %d at a time\n", o.seed, len(chosen), len(all), o.workers)
	s := score{out: out, reasons: reasons, check: o.equivalents, stale: stale}
	late, err := s.all(ctx, r, o, chosen)
	if err != nil {
		return err
	}
	return s.finish(late)
}

// printStale names the entries of equivalent.txt that match nothing any more.
func printStale(out io.Writer, o options, units []*unit, all []*mutant, reasons map[identity]string) (stale int) {
	exists := map[identity]bool{}
	for _, m := range all {
		exists[m.identity] = true
	}
	for id := range reasons {
		mine := slices.ContainsFunc(units, func(u *unit) bool { return strings.HasPrefix(id.file, u.name+"/") })
		if mine && !exists[id] {
			fmt.Fprintf(out, "stale in equivalent.txt, no such mutant:\n%s\n", id)
			stale++
		}
	}
	return stale
}

// choose draws the sample of mutants that compile. left counts those that do
// not and were passed over.
func choose(o options, all []*mutant, reasons map[identity]string) (chosen []*mutant, left int) {
	file, lineText, _ := strings.Cut(o.only, ":")
	line, _ := strconv.Atoi(lineText)
	slices.SortFunc(all, func(a, b *mutant) int { return cmp.Compare(a.rank(o.seed), b.rank(o.seed)) })
	for _, m := range all {
		if o.only != "" && (m.file != file || line != 0 && m.line != line) {
			continue
		}
		if _, listed := reasons[m.identity]; o.equivalents && !listed {
			continue
		}
		if o.only == "" && !o.equivalents && o.count > 0 && len(chosen) == o.count {
			break
		}
		if !m.compiles() {
			left++
			continue
		}
		chosen = append(chosen, m)
	}
	if o.list || o.only != "" {
		slices.SortStableFunc(chosen, func(a, b *mutant) int {
			return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.edit.start, b.edit.start))
		})
	}
	return chosen, left
}

// score counts verdicts and prints them.
type score struct {
	out     io.Writer
	reasons map[identity]string
	check   bool // the mutants are those that are called equivalent
	stale   int

	mutex   sync.Mutex
	count   map[verdict]int
	results []result // those that survived
}

// all runs the mutants, so many at a time. late counts those that the time did
// not reach.
func (s *score) all(ctx context.Context, r *runner, o options, chosen []*mutant) (late int, err error) {
	s.count = map[verdict]int{}
	deadline := time.Now().Add(o.within)
	queue := make(chan *mutant, len(chosen))
	for _, m := range chosen {
		queue <- m
	}
	close(queue)
	errs := make([]error, max(1, o.workers))
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			for m := range queue {
				if o.within > 0 && time.Now().After(deadline) {
					s.mutex.Lock()
					late++
					s.mutex.Unlock()
					continue
				}
				if errs[i] = s.one(ctx, r, m); errs[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return late, errors.Join(errs...)
}

func (s *score) one(ctx context.Context, r *runner, m *mutant) error {
	got := result{mutant: m, verdict: equivalent, by: s.reasons[m.identity]}
	if got.by == "" || s.check {
		var err error
		if got, err = r.try(ctx, m); err != nil {
			return err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.count[got.verdict]++
	fmt.Fprintf(s.out, "%-10s %5.1fs %s:%d %s: %s => %s", got.verdict, got.took.Seconds(), m.file, m.line, m.operator, m.before, m.after)
	if got.by != "" {
		fmt.Fprintf(s.out, " (%s)", got.by)
	}
	fmt.Fprintln(s.out)
	if got.verdict == survived {
		s.results = append(s.results, got)
	}
	return nil
}

// finish prints the survivors as equivalent.txt would have them, and the score.
func (s *score) finish(late int) error {
	if s.check {
		fmt.Fprintf(s.out, "equivalent=%d killed=%d stale=%d\n", s.count[survived]+s.count[equivalent], s.count[killed], s.stale)
		if s.count[killed]+s.stale > 0 {
			return errors.New("equivalent.txt lists mutants that a test kills, or that do not exist")
		}
		return nil
	}
	slices.SortFunc(s.results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	for _, r := range s.results {
		fmt.Fprintf(s.out, "\n%s\n", r.identity)
	}
	judged := s.count[killed] + s.count[survived]
	percent := 100.0
	if judged > 0 {
		percent = 100 * float64(s.count[killed]) / float64(judged)
	}
	fmt.Fprintf(s.out, "\nmutants=%d killed=%d survived=%d equivalent=%d score=%.1f%%\n",
		judged+s.count[equivalent], s.count[killed], s.count[survived], s.count[equivalent], percent)
	switch {
	case late > 0:
		return fmt.Errorf("the time was over before %d mutants", late)
	case judged == 0:
		return errors.New("no mutant was run")
	case percent < enough:
		return fmt.Errorf("the score is under %d %%", enough)
	}
	return nil
}
