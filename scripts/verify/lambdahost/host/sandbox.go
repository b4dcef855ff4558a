package host

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// sandbox is one process of a function and the Runtime API that it talks to.
type sandbox struct {
	function Function
	host     *Host
	cmd      *exec.Cmd
	server   *http.Server
	next     chan *invocation // taken by the process's request for an event

	ready   chan struct{} // closed by its first such request
	exited  chan struct{} // closed when the process is gone
	exitErr *FunctionError

	mu      sync.Mutex
	started time.Time
	isReady bool
	current *invocation
	usage   usage          // when current began
	init    time.Duration  // from exec to the first request for an event; 0 once reported
	timer   *time.Timer    // kills the process when current takes too long
	cause   *FunctionError // why it was killed
}

func newSandbox(f Function, h *Host) *sandbox {
	return &sandbox{function: f, host: h, next: make(chan *invocation), ready: make(chan struct{}), exited: make(chan struct{})}
}

// start returns when the process asks for its first event. add is called once
// it runs, remove once it is gone.
func (s *sandbox) start(add func(*sandbox) bool, remove func(*sandbox)) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("runtime API: %w", err)
	}
	s.server = &http.Server{Handler: s.routes()}
	s.cmd = exec.Command(s.function.Bootstrap)
	s.cmd.Dir = filepath.Dir(s.function.Bootstrap)
	s.cmd.Env = s.function.environ(listener.Addr().String())
	s.cmd.Stdout, s.cmd.Stderr = s.host.output, s.host.output
	s.cmd.WaitDelay = time.Second // for a grandchild that keeps the output open
	s.cmd.SysProcAttr = ownGroup()
	s.started = time.Now()
	if err := s.cmd.Start(); err != nil {
		_ = listener.Close()
		return &FunctionError{Type: "Runtime.InvalidEntrypoint", Message: err.Error()}
	}
	wanted := add(s)
	if !wanted {
		s.kill(&FunctionError{Type: "Host.Closed", Message: ErrClosed.Error()})
	}
	s.host.work.Go(func() { _ = s.server.Serve(listener) })
	s.host.work.Go(func() { s.wait(remove) })
	timer := time.AfterFunc(s.function.InitTimeout, func() {
		s.kill(&FunctionError{Type: "Sandbox.Timedout", Message: fmt.Sprintf("initialisation took more than %v", s.function.InitTimeout)})
	})
	defer timer.Stop()
	select {
	case <-s.ready:
		return nil
	case <-s.exited:
		return s.exitErr
	}
}

// wait sees the process to its end.
func (s *sandbox) wait(remove func(*sandbox)) {
	err := s.cmd.Wait()
	remove(s)
	s.mu.Lock()
	if s.exitErr = s.cause; s.exitErr == nil {
		status := "exit status 0"
		if err != nil {
			status = err.Error()
		}
		s.exitErr = &FunctionError{Type: "Runtime.ExitError", Message: "Runtime exited: " + status}
	}
	inv := s.current
	s.current = nil
	s.stopTimer()
	s.mu.Unlock()
	s.host.log.Debug("sandbox gone", "function", s.function.Name, "pid", s.cmd.Process.Pid, "cause", s.exitErr)
	close(s.exited)
	if inv != nil {
		inv.fail(s.exitErr)
		inv.leave()
	}
	// Not Close: what the process wrote before its end is still to be read.
	_ = s.server.Shutdown(context.Background())
}

// kill ends the process; the first cause counts.
func (s *sandbox) kill(cause *FunctionError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked(cause)
}

func (s *sandbox) killLocked(cause *FunctionError) {
	if s.cause == nil {
		s.cause = cause
		killGroup(s.cmd.Process.Pid)
	}
}

// arrived is called when the process requests an event: it is ready, and has finished its
// previous invocation.
func (s *sandbox) arrived() {
	s.mu.Lock()
	inv := s.current
	s.current = nil
	s.stopTimer()
	if inv != nil {
		s.reportLocked(inv)
	}
	if !s.isReady {
		s.isReady = true
		start := Start{Function: s.function.Name, PID: s.cmd.Process.Pid, Init: time.Since(s.started)}
		s.init = start.Init
		s.host.recordStart(start)
		s.host.log.Debug("sandbox ready", "function", start.Function, "pid", start.PID, "init", start.Init)
		close(s.ready)
	}
	s.mu.Unlock()
	if inv == nil {
		return
	}
	inv.fail(&FunctionError{Type: "Runtime.NoResponse", Message: "the runtime asked for the next event without responding"})
	if !s.function.NoFreeze {
		freeze(s.cmd.Process.Pid)
	}
	inv.leave()
}

// begin makes the invocation the current one and returns its deadline.
func (s *sandbox) begin(inv *invocation) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	timeout := s.function.Timeout
	if s.exitErr != nil { // it ended while it was idle
		inv.fail(s.exitErr)
		inv.leave()
		return time.Now()
	}
	s.current = inv
	if s.host.report != nil {
		s.usage = usageOf(s.cmd.Process.Pid)
	}
	s.timer = time.AfterFunc(timeout, func() { s.timeOut(inv) })
	if !s.function.NoFreeze {
		thaw(s.cmd.Process.Pid)
	}
	return time.Now().Add(timeout)
}

func (s *sandbox) timeOut(inv *invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == inv {
		message := fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", inv.id, s.function.Timeout.Seconds())
		s.killLocked(&FunctionError{Type: "Sandbox.Timedout", Message: message})
	}
}

func (s *sandbox) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// running returns the current invocation if it has that id.
func (s *sandbox) running(id string) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.current.id != id {
		return nil
	}
	return s.current
}
