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
)

// reloader keeps one process of a main package running, built from the tree as it was
// when it last compiled.
type reloader struct {
	folder  string // of the module
	target  string // the main package, as go build takes it
	binary  string // where it is built to
	environ []string
	log     io.Writer

	built, last map[string]stamp // the tree when it was built, and when it was last looked at
	process     *process         // nil: none runs
}

// run builds and starts, and does so again on each save until there is a signal. The
// first one tells the process to end, and waits for it; so does the end of ctx. A
// second one is passed on, too, on which a local host ends at once.
func (r *reloader) run(ctx context.Context, signals <-chan os.Signal, every time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tree, err := readTree(r.folder)
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
			r.tell("%v: waits for the process to end", s)
			return r.end(signals)
		case err := <-r.ended():
			r.tell("the process has ended (%v), it is started again on the next save", err)
			r.process = nil
		case <-ticker.C:
			if r.saved() {
				r.swap(ctx)
			}
		}
	}
}

// ended gets the error of a process that has ended by itself.
func (r *reloader) ended() <-chan error {
	if r.process == nil {
		return nil
	}
	return r.process.ended
}

// saved looks at the tree, and reports whether it is another one than was built and
// has come to rest: an editor that saves ten files saves once.
func (r *reloader) saved() bool {
	tree, err := readTree(r.folder)
	if err != nil {
		r.tell("look at %s: %v", r.folder, err)
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

// swap builds, ends the process that runs, and starts what was built. What does not
// compile changes nothing.
func (r *reloader) swap(ctx context.Context) {
	start := time.Now()
	next := r.binary + ".next"
	if err := r.build(ctx, next); err != nil {
		r.tell("it does not build, what runs goes on\n%v", err)
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

// build compiles the package; its error is what the compiler says.
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

// end ends the process, if there is one, and passes further signals on meanwhile.
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
