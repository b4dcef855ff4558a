package restore

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Deployment is the stack to restore: names of its resources in the account.
type Deployment struct {
	Stack           string
	Threads, Config string            // the tables in use
	Bucket          string            // of payloads; empty: none
	Functions       map[string]string // by logical id, such as StepFunction
	Schedules       []string          // those of the sweep
}

// Restore is one restore. Every field but Bucket and Schedules of the deployment is required.
type Restore struct {
	Deployment
	To      time.Time // the moment, in whole seconds
	Account *Account
	// File keeps the state of an unfinished restore. It is removed at the end.
	File string
	// Switch deploys the stack with these tables.
	Switch func(ctx context.Context, threads, config string) error
	// Check examines the tables before workers start. An error stops the restore.
	Check func(ctx context.Context, threads, config string) error
	// Now and Sleep are the clock. Sleep returns the context's error when that ends.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	Out   io.Writer

	state state
}

// Plan checks that both tables can be restored to the moment and prints what [Restore.Run]
// will do. It changes nothing.
func (r *Restore) Plan(ctx context.Context) error {
	if err := r.load(); err != nil {
		return err
	}
	versions, err := r.versioned(ctx)
	if err != nil {
		return err
	}
	if r.state.Stopped.IsZero() { // else the restore has begun
		for _, table := range r.state.Tables {
			if err := r.inWindow(ctx, table.Source); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(r.Out, "This restores the stack %s to %s. All messages, runs, decisions and profiles of the time after that moment are missing then. "+
		"Threads that were deleted after it exist again.\n", r.Stack, moment(r.To))
	for _, table := range r.state.Tables {
		fmt.Fprintf(r.Out, "  table %s becomes %s; the old one stays\n", table.Source, table.Target)
	}
	switch {
	case r.Bucket != "" && versions:
		fmt.Fprintf(r.Out, "  bucket %s: objects that were deleted after the moment exist again\n", r.Bucket)
	case r.Bucket != "":
		fmt.Fprintf(r.Out, "  bucket %s keeps no versions: payload objects that were deleted after the moment are lost\n", r.Bucket)
	}
	fmt.Fprintf(r.Out, "  until the end, all functions of the stack refuse requests. Tools and models that ran after the moment can run again\n")
	return nil
}

// step is one part of a restore.
type step struct {
	title string
	do    func(ctx context.Context) error
}

// Run restores. After an error, run it again with the same moment: it continues.
func (r *Restore) Run(ctx context.Context) error {
	if err := r.load(); err != nil {
		return err
	}
	steps := []step{
		{"stop the functions", r.stop},
		{"restore the tables", r.tables},
		{"apply the settings that a restored table lacks", r.settings},
		{"wait for invocations that were running", r.wait},
		{"bring payload objects back", r.objects},
		{"deploy the stack with the restored tables", r.switched},
		{"check the restored threads", r.check},
		{"start the functions", r.start},
	}
	for i, s := range steps {
		fmt.Fprintf(r.Out, "%d of %d: %s\n", i+1, len(steps), s.title)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w\nrun the same command again to continue: the finished steps stay as they are. Until then, the functions that were stopped refuse requests", s.title, err)
		}
	}
	if err := r.forget(); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "The stack %s is restored to %s. It does not use these tables any more, and you continue to pay for them: %s and %s.\n",
		r.Stack, moment(r.To), r.state.Tables[0].Source, r.state.Tables[1].Source)
	return nil
}

// Old returns the tables that the stack no longer uses after [Restore.Run].
func (r *Restore) Old() []string {
	var names []string
	for _, t := range r.state.Tables {
		names = append(names, t.Source)
	}
	return names
}

// targets are the names of the restored tables.
func (r *Restore) targets() (threads, config string) {
	return r.state.Tables[0].Target, r.state.Tables[1].Target
}

// switched deploys the stack, unless it uses the tables already.
func (r *Restore) switched(ctx context.Context) error {
	threads, config := r.targets()
	if r.Threads == threads && r.Config == config {
		fmt.Fprintln(r.Out, "  the stack uses them already")
		return nil
	}
	return r.Switch(ctx, threads, config)
}

func (r *Restore) check(ctx context.Context) error {
	threads, config := r.targets()
	return r.Check(ctx, threads, config)
}

// wait waits until no invocation can be running that began before the functions stopped: it
// could erase objects of a thread that the lost time deleted.
func (r *Restore) wait(ctx context.Context) error {
	left := r.state.Stopped.Add(r.state.Longest).Sub(r.Now())
	if left <= 0 {
		return nil
	}
	fmt.Fprintf(r.Out, "  for %s: invocations have up to %s\n", left.Round(time.Second), r.state.Longest)
	return r.Sleep(ctx, left)
}

// moment is how a time is printed, and accepted.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// suffix is the end of a restored table's name.
const suffix = "20060102T150405Z"

// maxName is DynamoDB's limit.
const maxName = 255

// target is the name of the table that source is restored to. An older suffix is replaced.
func target(source string, to time.Time) (string, error) {
	base := source
	if i := strings.LastIndex(source, "-"); i > 0 {
		if _, err := time.Parse(suffix, source[i+1:]); err == nil {
			base = source[:i]
		}
	}
	name := base + "-" + to.UTC().Format(suffix)
	if len(name) > maxName {
		return "", fmt.Errorf("the restored table would have the name %s of %d characters, and DynamoDB allows %d: restore it by hand to a shorter name, and set ThreadsTable and ConfigTable", name, len(name), maxName)
	}
	return name, nil
}
