package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// enough is the score under which a run fails, in percent.
const enough = 95

// sizeable is how many mutants of one package make its own score count.
const sizeable = 60

// plan is what a run is about.
type plan struct {
	units   []*unit
	total   int // of mutants, those that do not compile included
	chosen  []*mutant
	left    int                 // passed over, since they do not compile
	reasons map[identity]string // of the equivalent
	stale   []identity          // entries of the two lists that match nothing
}

// run does what the options ask for and prints it; an error is a run that must
// not pass.
func run(ctx context.Context, o options, out io.Writer) error {
	p, err := newPlan(ctx, o)
	if err != nil {
		return err
	}
	for _, id := range p.stale {
		fmt.Fprintf(out, "stale, there is no such mutant:\n%s\n", id)
	}
	if o.list {
		for _, m := range p.chosen {
			fmt.Fprintf(out, "%s:%d %s\n  - %s\n  + %s\n", m.file, m.line, m.operator, m.before, m.after)
		}
		fmt.Fprintf(out, "mutants=%d, %d more do not compile\n", len(p.chosen), p.left)
		return nil
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &runner{
		root: o.root, scratch: scratch, suites: maps.Clone(o.suites), patience: o.patience,
		took: map[suite]time.Duration{}, content: map[string]string{},
	}
	absent, err := r.baseline(ctx, p.units)
	if err != nil {
		return err
	}
	for _, u := range p.units {
		fmt.Fprintf(out, "%s: killed by %v\n", u.name, r.suites[u.name])
	}
	for _, name := range absent {
		fmt.Fprintf(out, "%s does not exist and kills nothing\n", name)
	}
	fmt.Fprintf(out, "seed %d: %d of %d mutants, %d at a time\n", o.seed, len(p.chosen), p.total, o.workers)
	s := score{out: out, reasons: p.reasons, check: o.equivalents, stale: len(p.stale)}
	late, err := s.all(ctx, r, o, p.chosen)
	if err != nil {
		return err
	}
	return s.finish(late)
}

func newPlan(ctx context.Context, o options) (p plan, err error) {
	if p.reasons, err = readEntries(o.equivalent); err != nil {
		return p, err
	}
	byHand, err := readEntries(o.named)
	if err != nil {
		return p, err
	}
	if o.narrow {
		maps.DeleteFunc(byHand, func(id identity, _ string) bool { return !slices.Contains(o.packages, path.Dir(id.file)) })
	}
	packages := slices.Clone(o.packages)
	for id := range byHand {
		packages = append(packages, path.Dir(id.file))
	}
	slices.Sort(packages)
	if p.units, err = load(ctx, o.root, slices.Compact(packages)); err != nil {
		return p, err
	}
	var all []*mutant
	for _, u := range p.units {
		if !slices.Contains(o.packages, u.name) {
			continue // named mutants only
		}
		mutants, err := u.mutants()
		if err != nil {
			return p, err
		}
		all = append(all, mutants...)
	}
	p.stale = missing(o.packages, all, p.reasons)
	named, stale := makeNamed(byHand, p.units)
	p.stale = append(p.stale, stale...)
	all = append(all, named...)
	p.total = len(all)
	p.chosen, p.left = choose(o, all, p.reasons)
	return p, nil
}

// missing returns the entries of equivalent.txt that match nothing any more.
func missing(packages []string, all []*mutant, reasons map[identity]string) (gone []identity) {
	exists := map[identity]bool{}
	for _, m := range all {
		exists[m.identity] = true
	}
	for id := range reasons {
		if slices.Contains(packages, path.Dir(id.file)) && !exists[id] {
			gone = append(gone, id)
		}
	}
	return gone
}

// choose draws the sample of mutants that compile, in addition to those with a name.
// left counts those that do not compile and were skipped.
func choose(o options, all []*mutant, reasons map[identity]string) (chosen []*mutant, left int) {
	slices.SortFunc(all, func(a, b *mutant) int { return cmp.Compare(a.rank(o.seed), b.rank(o.seed)) })
	drawn := 0
	for _, m := range all {
		_, listed := reasons[m.identity]
		switch {
		case o.only != "" && !slices.ContainsFunc(strings.Split(o.only, ","), m.at):
			continue
		case o.equivalents:
			if !listed {
				continue
			}
		case !m.named && o.count > 0 && drawn == o.count:
			continue
		}
		if !m.compiles() {
			left++
			continue
		}
		chosen = append(chosen, m)
		if !m.named {
			drawn++
		}
	}
	if o.list {
		slices.SortFunc(chosen, inOrder)
	}
	return chosen, left
}

// inOrder compares mutants by where they are.
func inOrder(a, b *mutant) int {
	return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.edit.start, b.edit.start), cmp.Compare(a.String(), b.String()))
}

// at reports whether the mutant is at a file, file:line or file:function.
func (m *mutant) at(place string) bool {
	file, spot, narrow := strings.Cut(place, ":")
	if m.file != file {
		return false
	}
	method := m.where[strings.LastIndexByte(m.where, '.')+1:]
	return !narrow || spot == strconv.Itoa(m.line) || spot == m.where || spot == method
}

// score counts verdicts and prints them.
type score struct {
	out     io.Writer
	reasons map[identity]string
	check   bool // the mutants are those that are called equivalent
	stale   int

	mutex   sync.Mutex
	count   map[verdict]int
	each    map[string]map[verdict]int // by package
	results []result                   // those that survived
}

// all runs the mutants, so many at a time. late counts those that the time did
// not reach.
func (s *score) all(ctx context.Context, r *runner, o options, chosen []*mutant) (late int, err error) {
	s.count, s.each = map[verdict]int{}, map[string]map[verdict]int{}
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
	if s.each[m.code.unit.name] == nil {
		s.each[m.code.unit.name] = map[verdict]int{}
	}
	s.each[m.code.unit.name][got.verdict]++
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
			return errors.New("equivalent.txt lists mutants that a test kills, or a list has some that do not exist")
		}
		return nil
	}
	slices.SortFunc(s.results, func(a, b result) int {
		return inOrder(a.mutant, b.mutant)
	})
	for _, r := range s.results {
		fmt.Fprintf(s.out, "\n%s\n", r.identity)
	}
	poor := s.packages()
	judged, percent := scoreOf(s.count)
	fmt.Fprintf(s.out, "\nmutants=%d killed=%d survived=%d equivalent=%d score=%.1f%%\n",
		judged+s.count[equivalent], s.count[killed], s.count[survived], s.count[equivalent], percent)
	if i := slices.IndexFunc(s.results, func(r result) bool { return r.named }); i >= 0 {
		return fmt.Errorf("no test kills %s of named.txt", s.results[i].operator)
	}
	switch {
	case late > 0:
		return fmt.Errorf("the time was over before %d mutants", late)
	case judged == 0:
		return errors.New("no mutant was run")
	case percent < enough:
		return fmt.Errorf("the score is under %d %%", enough)
	case len(poor) > 0:
		return fmt.Errorf("the score of %s is under %d %%", strings.Join(poor, ", "), enough)
	}
	return nil
}

// packages prints the score of each package and returns those whose own is too low.
func (s *score) packages() (poor []string) {
	fmt.Fprintln(s.out)
	for _, name := range slices.Sorted(maps.Keys(s.each)) {
		judged, percent := scoreOf(s.each[name])
		fmt.Fprintf(s.out, "%s: killed=%d survived=%d score=%.1f%%\n", name, s.each[name][killed], s.each[name][survived], percent)
		if judged >= sizeable && percent < enough {
			poor = append(poor, name)
		}
	}
	return poor
}

// scoreOf returns how many mutants were judged, and the percentage of the killed.
func scoreOf(count map[verdict]int) (judged int, percent float64) {
	if judged = count[killed] + count[survived]; judged > 0 {
		percent = 100 * float64(count[killed]) / float64(judged)
	}
	return judged, percent
}
