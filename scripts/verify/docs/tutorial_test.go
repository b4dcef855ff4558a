//go:build project

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/docs/markdown"
)

// TestTheTutorial does what the tutorial says, part after part, in a copy of this
// repository: its commands as they are written, in one shell's folder, its changes of
// files, its hosts. Only the port is another one. Each output of the document must be in
// the output of its command. The part about AWS is checked by TestBlocksAreChecked alone.
func TestTheTutorial(t *testing.T) {
	r := reader{folder: filepath.Join(t.TempDir(), "reveille"), address: freeAddress(t), ids: map[string]string{}}
	copyRepository(t, r.folder)
	t.Cleanup(func() { r.stop(syscall.SIGTERM) })
	for _, part := range followed {
		name := "functions/tutorial/" + part + ".md"
		start := time.Now()
		for _, b := range markdown.Parse([]byte(read(t, name))).Blocks {
			before := time.Now()
			r.follow(t, b)
			if t.Failed() {
				t.Fatalf("%s:%d: see above", name, b.Line)
			}
			if kind, _, _ := strings.Cut(b.Info, "="); kind != "text output" {
				t.Logf("%s:%d: %s after %v: %s", name, b.Line, b.Info, time.Since(before).Round(time.Millisecond), strings.SplitN(b.Text, "\n", 2)[0])
			}
		}
		t.Logf("%s took %v", name, time.Since(start).Round(time.Millisecond))
	}
}

// reader is a person who follows the tutorial.
type reader struct {
	folder  string // of the shell
	address string // of the hosts, in place of port 3000
	ids     map[string]string
	output  string // of the last command

	host     *exec.Cmd
	ended    chan error // the host has ended
	log      *log
	reloads  bool // the host is make dev
	changed  bool // a file, and the host of that change was not waited for
	listened int  // how often it has said that it listens, as far as was waited for
}

func (r *reader) follow(t *testing.T, b markdown.Block) {
	t.Helper()
	kind, parameter, _ := strings.Cut(b.Info, "=")
	switch kind {
	case "sh step", "sh fails":
		r.step(t, b.Text, kind == "sh fails")
	case "sh host":
		r.serve(t, strings.TrimSpace(b.Text))
	case "go append":
		r.edit(t, parameter, func(text string) string { return text + b.Text })
	case "diff edit":
		r.edit(t, parameter, func(text string) string { return patched(t, text, b.Text) })
	case "text output":
		if missing := missingLine(r.output, b.Text, r.ids); missing != "" {
			t.Errorf("the output does not have the line %q, or not there:\n%s", missing, r.output)
		}
	case "text page":
		r.look(t, parameter, b.Text)
	}
}

// look opens a page of the host in Chromium, which CHROMIUM names or PATH has, and looks for
// lines in it. Without a browser it only logs that.
func (r *reader) look(t *testing.T, address, text string) {
	t.Helper()
	browser := os.Getenv("CHROMIUM")
	if browser == "" {
		browser = "chromium"
	}
	if _, err := exec.LookPath(browser); err != nil {
		t.Logf("the page is not looked at: %v", err)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	address = strings.ReplaceAll(address, "127.0.0.1:3000", r.address)
	page, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=20000", "--dump-dom", address).Output()
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	if missing := missingLine(string(page), text, r.ids); missing != "" {
		t.Errorf("the page %s does not have the line %q, or not there:\n%s", address, missing, page)
	}
}

// step runs commands in the shell's folder, and stays where they went.
func (r *reader) step(t *testing.T, commands string, fails bool) {
	t.Helper()
	if strings.HasPrefix(commands, "pkill ") { // would end the hosts of others, too
		r.stop(syscall.SIGKILL)
		r.output = ""
		return
	}
	if r.reloads && r.changed && strings.HasPrefix(commands, "curl ") {
		r.listen(t) // to the host of the last change
	}
	commands = client{ids: r.ids}.fill(strings.ReplaceAll(commands, "localhost:3000", r.address))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-e", "-c", commands+"\npwd >&3")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.Dir = r.folder
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	where, place, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.ExtraFiles = []*os.File{place}
	err = command.Run()
	_ = place.Close()
	folder, readErr := io.ReadAll(where)
	_ = where.Close()
	r.output = out.String()
	if (err != nil) != fails || readErr != nil {
		t.Fatalf("%s: %v\n%s", commands, errors.Join(err, readErr), r.output)
	}
	if !fails {
		r.folder = strings.TrimSpace(string(folder))
	}
	for name, pattern := range found {
		if all := pattern.FindAllStringSubmatch(r.output, -1); all != nil {
			r.ids[name] = strings.Join(all[len(all)-1][1:], "")
		}
	}
}

// serve starts a host in place of the one that runs, which ends as by Ctrl-C, and waits
// until it listens.
func (r *reader) serve(t *testing.T, command string) {
	t.Helper()
	r.stop(syscall.SIGINT)
	r.host = exec.Command("bash", "-c", "exec "+command)
	r.host.Dir = r.folder
	r.host.Env = append(os.Environ(), "REVEILLE_ADDR="+r.address, "REVEILLE_MODEL=scripted")
	r.host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.log = &log{grows: make(chan struct{}, 1)}
	r.host.Stdout, r.host.Stderr = r.log, r.log
	r.host.WaitDelay = 10 * time.Second
	if err := r.host.Start(); err != nil {
		r.host = nil
		t.Fatal(err)
	}
	host, ended := r.host, make(chan error, 1)
	r.ended = ended
	go func() { ended <- host.Wait() }() // stop waits for it
	r.reloads, r.listened = command == "make dev", 0
	r.listen(t)
	r.output = strings.ReplaceAll(r.log.text(), r.address, "127.0.0.1:3000")
}

// listen waits until the host says once more that it listens.
func (r *reader) listen(t *testing.T) {
	t.Helper()
	want, late := r.listened+1, time.After(3*time.Minute)
	for strings.Count(r.log.text(), "msg=listening") < want {
		select {
		case <-r.log.grows:
		case err := <-r.ended:
			r.host = nil
			t.Fatalf("the host has ended (%v):\n%s", err, r.log.text())
		case <-late:
			t.Fatalf("the host does not listen:\n%s", r.log.text())
		}
	}
	r.listened, r.changed = want, false
}

// stop ends the host that runs and waits for its end.
func (r *reader) stop(signal syscall.Signal) {
	if r.host == nil {
		return
	}
	_ = syscall.Kill(-r.host.Process.Pid, signal)
	<-r.ended
	r.host = nil
}

func (r *reader) edit(t *testing.T, name string, change func(string) string) {
	t.Helper()
	path := filepath.Join(r.folder, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(change(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	r.changed = true
}

// patched is a text whose lines that begin with - in a difference are those that begin with +.
func patched(t *testing.T, text, difference string) string {
	t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(difference) {
		switch line[0] {
		case '-':
			before.WriteString(line[1:])
		case '+':
			after.WriteString(line[1:])
		default:
			t.Fatalf("a line of a difference begins with - or +, this one is %q", line)
		}
	}
	if strings.Count(text, before.String()) != 1 {
		t.Fatalf("the file does not have exactly once:\n%s", before.String())
	}
	return strings.Replace(text, before.String(), after.String(), 1)
}

// log collects what a host prints.
type log struct {
	mu    sync.Mutex
	all   bytes.Buffer
	grows chan struct{} // receives a value after a write
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.grows <- struct{}{}:
	default: // the reader has not looked since the last write
	}
	return l.all.Write(p)
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// copyRepository copies the files of this repository, as a clone would have them.
func copyRepository(t *testing.T, folder string) {
	t.Helper()
	names, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and git does not know yet
		}
		info, statErr := os.Stat(filepath.Join(root, name))
		path := filepath.Join(folder, name)
		if err := errors.Join(err, statErr, os.MkdirAll(filepath.Dir(path), 0o700)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

// freeAddress returns an address that hosts can have one after the other.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

func TestADifferenceIsApplied(t *testing.T) {
	if got := patched(t, "a\nb\nc\n", "-b\n+d\n+e\n"); got != "a\nd\ne\nc\n" {
		t.Errorf("%q", got)
	}
}
