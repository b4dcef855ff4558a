package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// host is the program under load.
type host struct {
	url     string
	command *exec.Cmd
	log     string // the path of its log
}

// startTime bounds the start of the host.
const startTime = 15 * time.Second

// startHost starts the host and waits until it logs its address.
func startHost(ctx context.Context, binary, folder string) (*host, error) {
	h := &host{log: filepath.Join(folder, "log")}
	log, err := os.Create(h.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the host has it, too
	h.command = exec.CommandContext(ctx, binary)
	h.command.Env = append(environment(), "REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA="+filepath.Join(folder, "data.db"))
	h.command.Stderr = log
	if err := h.command.Start(); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(h.log)
		if err != nil {
			return nil, errors.Join(err, h.stop())
		}
		if _, rest, found := strings.Cut(string(text), "msg=listening url="); found {
			h.url = strings.Fields(rest)[0]
			return h, nil
		}
	}
	text, _ := os.ReadFile(h.log)
	return nil, errors.Join(fmt.Errorf("the host did not start:\n%s", text), h.stop())
}

// stop ends the host, and returns an error with the first error in its log.
func (h *host) stop() error {
	_ = h.command.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	err := h.command.Wait()
	if err != nil {
		err = fmt.Errorf("the host ended: %w", err)
	}
	log, openErr := os.Open(h.log)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	defer log.Close()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.Contains(lines.Text(), "level=ERROR") {
			return errors.Join(err, errors.New("the host has logged: "+lines.Text()))
		}
	}
	return err
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
