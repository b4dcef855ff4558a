package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
)

// copied is a file of this module that a project has, too, or a folder of such files.
// It is read from the version that the project requires.
type copied struct{ from, to string }

var copies = []copied{
	{"template.yaml", "template.yaml"},
	{"infra", "infra"},
	{"events", "events"},
	{"functions/app/models/models.go", "app/models/models.go"},
	{"functions/app/web/web.go", "app/web/web.go"},
}

// optional are those of the copies that a version may be without.
var optional = map[string]bool{"infra": true}

// moved are the paths that texts of the copies name, and where that stands in a
// project.
var moved = [][2]string{
	{"functions/app/", "app/"},
}

// copyFiles copies what must not differ from this module.
func (p *project) copyFiles() error {
	for _, c := range copies {
		err := fs.WalkDir(os.DirFS(p.source), c.from, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || path.Ext(name) == ".md" {
				return err
			}
			text, err := os.ReadFile(filepath.Join(p.source, filepath.FromSlash(name)))
			if err != nil {
				return err
			}
			return p.write(c.to+name[len(c.from):], relocate(name, text))
		})
		if err != nil && !(optional[c.from] && errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("copy %s of %s: %w", c.from, reveille, err)
		}
	}
	return nil
}

// relocate puts the project's own paths into a file. Go files name packages, which
// stay where they are.
func relocate(name string, text []byte) []byte {
	if path.Ext(name) == ".go" {
		return text
	}
	for _, m := range moved {
		text = bytes.ReplaceAll(text, []byte(m[0]), []byte(m[1]))
	}
	return text
}

// functionLine is where a template begins a function that a target of the Makefile
// builds.
var functionLine = regexp.MustCompile(`(?m)^  ([A-Z][A-Za-z]*)Function:\n    Type: AWS::Serverless::Function\n`)

// functions are the names of the functions of a template, such as Step.
func functions(template []byte) (names []string) {
	for _, m := range functionLine.FindAllSubmatch(template, -1) {
		names = append(names, string(m[1]))
	}
	return names
}
