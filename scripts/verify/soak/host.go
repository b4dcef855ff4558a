package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTime = 15 * time.Second // from the start of the process to /health
	stopTime  = 15 * time.Second // from SIGTERM to its end
)

// host is the binary under test, over all its lives.
type host struct {
	binary string
	folder string // of its database, its log and its executions
	addr   string
	log    *os.File

	mu      sync.Mutex
	life    int // number of the current process, from 1
	command *exec.Cmd
	ended   chan struct{} // closed when the current process has ended
	status  error         // what it ended with; read after ended
	kills   []time.Time   // of the SIGKILLs
	terms   int
	leave   context.Context // done when the clients close their streams
	leaving context.CancelFunc

	executions executions
}

func newHost(binary, folder string) (*host, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(folder, "host.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the host's log: %w", err)
	}
	return &host{binary: binary, folder: folder, addr: addr, log: log, executions: executions{path: filepath.Join(folder, "executions")}}, nil
}

func (h *host) url() string { return "http://" + h.addr }

// environment is the caller's without what would configure the host.
func (h *host) environment() []string {
	var kept []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "REVEILLE_") {
			kept = append(kept, pair)
		}
	}
	return append(kept, "REVEILLE_ADDR="+h.addr, "REVEILLE_DATA="+filepath.Join(h.folder, "data.db"),
		"REVEILLE_KEY_FILE="+h.executions.path, "REVEILLE_LOG_LEVEL=info", "REVEILLE_MODEL=scripted")
}

// start begins the next life.
func (h *host) start() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.life++
	fmt.Fprintf(h.log, "=== life %d\n", h.life)
	command := exec.Command(h.binary)
	command.Env, command.Stdout, command.Stderr = h.environment(), h.log, h.log
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the host: %w", err)
	}
	ended := make(chan struct{})
	h.command, h.ended = command, ended
	h.leave, h.leaving = context.WithCancel(context.Background())
	go func() {
		err := command.Wait()
		h.mu.Lock()
		h.status = err
		h.mu.Unlock()
		close(ended)
	}()
	return nil
}

// errHost is a host that did not do what a host must.
var errHost = errors.New("host")

// ready waits until the current life responds.
func (h *host) ready(ctx context.Context) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); {
		select {
		case <-h.ended:
			return fmt.Errorf("%w: life %d ended by itself: %v", errHost, h.life, h.status)
		default:
		}
		if response, err := client.Get(h.url() + "/health"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: life %d did not respond within %s of its start", errHost, h.life, startTime)
}

// end ends the current life as the strike says and waits until it is over.
func (h *host) end(ctx context.Context, s strike) error {
	select {
	case <-h.ended:
		return fmt.Errorf("%w: life %d ended by itself: %v", errHost, h.life, h.status)
	default:
	}
	if s.Term {
		h.signal(syscall.SIGTERM)
		if s.Leave {
			h.leaving()
		}
		if s.Kill {
			_ = pause(ctx, s.Grace) // the kill follows anyway
		}
	}
	if s.Aim > 0 {
		h.aim(s.Aim)
	}
	if s.Kill {
		h.signal(syscall.SIGKILL)
	}
	return h.over(s)
}

// aimTime is how long a strike waits for a tool.
const aimTime = time.Second

// aim returns some time after the next execution of a tool, whose note makes the
// file grow. It looks often: what follows an execution is over in milliseconds.
func (h *host) aim(after time.Duration) {
	size := func() int64 {
		info, err := os.Stat(h.executions.path)
		if err != nil {
			return 0 // no tool has run yet
		}
		return info.Size()
	}
	before := size()
	for deadline := time.Now().Add(aimTime); size() == before && time.Now().Before(deadline); {
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(after)
}

func (h *host) signal(signal os.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fmt.Fprintf(h.log, "=== %s at %s\n", signal, time.Now().Format(time.RFC3339Nano))
	if signal == syscall.SIGKILL {
		h.kills = append(h.kills, time.Now())
	} else {
		h.terms++
	}
	_ = h.command.Process.Signal(signal) // a process that has just ended needs none
}

// over waits for the end of a life and judges it.
func (h *host) over(s strike) error {
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	var late bool
	select {
	case <-h.ended:
	case <-timer.C:
		late = true
		h.signal(syscall.SIGKILL)
		<-h.ended
	}
	h.leaving()
	if err := h.collect(); err != nil {
		return err
	}
	switch {
	case late:
		return fmt.Errorf("%w: life %d had not stopped %s after SIGTERM", errHost, h.life, stopTime)
	case !s.Kill && h.status != nil:
		return fmt.Errorf("%w: life %d ended with %v after SIGTERM", errHost, h.life, h.status)
	}
	return nil
}

// collect reads the executions of tools in the current life of the host. It is called
// before each next life, and on demand.
func (h *host) collect() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.executions.read(h.life)
}

// current is the number of the life that serves now, at the latest.
func (h *host) current() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life
}

// streams returns a context for a stream: it ends with the parent's, or when the
// clients of the current life leave.
func (h *host) streams(ctx context.Context) (context.Context, context.CancelFunc) {
	h.mu.Lock()
	leave := h.leave
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(leave, cancel)
	return ctx, func() { stop(); cancel() }
}

// killsBetween counts the SIGKILLs of a span.
func (h *host) killsBetween(from, to time.Time) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, at := range h.kills {
		if !at.Before(from) && !at.After(to) {
			n++
		}
	}
	return n
}
