package main

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// files are the starters. Each file is a template with the suffix .tmpl, so that its Go files
// and go.mod do not belong to this module.
//
//go:embed all:starters
var files embed.FS

// replaced is a step of a workflow, with which a runner gets the copy of this module.
const replaced = `[[define "replaced"]][[if .Replaced]]      # While go.mod replaces Reveille by a folder of your machine, use this commit instead.
      - run: |
          if grep -q '[[.Reveille]] => ' go.mod; then
            git init --quiet "$RUNNER_TEMP/reveille"
            git -C "$RUNNER_TEMP/reveille" fetch --quiet --depth 1 https://[[.Reveille]] [[.Commit]]
            git -C "$RUNNER_TEMP/reveille" checkout --quiet FETCH_HEAD
            go mod edit -replace=[[.Reveille]]="$RUNNER_TEMP/reveille"
          fi
[[end]][[end]]`

// environments are those that the workflow deploys, in order. Each one follows the smoke test of
// the one before it.
var environments = []string{"dev", "prod"}

// values are the fields that the templates can use.
type values struct {
	Module    string   // the project's path
	Name      string   // of its stack
	Reveille  string   // path of the module that it requires
	Functions []string // of its template, such as Step
	Chat      bool     // it has a page
	Replaced  bool     // it uses a copy of that module
	Commit    string   // of the copy

	Environments []string // that its workflow deploys
}

// renderStarters writes the files of the project's starter.
func (p *project) renderStarters() error {
	v := values{Module: p.module, Name: p.name(), Reveille: reveille, Chat: p.starter == "chat", Replaced: p.replace != "", Environments: environments}
	if v.Replaced {
		v.Commit = cmp.Or(p.copied, p.commit())
	}
	of := starters[p.starter]
	if of.deployed {
		deployment, err := os.ReadFile(filepath.Join(p.stage, "template.yaml"))
		if err != nil {
			return err
		}
		v.Functions = functions(deployment)
	}
	for _, folder := range of.folders {
		from := "starters/" + folder
		err := fs.WalkDir(p.templates, from, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := render(p.templates, name, v)
			if err != nil {
				return err
			}
			return p.write(strings.TrimSuffix(strings.TrimPrefix(name, from+"/"), ".tmpl"), text)
		})
		if err != nil {
			return fmt.Errorf("starter %s: %w", p.starter, err)
		}
	}
	return nil
}

// render executes the template of a file.
func render(starters fs.FS, name string, v values) ([]byte, error) {
	text, err := fs.ReadFile(starters, name)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{"lower": strings.ToLower}).Parse(replaced + string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
