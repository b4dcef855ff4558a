package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is the time that a process has to exit after SIGTERM. A local host needs 13 s at
// most.
const patience = 20 * time.Second

// process is a running program on this terminal.
type process struct {
	command *exec.Cmd
	ended   chan error // receives the result of the process
}

// startProcess starts a program in a separate process group, so that it gets Ctrl-C once,
// from this command.
func startProcess(binary, folder string, environ []string) (*process, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	command := exec.Command(binary)
	command.Dir, command.Env = folder, environ
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	apart(command)
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{command: command, ended: make(chan error, 1)}
	go func() { p.ended <- command.Wait() }() // ends with the process, and end waits for it
	return p, nil
}

// end sends SIGTERM and waits until the process exits. It passes further signals on. If the
// process takes too long, end kills it and returns an error.
func (p *process) end(signals <-chan os.Signal) error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have exited already
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case <-p.ended: // its exit status does not matter after SIGTERM
			return nil
		case s := <-signals:
			_ = p.command.Process.Signal(s)
		case <-late.C:
			_ = p.command.Process.Kill()
			<-p.ended
			return errors.New("it did not exit within 20 s and was killed")
		}
	}
}
