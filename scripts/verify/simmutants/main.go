// Command simmutants plants errors in the runtime, one at a time, and looks
// whether the simulator finds each: a mutant that survives is an invariant that
// is missing. The errors are replacements of source text; mutants.go lists them.
//
//	go run ./scripts/verify/simmutants              # all
//	go run ./scripts/verify/simmutants -only NAME   # one
//	go run ./scripts/verify/simmutants -check       # do all of them fit the source, and compile?
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// mutant is one planted error: Old stands once in File and becomes New. Some need
// more than one change.
type mutant struct {
	Name, File, Old, New string
	Also                 []change
	Day                  bool // it is found in days of tenants, not in the worlds of one
}

// change is one replacement of source text.
type change struct{ File, Old, New string }

// apply returns the changed files: the path of each, and what it becomes.
func (m mutant) apply() (map[string]string, error) {
	files := map[string]string{}
	for _, c := range append([]change{{m.File, m.Old, m.New}}, m.Also...) {
		text, ok := files[c.File]
		if !ok {
			source, err := os.ReadFile(c.File)
			if err != nil {
				return nil, err
			}
			text = string(source)
		}
		if n := strings.Count(text, c.Old); n != 1 {
			return nil, fmt.Errorf("the text to replace stands %d times in %s", n, c.File)
		}
		files[c.File] = strings.Replace(text, c.Old, c.New, 1)
	}
	return files, nil
}

// patience is for one mutant's worlds.
const patience = time.Hour

// allWorlds is how many worlds `make sim` simulates. Most mutants are found in the first
// fifty worlds, a few only after the ten thousandth.
const allWorlds = 20_000

func main() {
	only := flag.String("only", "", "`name` of the only mutant to run")
	worlds := flag.Int("seeds", allWorlds, "number of worlds in which the simulator must find a mutant")
	check := flag.Bool("check", false, "only check that every replacement fits the source and compiles")
	flag.Parse()
	scratch, err := os.MkdirTemp("", "simmutants")
	if err != nil {
		fail(err)
	}
	defer os.RemoveAll(scratch)
	t := trial{scratch: scratch, worlds: *worlds, check: *check}
	queue := make(chan int)
	var group sync.WaitGroup
	for range max(1, runtime.GOMAXPROCS(0)/2) { // the worlds take every core
		group.Go(func() {
			for i := range queue {
				t.try(i, mutants[i])
			}
		})
	}
	tried := 0
	for i, m := range mutants {
		if *only == "" || m.Name == *only {
			queue <- i
			tried++
		}
	}
	close(queue)
	group.Wait()
	fmt.Printf("mutants=%d found=%d survived=%d\n", tried, tried-t.survived, t.survived)
	if t.survived > 0 || tried == 0 {
		os.RemoveAll(scratch)
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// trial is a run over many mutants.
type trial struct {
	scratch  string
	worlds   int
	check    bool
	mu       sync.Mutex // guards what follows
	survived int
	compiler *compiler // of a check, made for the first
}

// compile is the error of a mutant that does not compile.
func (t *trial) compile(files map[string]string) (err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.compiler == nil {
		if t.compiler, err = newCompiler(); err != nil {
			return err
		}
	}
	return t.compiler.check(files)
}

func (t *trial) try(i int, m mutant) {
	start := time.Now()
	found, err := t.find(filepath.Join(t.scratch, fmt.Sprint(i)), m)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		t.survived++
		fmt.Printf("%-58s ERROR %v\n", m.Name, err)
	case found == "" && !t.check:
		t.survived++
		fmt.Printf("%-58s SURVIVED %d worlds\n", m.Name, t.worlds)
	default:
		fmt.Printf("%-58s %6s %s\n", m.Name, time.Since(start).Round(100*time.Millisecond), found)
	}
}

// find builds the simulator with the mutant and runs it. It returns the first
// violation, "" when there was none.
func (t *trial) find(folder string, m mutant) (string, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	files, err := m.apply()
	if err != nil {
		return "", err
	}
	if t.check {
		return "fits", t.compile(files)
	}
	replace := map[string]string{}
	for file, text := range files {
		changed := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", err
		}
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[original] = changed
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	plan, binary := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "sim")
	if err := os.WriteFile(plan, overlay, 0o644); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", plan, "-o", binary, "./scripts/verify/sim").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return t.run(binary, m.Day)
}

func (t *trial) run(binary string, day bool) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	worlds := []string{"-seeds", fmt.Sprint(t.worlds)}
	if day {
		worlds = []string{"-day", "150", "-seeds", "8"}
	}
	out, err := exec.CommandContext(ctx, binary, append(worlds, "-first", "-seed0", "0")...).CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", errors.New("a world does not come to an end")
	case err == nil:
		return "", nil
	case errors.As(err, &exit) && strings.HasPrefix(line, "world "):
		return line[:min(len(line), 200)], nil
	}
	return "", fmt.Errorf("%w: %.400s", err, out)
}
