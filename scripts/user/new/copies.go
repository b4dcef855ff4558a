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

// copied is a file or a folder of this module that a project also has. It is read from the
// version that the project requires.
type copied struct{ from, to string }

var copies = []copied{
	{"template.yaml", "template.yaml"},
	{"events", "events"},
	{"functions/app/models/models.go", "app/models/models.go"},
	{"functions/app/web/web.go", "app/web/web.go"},
	{"infra/own.yaml", "infra/own.yaml"},
}

// moved are paths in the texts of the copies, each with the path in a project.
var moved = [][2]string{
	{"functions/app/", "app/"},
}

// copyFiles copies the files that must not differ from those of this module. Documents are
// not copied: they describe this repository.
func (p *project) copyFiles() error {
	if !starters[p.starter].deployed {
		return nil
	}
	for _, c := range copies {
		if _, err := os.Stat(filepath.Join(p.source, filepath.FromSlash(c.from))); p.earlier && errors.Is(err, fs.ErrNotExist) {
			continue
		}
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
		if err != nil {
			return fmt.Errorf("copy %s of %s: %w", c.from, reveille, err)
		}
	}
	return nil
}

// relocate replaces paths in a file by those of the project. Go files are unchanged: they
// import packages of this module.
func relocate(name string, text []byte) []byte {
	if path.Ext(name) == ".go" {
		return text
	}
	for _, m := range moved {
		text = bytes.ReplaceAll(text, []byte(m[0]), []byte(m[1]))
	}
	return text
}

// functionLine is the start of a function in a template. A target of the Makefile builds
// each of them.
var functionLine = regexp.MustCompile(`(?m)^  ([A-Z][A-Za-z]*)Function:\n    Type: AWS::Serverless::Function\n`)

// functions are the names of the functions of a template, such as Step.
func functions(template []byte) (names []string) {
	for _, m := range functionLine.FindAllSubmatch(template, -1) {
		names = append(names, string(m[1]))
	}
	return names
}
