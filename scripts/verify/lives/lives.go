// Package lives starts and kills the local host of the demo, for programs that show what
// outlives its processes.
package lives

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// Host is the local host over its lives, on one file. [Show] makes it.
type Host struct {
	URL string // of the current life

	binary, data string
	command      *exec.Cmd
}

// Show builds the host, starts its first life in a temporary folder, and calls show with it.
// Afterwards the host is killed and the folder removed. name is that of the program.
func Show(name string, patience time.Duration, show func(context.Context, *Host) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := run(ctx, name, show); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name string, show func(context.Context, *Host) error) error {
	folder, err := os.MkdirTemp("", "reveille-"+name)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a temporary folder
	h := &Host{binary: filepath.Join(folder, "dev"), data: filepath.Join(folder, "data.db")}
	build := exec.CommandContext(ctx, "go", "build", "-o", h.binary, "./scripts/user/demo")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the host: %w\n%s", err, out)
	}
	defer h.kill()
	if err := h.start(ctx); err != nil {
		return err
	}
	return show(ctx, h)
}

// Restart kills the current life by SIGKILL and starts the next one on the same file.
func (h *Host) Restart(ctx context.Context) error {
	h.kill()
	Say("the host was killed (SIGKILL)")
	if err := h.start(ctx); err != nil {
		return err
	}
	Say("the host was started again on the same file")
	return nil
}

// Say prints a line of the show.
func Say(format string, a ...any) { fmt.Printf(format+"\n", a...) }

// Do sends a request and returns the body of a 2xx.
func Do(r *http.Request) ([]byte, error) {
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: status %d: %s", r.Method, r.URL.Path, response.StatusCode, body)
	}
	return body, err
}

// start begins a life and waits until it listens.
func (h *Host) start(ctx context.Context) error {
	command := exec.CommandContext(ctx, h.binary)
	command.Env = append(environment(), "REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA="+h.data)
	log, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	h.command = command
	var printed strings.Builder
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening url="); ok {
			h.URL, _, _ = strings.Cut(rest, " ")
			go func() { _, _ = io.Copy(io.Discard, log) }() // ends with the process
			return nil
		}
		fmt.Fprintln(&printed, lines.Text())
	}
	h.kill()
	return errors.New("the host did not start:\n" + printed.String())
}

// environment is the caller's without what would configure the host, which needs no key.
func environment() (kept []string) {
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REVEILLE_") {
			kept = append(kept, pair)
		}
	}
	return append(kept, "REVEILLE_MODEL=scripted")
}

// kill ends the current life by SIGKILL and waits for its end.
func (h *Host) kill() {
	if h.command == nil {
		return
	}
	_ = h.command.Process.Kill() // it may have ended by itself
	_ = h.command.Wait()         // a killed process ends with an error
	h.command = nil
}
