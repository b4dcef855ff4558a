// Command apidiff compares the API that programs can import with that of an earlier commit. It
// prints which changes break programs and which do not.
//
//	go run ./scripts/verify/apidiff v0.1.0
//
// It fails if a change breaks programs. The current API is in core/reveille/api.txt.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/exp/apidiff"
)

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/verify/apidiff COMMIT")
		os.Exit(2)
	}
	report, err := since(".", os.Args[1], "./core/...", "./adapters/...", "./functions/kit/...")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := report.Text(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, c := range report.Changes {
		if !c.Compatible {
			os.Exit(1)
		}
	}
}

// since compares packages of the working tree at folder with those of a commit. It skips
// patterns that match nothing there.
func since(folder, commit string, patterns ...string) (report apidiff.Report, err error) {
	parent, err := os.MkdirTemp("", "apidiff")
	if err != nil {
		return report, err
	}
	defer os.RemoveAll(parent)
	earlier := filepath.Join(parent, "earlier")
	if _, err := run(folder, "git", "worktree", "add", "--detach", earlier, commit); err != nil {
		return report, err
	}
	defer func() {
		_, removed := run(folder, "git", "worktree", "remove", "--force", earlier)
		err = errors.Join(err, removed)
	}()
	before, err := load(earlier, patterns)
	if err != nil {
		return report, fmt.Errorf("at %s: %w", commit, err)
	}
	now, err := load(folder, patterns)
	if err != nil {
		return report, err
	}
	return apidiff.ModuleChanges(before, now), nil
}

// load returns the packages of a module that other modules can import.
func load(folder string, patterns []string) (*apidiff.Module, error) {
	out, err := run(folder, "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Name,Export,Module,DepOnly"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	module, export := &apidiff.Module{}, map[string]string{}
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	var public []string
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct {
			ImportPath, Name, Export string
			Module                   *struct{ Path string }
			DepOnly                  bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		export[p.ImportPath] = p.Export
		if !p.DepOnly && p.Name != "main" && !strings.Contains(p.ImportPath+"/", "/internal/") {
			public, module.Path = append(public, p.ImportPath), p.Module.Path
		}
	}
	for _, path := range public {
		p, err := compiled.Import(path)
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", path, err)
		}
		module.Packages = append(module.Packages, p)
	}
	return module, nil
}

// run returns what a command prints; its error has what the command complained of.
func run(folder, name string, arguments ...string) (string, error) {
	c := exec.Command(name, arguments...)
	c.Dir = folder
	out, err := c.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, exit.Stderr)
	}
	return string(out), err
}
