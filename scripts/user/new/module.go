package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// findGo looks for the go command, which knows modules.
func findGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("the go command is not on PATH, install it from https://go.dev/dl: %w", err)
	}
	return nil
}

// goes runs a go command in the folder where the project is made.
func (p *project) goes(arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	command.Dir = p.stage
	command.Env = append(os.Environ(), "GOWORK=off") // a workspace around it does not know it
	var out, failed bytes.Buffer
	command.Stdout, command.Stderr = &out, &failed
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, strings.TrimSpace(failed.String()))
	}
	return out.Bytes(), nil
}

// beginModule writes a go.mod that requires this module. The go command knows what a
// module path may be.
func (p *project) beginModule() error {
	if _, err := p.goes("mod", "init", "--", p.module); err != nil {
		return fmt.Errorf("module path %q: %w", p.module, err)
	}
	arguments := []string{"mod", "edit", "-require=" + reveille + "@" + p.version}
	for _, tool := range tools {
		arguments = append(arguments, "-tool="+reveille+"/scripts/"+tool)
	}
	if p.replace != "" {
		replacement, err := p.replacement()
		if err != nil {
			return err
		}
		arguments = append(arguments, "-replace="+reveille+"="+replacement)
	}
	_, err := p.goes(arguments...)
	return err
}

// tools are the commands of this module that a project's Makefile uses.
var tools = []string{"user/reload", "user/smoke", "verify/lambdahost", "user/stack"}

// replacement is the copy as the project's go.mod names it: relative to the project
// where it was given so.
func (p *project) replacement() (string, error) {
	if filepath.IsAbs(p.replace) {
		return filepath.ToSlash(p.replace), nil
	}
	there, err := filepath.Abs(p.replace)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(p.folder, there) // the stage is beside the folder
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(relative), nil // begins with .., as go.mod wants it: the folder is empty
}

// goLine is the line of a go.mod that says which Go is needed.
var goLine = regexp.MustCompile(`(?m)^go\s+(\S+)`)

// findSource finds the folder of the module that the project requires, which is
// fetched if need be, and takes over the Go version and the checksums of what it
// requires itself.
func (p *project) findSource() error {
	p.source = p.replace
	if p.source == "" {
		out, err := p.goes("mod", "download", "-json", reveille+"@"+p.version)
		if err != nil {
			return err
		}
		var fetched struct{ Dir string }
		if err := json.Unmarshal(out, &fetched); err != nil {
			return fmt.Errorf("go mod download: %w", err)
		}
		p.source = fetched.Dir
	}
	text, err := os.ReadFile(filepath.Join(p.source, "go.mod"))
	if err != nil {
		return err
	}
	needed := goLine.FindSubmatch(text)
	if needed == nil {
		return errors.New("go.mod of " + reveille + " does not say which Go it needs")
	}
	if _, err := p.goes("mod", "edit", "-go="+string(needed[1])); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(p.source, "go.sum"))
	if err != nil {
		return err
	}
	fetched, err := os.ReadFile(filepath.Join(p.stage, "go.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return p.write("go.sum", append(fetched, sums...))
}

// completeModule adds to go.mod and go.sum whatever the packages, tests and tools
// need, those with the tags of Bedrock too, and finds out that all of it is there.
func (p *project) completeModule() error {
	_, err := p.goes("list", "-mod=mod", "-tags=bedrock,profile", "-deps", "-test", "-f", "{{with .Error}}{{.}}{{end}}", "./...", "tool")
	return err
}
