package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// program says on a file that it begins and that it ends, as its version.
const program = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func say(what string) {
	f, err := os.OpenFile("said.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, what, "VERSION")
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	say("begin")
	<-signals
	say("end")
}
`

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	file := filepath.Join(folder, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// journal is a log that a test reads while it is written.
type journal struct {
	mu   sync.Mutex
	text string
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text += string(p)
	return len(p), nil
}

// await waits for a text behind the last one that was waited for.
func (j *journal) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		j.mu.Lock()
		_, rest, found := strings.Cut(j.text, text)
		if found {
			j.text = rest
		}
		had := j.text
		j.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute the log has no %q:\n%s", text, had)
		}
	}
}

// start runs a reloader on a folder until the test ends.
func start(t *testing.T, folder string, agents ...string) (log *journal, signals chan os.Signal, ended chan error) {
	t.Helper()
	log, signals, ended = &journal{}, make(chan os.Signal), make(chan error, 1)
	r := &reloader{folder: folder, target: ".", binary: filepath.Join(t.TempDir(), "tiny"), log: log, environ: append(os.Environ(), "GOFLAGS="), agents: strings.Join(agents, "")}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- r.run(ctx, signals, 10*time.Millisecond); close(ended) }()
	t.Cleanup(func() {
		cancel()
		for range ended { // the process has ended, then
		}
	})
	return log, signals, ended
}

// said waits until the programs have said that many lines.
func said(t *testing.T, folder string, lines int) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(folder, "said.txt")) // not there yet
		got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		if len(got) >= lines && got[0] != "" {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute there are %q, want %d lines", got, lines)
		}
	}
}

// What is saved is built, and then takes the place of what ran, which has ended by
// then. What does not compile, and a test, change nothing.
func TestASaveSwapsTheProcessOnceItBuilds(t *testing.T) {
	folder := t.TempDir()
	version := func(v string) string { return strings.Replace(program, "VERSION", v, 1) }
	write(t, folder, "go.mod", "module example.com/tiny\n\ngo 1.26\n")
	write(t, folder, "main.go", version("one"))
	log, signals, ended := start(t, folder)
	log.await(t, "built in")
	said(t, folder, 1)
	write(t, folder, "main_test.go", "package main\n")
	write(t, folder, "main.go", version("two")+"!")
	log.await(t, "build failed, the running process continues")
	log.await(t, "main.go:")
	write(t, folder, "main.go", version("three"))
	log.await(t, "built in")
	want := []string{"begin one", "end one", "begin three"}
	if diff := cmp.Diff(want, said(t, folder, 3)); diff != "" {
		t.Errorf("what the programs said (-want +got):\n%s", diff)
	}
	signals <- os.Interrupt
	log.await(t, "interrupt: waiting for the process to exit")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want, "end three"), said(t, folder, 4)); diff != "" {
		t.Errorf("what the programs said at last (-want +got):\n%s", diff)
	}
}

// A process that ends by itself is started again on the next save.
func TestAProcessThatHasEndedComesBackOnASave(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "go.mod", "module example.com/tiny\n\ngo 1.26\n")
	write(t, folder, "main.go", "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(3) }\n")
	log, signals, ended := start(t, folder)
	log.await(t, "the process has exited (exit status 3)")
	write(t, folder, "main.go", strings.Replace(program, "VERSION", "two", 1))
	said(t, folder, 1)
	signals <- os.Interrupt
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"begin two", "end two"}, said(t, folder, 2)); diff != "" {
		t.Errorf("what the program said (-want +got):\n%s", diff)
	}
}

// A file of agents outside of the module is watched, too. One with an error changes nothing.
func TestASavedAgentSwapsTheProcess(t *testing.T) {
	folder, agents := t.TempDir(), filepath.Join(t.TempDir(), ".agents")
	write(t, folder, "go.mod", "module example.com/tiny\n\ngo 1.26\n")
	write(t, folder, "main.go", strings.Replace(program, "VERSION", "one", 1))
	write(t, agents, "a.yaml", "id: a\nmodel: default\n")
	log, signals, ended := start(t, folder, agents)
	log.await(t, "built in")
	said(t, folder, 1)
	write(t, agents, "a.yaml", "id: a\nmodels: default\n")
	log.await(t, "the agents cannot be read, the running process continues")
	log.await(t, `a.yaml:2:1: unknown field "models", did you mean "model"?`)
	write(t, agents, "a.yaml", "id: a\nmodel: default\nmax_rounds: 3\n")
	log.await(t, "built in")
	said(t, folder, 3)
	write(t, agents, "b.yaml", "id: b\nmodel: default\n")
	log.await(t, "built in")
	if diff := cmp.Diff([]string{"begin one", "end one", "begin one", "end one", "begin one"}, said(t, folder, 5)); diff != "" {
		t.Errorf("what the programs said (-want +got):\n%s", diff)
	}
	signals <- os.Interrupt
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestTheTreeIsWhatRunsDependsOn(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{
		"go.mod", "go.sum", "main.go", "main_test.go", "README.md", "app/triggers.json", "app/environment", "app/agents/a.yaml", "app/.#app.go",
		".git/config.json", ".reveille/x.json", "page/package.json", "page/src/x.json", "node_modules/a.json", "app/testdata/x.go", "_old/x.go",
	} {
		write(t, folder, name, "x")
	}
	tree, err := readTree(folder, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for name := range tree {
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(relative))
	}
	slices.Sort(got)
	want := []string{"app/agents/a.yaml", "app/environment", "app/triggers.json", "go.mod", "go.sum", "main.go"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of the tree (-want +got):\n%s", diff)
	}
}
