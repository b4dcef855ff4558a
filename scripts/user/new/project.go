package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reveille is the module that a project requires.
const reveille = "github.com/reveille-run/reveille"

// project has the arguments and the state of a new project.
type project struct {
	folder  string // target folder
	module  string // its module path
	starter string // a key of starters
	replace string // a copy of this module; empty: version is fetched
	version string // of this module

	stage     string // temporary folder
	source    string // the folder of the module that it requires
	templates fs.FS  // has the folder starters
	copied    string // the commit of the copy; empty: that of replace
	earlier   bool   // source is of an earlier version, which may lack files
}

// create creates the project next to its folder, and moves it when it is complete.
func (p *project) create() (err error) {
	if err := p.check(); err != nil {
		return err
	}
	parent, made, err := makeFolders(filepath.Dir(p.folder))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			removeEmpty(made)
		}
	}()
	p.stage, err = os.MkdirTemp(parent, ".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.stage)) }()
	steps := []func() error{p.beginModule, p.findSource, p.copyFiles, p.renderStarters, p.record, p.completeModule}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return p.move()
}

// check refuses bad arguments before anything is written.
func (p *project) check() error {
	if p.module == reveille || strings.HasPrefix(p.module, reveille+"/") {
		return fmt.Errorf("module path %s is within the module that the project requires: choose another one, such as example.com/mine", p.module)
	}
	folder, err := filepath.Abs(p.folder)
	if err != nil {
		return err
	}
	p.folder = folder
	entries, err := os.ReadDir(p.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // a file, or not readable
		return fmt.Errorf("folder of the project: %w", err)
	case len(entries) > 0:
		return fmt.Errorf("folder %s is not empty, it has %s: choose a new or an empty folder", p.folder, entries[0].Name())
	}
	if p.replace != "" {
		if err := checkCopy(p.replace); err != nil {
			return fmt.Errorf("-replace: %w", err)
		}
	}
	return findGo()
}

// moduleLine is the line of a go.mod that names the module.
var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)

// checkCopy returns an error if a folder does not contain this module.
func checkCopy(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return fmt.Errorf("%s is not a copy of %s: %w", folder, reveille, err)
	}
	m := moduleLine.FindSubmatch(text)
	if m == nil || string(m[1]) != reveille {
		return fmt.Errorf("%s is not a copy of %s: its go.mod names another module", folder, reveille)
	}
	return nil
}

// name is the last part of the module path that is not a version. It is valid as the name of a
// stack: letters, digits and hyphens, with a letter first.
func (p *project) name() string {
	last := path.Base(p.module)
	if regexp.MustCompile(`^v[0-9]+$`).MatchString(last) && path.Dir(p.module) != "." {
		last = path.Base(path.Dir(p.module))
	}
	name := strings.Trim(regexp.MustCompile(`[^A-Za-z0-9-]+`).ReplaceAllString(last, "-"), "-")
	if name == "" || !regexp.MustCompile(`^[A-Za-z]`).MatchString(name) {
		name = strings.TrimRight("agents-"+name, "-")
	}
	return name
}

// move moves the project to its folder. After an error it removes all that it has moved.
func (p *project) move() (err error) {
	_, made, err := makeFolders(p.folder)
	if err != nil {
		return err
	}
	var moved []string
	defer func() {
		if err != nil {
			for _, name := range moved {
				err = errors.Join(err, os.RemoveAll(name))
			}
			removeEmpty(made)
		}
	}()
	entries, err := os.ReadDir(p.stage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(p.folder, e.Name())
		if err := os.Rename(filepath.Join(p.stage, e.Name()), to); err != nil {
			return err
		}
		moved = append(moved, to)
	}
	return nil
}

// makeFolders creates a folder and its parents. It returns those that did not exist before,
// innermost first.
func makeFolders(folder string) (same string, made []string, err error) {
	for f := folder; ; f = filepath.Dir(f) {
		if _, err := os.Stat(f); !errors.Is(err, fs.ErrNotExist) || f == filepath.Dir(f) {
			break
		}
		made = append(made, f)
	}
	err = os.MkdirAll(folder, 0o755)
	if err != nil {
		removeEmpty(made)
	}
	return folder, made, err
}

// removeEmpty removes empty folders, innermost first.
func removeEmpty(folders []string) {
	for _, f := range slices.Clone(folders) {
		_ = os.Remove(f) // fails if the folder has files
	}
}

// write writes a file of the project.
func (p *project) write(name string, text []byte) error {
	file := filepath.Join(p.stage, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
