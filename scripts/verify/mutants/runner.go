package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// verdict is what became of a mutant.
type verdict string

const (
	killed     verdict = "killed"
	survived   verdict = "survived"
	equivalent verdict = "equivalent"
	broken     verdict = "does-not-compile"
)

// result of one mutant. by names the suite that killed it, or why it is
// equivalent.
type result struct {
	*mutant
	verdict verdict
	by      string
	took    time.Duration
}

// runner builds and runs tests. It is safe for concurrent use after baseline.
type runner struct {
	root     string
	scratch  string // a separate folder, with one more for each mutant
	suites   map[string][]suite
	patience time.Duration
	took     map[suite]time.Duration // without a mutant
	content  map[string]string       // of each mutated package, as compiled
}

// memory bounds a test's address space in KiB: a loop that allocates without end
// must not take the machine along.
const memory = 4 << 20

// limit is the time after which a test counts as hung. It is generous, since the machine
// may do other work at the same time.
func (r *runner) limit(s suite) time.Duration { return r.patience + 5*r.took[s] }

// baseline runs every suite without a mutant: all must pass. It skips suites whose package
// does not exist, and returns them.
func (r *runner) baseline(ctx context.Context, units []*unit) (missing []string, err error) {
	for _, u := range units {
		var here []suite
		for _, s := range r.suites[u.name] {
			if _, err := os.Stat(filepath.Join(r.root, s.name)); err != nil {
				missing = append(missing, s.name)
				continue
			}
			here = append(here, s)
			if r.took[s] != 0 {
				continue
			}
			binary, err := r.build(ctx, r.scratch, "", s)
			if err != nil {
				return nil, err
			}
			start := time.Now()
			if failure, err := r.test(ctx, binary, s, 10*time.Minute); err != nil || failure != "" {
				return nil, errors.Join(fmt.Errorf("the tests of %s fail without a mutant: %s", s, failure), err)
			}
			r.took[s] = time.Since(start)
		}
		if len(here) == 0 {
			return nil, fmt.Errorf("no tests are named for %s", u.name)
		}
		r.suites[u.name] = order(u.name, here, r.took)
		if r.content[u.name], err = r.compiled(ctx, "", u); err != nil {
			return nil, err
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}

// try runs a mutant until a suite kills it.
func (r *runner) try(ctx context.Context, m *mutant) (result, error) {
	start := time.Now()
	done := func(v verdict, by string) (result, error) { return result{m, v, by, time.Since(start)}, ctx.Err() }
	folder, err := os.MkdirTemp(r.scratch, "mutant")
	if err != nil {
		return result{}, err
	}
	defer os.RemoveAll(folder)
	overlay, err := writeOverlay(folder, m)
	if err != nil {
		return result{}, err
	}
	for i, s := range r.suites[m.code.unit.name] {
		binary, err := r.build(ctx, folder, overlay, s)
		if err != nil {
			return done(broken, err.Error())
		}
		failure, err := r.test(ctx, binary, s, r.limit(s))
		if err != nil {
			return result{}, err
		}
		if failure != "" {
			return done(killed, s.String()+": "+failure)
		}
		if i > 0 {
			continue
		}
		if content, err := r.compiled(ctx, overlay, m.code.unit); err != nil {
			return done(broken, err.Error())
		} else if content == r.content[m.code.unit.name] {
			return done(equivalent, "compiles to the same code")
		}
	}
	return done(survived, "")
}

// writeOverlay writes the mutated file and what `go build -overlay` reads.
func writeOverlay(folder string, m *mutant) (string, error) {
	changed := filepath.Join(folder, "mutant.go")
	if err := os.WriteFile(changed, []byte(m.edit.apply(m.code.text)), 0o600); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {m.code.file: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// build makes a suite's test binary. Without its debug information it links in
// half the time.
func (r *runner) build(ctx context.Context, folder, overlay string, s suite) (binary string, err error) {
	binary = filepath.Join(folder, strings.ReplaceAll(s.name, "/", "_")+".test")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil // the same tests without -short
	}
	_, err = output(ctx, r.root, "go", "test", "-c", "-p", "1", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", binary, "./"+s.name)
	return binary, err
}

// compiled returns the hash of the compiled package.
func (r *runner) compiled(ctx context.Context, overlay string, u *unit) (string, error) {
	out, err := output(ctx, r.root, "go", "list", "-export", "-overlay", overlay, "-f", "{{.BuildID}}", "./"+u.name)
	if err != nil {
		return "", err
	}
	_, content, _ := strings.Cut(strings.TrimSpace(string(out)), "/") // action/content
	return content, nil
}

// test runs a test binary in its package's folder. failure is "" when it
// passes, else the first test that failed, or that the time was over.
func (r *runner) test(ctx context.Context, binary string, s suite, limit time.Duration) (failure string, err error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	script := fmt.Sprintf("ulimit -v %d 2>/dev/null; exec \"$0\" \"$@\"", memory)
	c := exec.CommandContext(within, "sh", "-c", script, binary, "-test.failfast", fmt.Sprintf("-test.short=%t", !s.long), "-test.timeout=0")
	c.Dir = filepath.Join(r.root, s.name)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // with what it started
	c.WaitDelay = time.Second
	var text head
	c.Stdout, c.Stderr = &text, &text
	err = c.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case within.Err() != nil:
		return fmt.Sprintf("not over after %s", limit.Round(time.Second)), nil
	case errors.As(err, &exit):
		return text.reason(), nil
	}
	return "", err
}

// head keeps the beginning of what a test prints: a mutant may print without
// end.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	if h.Len() < 1<<20 {
		h.Buffer.Write(b)
	}
	return len(b), nil
}

// reason is the first test that failed, or the panic.
func (h *head) reason() string {
	for line := range strings.Lines(h.String()) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return "exit without output"
}
