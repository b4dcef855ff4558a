package main

import (
	"errors"
	"fmt"
	goversion "go/version"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// options are those of an update.
type options struct {
	dry       bool // -n
	force     bool
	conflicts bool // write markers into files
}

// update merges the files of this version into an existing project. It writes only when all
// is decided and the module is complete.
func (p *project) update(o options, out io.Writer) (err error) {
	if err := errors.Join(findGo(), findGit()); err != nil {
		return err
	}
	old, err := p.open()
	if err != nil {
		return err
	}
	if !o.force && !o.dry {
		if err := clean(p.folder); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp(filepath.Dir(p.folder), ".new-") // beside the project: paths in go.mod may be relative
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	next, err := p.next(work)
	if err != nil {
		return err
	}
	changes, err := p.plan(work, p.base(work, old), next, o.conflicts)
	if err != nil {
		return err
	}
	for _, c := range changes {
		line := fmt.Sprintf("%-10s %s", c.what, c.name)
		if c.note != "" {
			line += ": " + c.note
		}
		fmt.Fprintln(out, line)
	}
	if o.dry {
		fmt.Fprintln(out, "Nothing was written.")
		return nil
	}
	module, err := p.updateModule(work, changes)
	if err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if err := apply(p.folder, append(changes, module...)); err != nil {
		return err
	}
	return p.report(changes, out)
}

// report says what remains to be done. Conflicts are an error.
func (p *project) report(changes []change, out io.Writer) error {
	var clashes []string
	for _, c := range changes {
		if c.what == conflict {
			clashes = append(clashes, c.writes)
		}
	}
	to := p.version
	if p.replace != "" {
		to = p.replace
	}
	fmt.Fprintf(out, "Updated %s to %s. Run make test, and look at the changes with git diff.\n", p.module, to)
	if len(clashes) > 0 {
		return fmt.Errorf("%d files have conflicts, resolve them by hand: %s", len(clashes), strings.Join(clashes, ", "))
	}
	return nil
}

// findGit returns an error if git is missing.
func findGit() error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("git is not on PATH, it merges files, install it from https://git-scm.com: %w", err)
	}
	return nil
}

// clean returns an error if a project has changes that are not committed.
func clean(folder string) error {
	out, err := exec.Command("git", "-C", folder, "status", "--porcelain", "--", ".").Output()
	if err != nil {
		return fmt.Errorf("%s is not in a git repository, so an update cannot be undone: run git init and commit the project, or add -force", folder)
	}
	if changed := strings.Split(strings.TrimSpace(string(out)), "\n"); changed[0] != "" {
		return fmt.Errorf("%s has %d changes that are not committed, such as %s: commit them, or add -force", folder, len(changed), strings.TrimSpace(changed[0]))
	}
	return nil
}

// next makes the files of the new version in a folder of its own.
func (p *project) next(work string) (map[string][]byte, error) {
	p.stage = filepath.Join(work, "next")
	if err := os.Mkdir(p.stage, 0o700); err != nil {
		return nil, err
	}
	for _, step := range []func() error{p.beginModule, p.findSource, p.copyFiles, p.renderStarters, p.record} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return tree(p.stage)
}

// updateModule updates go.mod and go.sum in a copy of the project that has the changes, and
// returns both files and the new record.
func (p *project) updateModule(work string, changes []change) ([]change, error) {
	copied := *p
	copied.stage = filepath.Join(work, "project")
	if err := copyTree(p.folder, copied.stage); err != nil {
		return nil, err
	}
	if err := apply(copied.stage, changes); err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(copied.stage, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	more, err := os.ReadFile(filepath.Join(p.stage, "go.sum"))
	if err != nil {
		return nil, err
	}
	if err := copied.write("go.sum", addLines(sums, more)); err != nil {
		return nil, err
	}
	if err := copied.require(); err != nil {
		return nil, err
	}
	if err := copied.raiseGo(p.stage); err != nil {
		return nil, err
	}
	if err := copied.completeModule(); err != nil {
		return nil, err
	}
	var all []change
	for name, folder := range map[string]string{"go.mod": copied.stage, "go.sum": copied.stage, recordFile: p.stage} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		all = append(all, change{name: name, writes: name, text: text})
	}
	return all, nil
}

// raiseGo sets the Go version of the module in a folder, unless the project has a newer one.
func (p *project) raiseGo(of string) error {
	var versions []string
	for _, folder := range []string{p.stage, of} {
		text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err != nil {
			return err
		}
		m := goLine.FindSubmatch(text)
		if m == nil {
			return nil // completeModule adds one
		}
		versions = append(versions, string(m[1]))
	}
	if goversion.Compare("go"+versions[0], "go"+versions[1]) >= 0 {
		return nil
	}
	_, err := p.goes("mod", "edit", "-go="+versions[1])
	return err
}

// addLines adds the lines of a text that another one lacks.
func addLines(to, from []byte) []byte {
	lines := strings.SplitAfter(string(to), "\n")
	for line := range strings.Lines(string(from)) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return []byte(strings.Join(lines, ""))
}
