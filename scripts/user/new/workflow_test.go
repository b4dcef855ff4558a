//go:build project

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// steps are the commands of a project's workflow.
func steps(t *testing.T, folder string) (commands []string) {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, folder, ".github", "workflows", "test.yml")), &workflow); err != nil {
		t.Fatal(err)
	}
	for _, step := range workflow.Jobs["test"].Steps {
		if step.Run != "" {
			commands = append(commands, strings.TrimSpace(step.Run))
		}
	}
	return commands
}

// runs runs a step of a workflow, as a runner does.
func runs(t *testing.T, folder, step string, environ ...string) {
	t.Helper()
	command := exec.Command("bash", "-e", "-o", "pipefail", "-c", step)
	command.Dir, command.Env = folder, append(environ, "RUNNER_TEMP="+t.TempDir())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", step, err, out)
	}
}

// A project that uses a copy by a relative path is checked out on a runner, where that path
// leads nowhere. Its workflow gets the commit of the copy. This repository takes the place of
// the one on GitHub, with what is committed.
func TestTheWorkflowOfACopiedProjectPasses(t *testing.T) {
	here := filepath.Join(t.TempDir(), "deep", "down")
	if err := os.MkdirAll(here, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	relative, err := filepath.Rel(here, filepath.Clean(filepath.Join(here, "copy")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(repository, "copy"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	t.Setenv("GOPROXY", "off")
	if err := run([]string{"-starter", "yaml", "-replace", relative, "mine", "example.com/mine"}, "", t.Output(), t.Output()); err != nil {
		t.Fatal(err)
	}
	checkout := filepath.Join(t.TempDir(), "checkout")
	if err := os.CopyFS(checkout, os.DirFS("mine")); err != nil {
		t.Fatal(err)
	}
	commands := steps(t, checkout)
	if len(commands) != 2 || commands[1] != "make test" {
		t.Fatalf("steps of the workflow: %q", commands)
	}
	temporary := t.TempDir()
	for _, step := range commands {
		runs(t, checkout, "RUNNER_TEMP="+temporary+"\n"+step, append(os.Environ(),
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+repository+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+reveille)...)
	}
	if file := read(t, checkout, "go.mod"); !strings.Contains(file, reveille+" => "+temporary) {
		t.Errorf("the workflow did not replace the copy:\n%s", file)
	}
}

// repository is this repository.
var repository, _ = filepath.Abs("../../..")

// A project of the starter yaml passes its tests. Its host serves the agent of the file, and
// make dev serves what is saved.
func TestAYAMLProjectPassesItsTestsAndReloads(t *testing.T) {
	folder := makeProject(t, "-starter", "yaml")
	makes(t, folder, "test")
	url := serving(t, folder, "run", "127.0.0.1:0")
	got := body(t, send(t, "POST", url+"/v1/runs", `{"threadId":"t1","messages":[{"role":"user","content":"call: weather {\"city\":\"Oslo\"}"}]}`, ""))
	if !strings.Contains(got, `"agent_id":"guide"`) || !strings.Contains(got, `clear`) {
		t.Errorf("the first response is\n%s", got)
	}
	makes(t, folder, "smoke", "URL="+url)
	t.Setenv("REVEILLE_DATA", "memory")
	url = serving(t, folder, "dev", freeAddress(t))
	file := filepath.Join(folder, "agents", "guide.yaml")
	write(t, file, strings.Replace(read(t, file), "Knows the weather,", "Knows the weather by now,", 1))
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got = body(t, send(t, "GET", url+"/v1/agents/guide", "", ""))
		if strings.Contains(got, "Knows the weather by now,") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("for two minutes the host serves the old agent: %s", got)
		}
	}
}
