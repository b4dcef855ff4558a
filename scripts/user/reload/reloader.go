package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/reveille-run/reveille/functions/kit/agentfiles"
)

// reloader keeps one process of a main package running, from the last build that
// succeeded.
type reloader struct {
	folder  string // of the module
	target  string // the main package, as an argument of go build
	binary  string // path of the build
	agents  string // the folder of REVEILLE_AGENTS; empty: none
	environ []string
	log     io.Writer

	built, last map[string]stamp // the tree at the last build, and at the last look
	process     *process         // nil: no process runs
}

// run builds and starts the program, and does so again on each save until a signal comes or
// ctx ends. Then it ends the process and waits for it. It passes a second signal on, and a
// local host exits immediately.
func (r *reloader) run(ctx context.Context, signals <-chan os.Signal, every time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tree, err := readTree(r.folder, r.agents)
	if err != nil {
		return err
	}
	r.built, r.last = tree, tree
	r.swap(ctx)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return r.end(nil)
		case s := <-signals:
			r.tell("%v: waiting for the process to exit", s)
			return r.end(signals)
		case err := <-r.ended():
			r.tell("the process has exited (%v); the next save starts it again", err)
			r.process = nil
		case <-ticker.C:
			if r.saved() {
				r.swap(ctx)
			}
		}
	}
}

// ended receives the error of a process that has exited by itself.
func (r *reloader) ended() <-chan error {
	if r.process == nil {
		return nil
	}
	return r.process.ended
}

// saved reports whether the tree differs from the last build and has not changed since the
// last look: ten files that an editor saves together cause one build.
func (r *reloader) saved() bool {
	tree, err := readTree(r.folder, r.agents)
	if err != nil {
		r.tell("read %s: %v", r.folder, err)
		return false
	}
	rests := maps.Equal(tree, r.last)
	r.last = tree
	if !rests || maps.Equal(tree, r.built) {
		return false
	}
	r.built = tree
	return true
}

// swap builds the program, ends the running process and starts the new one. If the build
// fails, or a file of agents has an error, the running process continues.
func (r *reloader) swap(ctx context.Context) {
	start := time.Now()
	if _, err := agentfiles.Read(r.agents); err != nil {
		r.tell("the agents cannot be read, the running process continues\n%v", err)
		return
	}
	next := r.binary + ".next"
	if err := r.build(ctx, next); err != nil {
		r.tell("build failed, the running process continues\n%v", err)
		return
	}
	r.tell("built in %.1f s", time.Since(start).Seconds())
	if err := r.end(nil); err != nil {
		r.tell("end the process: %v", err)
	}
	if err := os.Rename(next, r.binary); err != nil {
		r.tell("%v", err)
		return
	}
	p, err := startProcess(r.binary, r.folder, r.environ)
	if err != nil {
		r.tell("start: %v", err)
		return
	}
	r.process = p
}

// build compiles the package. Its error has the output of the compiler.
func (r *reloader) build(ctx context.Context, output string) error {
	output, err := filepath.Abs(output)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-o", output, r.target)
	command.Dir, command.Env = r.folder, r.environ
	if said, err := command.CombinedOutput(); err != nil {
		return errors.New(string(said) + err.Error())
	}
	return nil
}

// end ends the process, if one runs. Until it exits, end passes further signals on.
func (r *reloader) end(signals <-chan os.Signal) error {
	if r.process == nil {
		return nil
	}
	p := r.process
	r.process = nil
	return p.end(signals)
}

func (r *reloader) tell(format string, values ...any) {
	fmt.Fprintf(r.log, "reload: "+format+"\n", values...)
}
