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
	"slices"
	"strings"
)

// findGo returns an error if the go command is missing.
func findGo() error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("the go command is not on PATH, install it from https://go.dev/dl: %w", err)
	}
	return nil
}

// goes runs a go command in the folder of the new project.
func (p *project) goes(arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	command.Dir = p.stage
	command.Env = append(os.Environ(), "GOWORK=off") // an outer workspace does not contain the project
	var out, failed bytes.Buffer
	command.Stdout, command.Stderr = &out, &failed
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, strings.TrimSpace(failed.String()))
	}
	return out.Bytes(), nil
}

// beginModule writes a go.mod that requires this module. The go command checks the module
// path.
func (p *project) beginModule() error {
	if _, err := p.goes("mod", "init", "--", p.module); err != nil {
		return fmt.Errorf("module path %q: %w", p.module, err)
	}
	return p.require()
}

// require writes the requirement of this module, with the commands that a Makefile uses.
func (p *project) require() error {
	arguments := []string{"mod", "edit", "-require=" + reveille + "@" + p.version}
	needed := tools
	if starters[p.starter].deployed {
		needed = slices.Concat(tools, deploymentTools)
	}
	for _, tool := range needed {
		arguments = append(arguments, "-tool="+reveille+"/scripts/"+tool)
	}
	if p.replace != "" {
		replacement, err := p.replacement()
		if err != nil {
			return err
		}
		arguments = append(arguments, "-replace="+reveille+"="+replacement)
	} else {
		arguments = append(arguments, "-dropreplace="+reveille)
	}
	_, err := p.goes(arguments...)
	return err
}

// tools are the commands of this module that a project's Makefile uses.
var tools = []string{"user/reload", "user/smoke"}

// deploymentTools are the further ones of a project with functions.
var deploymentTools = []string{"verify/lambdahost", "user/stack"}

// replacement is the path of the copy in the project's go.mod. A relative path becomes
// relative to the project.
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
	return filepath.ToSlash(relative), nil // starts with .., as go.mod requires: the folder is empty
}

// commit is the commit of the copy, from which a workflow gets it. A folder that is not a
// working tree of git has no known commit: then it is the newest one.
func (p *project) commit() string {
	out, err := exec.Command("git", "-C", p.replace, "rev-parse", "HEAD").Output()
	if err != nil {
		return "HEAD"
	}
	return strings.TrimSpace(string(out))
}

// goLine is the line of a go.mod with the required Go version.
var goLine = regexp.MustCompile(`(?m)^go\s+(\S+)`)

// findSource finds the folder of the module that the project requires, and downloads the
// module if necessary. It copies the Go version and the checksums of that module.
func (p *project) findSource() error {
	p.source = p.replace
	if p.source == "" {
		var err error
		if p.source, err = p.download(p.version); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(filepath.Join(p.source, "go.mod"))
	if err != nil {
		return err
	}
	needed := goLine.FindSubmatch(text)
	if needed == nil {
		return errors.New("go.mod of " + reveille + " lacks the go directive")
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

// download returns the folder of a version of this module in the cache of modules.
func (p *project) download(version string) (string, error) {
	out, err := p.goes("mod", "download", "-json", reveille+"@"+version)
	if err != nil {
		return "", err
	}
	var fetched struct{ Dir string }
	if err := json.Unmarshal(out, &fetched); err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	return fetched.Dir, nil
}

// completeModule adds to go.mod and go.sum the requirements of all packages, tests and tools,
// including those with the tags of Bedrock and Vertex, and checks that they are available.
func (p *project) completeModule() error {
	_, err := p.goes("list", "-mod=mod", "-tags=bedrock,profile,vertex", "-deps", "-test", "-f", "{{with .Error}}{{.}}{{end}}", "./...", "tool")
	return err
}
