package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is how long a process may take to end when it was told to. A local host
// takes 13 s at most.
const patience = 20 * time.Second

// process is a program that runs, on this terminal.
type process struct {
	command *exec.Cmd
	ended   chan error // gets how it ended
}

// startProcess starts a program in a group of its own, so that Ctrl-C comes to it once
// and through us.
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
	go func() { p.ended <- command.Wait() }() // ends with the process, which end waits for
	return p, nil
}

// end tells the process to end and waits for that. A signal that comes meanwhile is
// passed on; a process that takes too long is killed, which is an error.
func (p *process) end(signals <-chan os.Signal) error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may just have ended
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case <-p.ended: // how it ended says nothing new: it was told to
			return nil
		case s := <-signals:
			_ = p.command.Process.Signal(s)
		case <-late.C:
			_ = p.command.Process.Kill()
			<-p.ended
			return errors.New("it did not end when it was told to, and was killed")
		}
	}
}
