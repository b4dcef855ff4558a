// Command simmutants plants errors in the runtime, one at a time, and looks
// whether the simulator finds each: a mutant that survives is an invariant that
// is missing. The errors stand in mutants.go, as replacements of source text.
//
//	go run ./scripts/simmutants              # all
//	go run ./scripts/simmutants -only NAME   # one
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

// mutant is one planted error: Old stands once in File and becomes New.
type mutant struct{ Name, File, Old, New string }

// patience is for one mutant's worlds.
const patience = 10 * time.Minute

func main() {
	only := flag.String("only", "", "the one mutant to try")
	worlds := flag.Int("seeds", 5_200, "worlds in which a mutant must be found")
	check := flag.Bool("check", false, "only check that every replacement fits the source")
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
	mu       sync.Mutex
	survived int
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
	source, err := os.ReadFile(m.File)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		return "", fmt.Errorf("the text to replace stands %d times in %s", n, m.File)
	}
	if t.check {
		return "fits", nil
	}
	changed := filepath.Join(folder, filepath.Base(m.File))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.Old, m.New, 1)), 0o644); err != nil {
		return "", err
	}
	original, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	plan, binary := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "sim")
	if err := os.WriteFile(plan, overlay, 0o644); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", plan, "-o", binary, "./scripts/sim").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return t.run(binary)
}

func (t *trial) run(binary string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "-first", "-seed0", "0", "-seeds", fmt.Sprint(t.worlds)).CombinedOutput()
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
