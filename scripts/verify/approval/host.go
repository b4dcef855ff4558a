package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// host is the local host over its lives, on one file.
type host struct {
	binary, data string
	url          string // of the current life
	command      *exec.Cmd
}

// start begins a life and waits until it listens.
func (h *host) start(ctx context.Context) error {
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
			h.url, _, _ = strings.Cut(rest, " ")
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
func (h *host) kill() {
	if h.command == nil {
		return
	}
	_ = h.command.Process.Kill() // it may have ended by itself
	_ = h.command.Wait()         // a killed process ends with an error
	h.command = nil
}
