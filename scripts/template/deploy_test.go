package template

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// deploying is a folder with make deploy's script, and a SAM CLI that builds what it
// is told and prints what it is called with.
type deploying struct{ folder string }

const samCLI = `#!/usr/bin/env bash
if [ "$1" = build ]; then mkdir -p .aws-sam/build/StepFunction; echo "$CODE" >.aws-sam/build/StepFunction/bootstrap; exit; fi
printf '<%s>' "$@"
`

func newDeploying(t *testing.T) deploying {
	t.Helper()
	d := deploying{t.TempDir()}
	d.write(t, "scripts/deploy.sh", readText(t, "scripts", "deploy.sh"))
	d.write(t, "bin/sam", samCLI)
	return d
}

func (d deploying) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(d.folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

var releaseValue = regexp.MustCompile(`Release=([0-9a-f]{64})`)

// run returns what sam deploy is called with, its release cut out, and the release.
func (d deploying) run(t *testing.T, code string, args ...string) (call, release string) {
	t.Helper()
	c := exec.Command("bash", append([]string{filepath.Join(d.folder, "scripts", "deploy.sh")}, args...)...)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(d.folder, "bin")+":"+os.Getenv("PATH"), "CODE="+code)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, call, _ = strings.Cut(string(out), "\n")
	parts := releaseValue.FindStringSubmatch(call)
	if parts == nil {
		t.Fatalf("no release in %s", out)
	}
	return strings.ReplaceAll(call, parts[1], "R"), parts[1]
}

// TestDeployIsGuidedOnce: then it takes what samconfig.toml remembers, quoted as there.
func TestDeployIsGuidedOnce(t *testing.T) {
	d := newDeploying(t)
	call, first := d.run(t, "a")
	if want := "<deploy><--guided><--capabilities><CAPABILITY_IAM><--parameter-overrides><Release=R>"; call != want {
		t.Errorf("the first time: %s, want %s", call, want)
	}
	config := `parameter_overrides = "Auth=\"iam\" Release=\"` + first + `\" ScheduleExpression=\"cron(0 7 ? * $MON-FRI *)\" Origins=\"\""` + "\n"
	d.write(t, "samconfig.toml", config)
	call, second := d.run(t, "a", "--no-confirm-changeset")
	want := "<deploy><--capabilities><CAPABILITY_IAM><--parameter-overrides><Auth=iam><ScheduleExpression=cron(0 7 ? * $MON-FRI *)><Origins=><Release=R><--no-confirm-changeset>"
	if call != want {
		t.Errorf("then: %s, want %s", call, want)
	}
	if second == first {
		t.Error("parameters do not change the release")
	}
}

// TestReleaseFollowsCodeAndParameters, and nothing else.
func TestReleaseFollowsCodeAndParameters(t *testing.T) {
	d := newDeploying(t)
	releases := map[string]string{}
	run := func(name, code, parameters string) {
		d.write(t, "samconfig.toml", "parameter_overrides = \""+parameters+"\"\n")
		_, releases[name] = d.run(t, code)
	}
	run("one", "a", `Auth=\"iam\"`)
	run("again", "a", `Auth=\"iam\"`)
	run("after a release", "a", `Auth=\"iam\" Release=\"`+releases["one"]+`\"`)
	run("code", "b", `Auth=\"iam\"`)
	run("parameter", "a", `Auth=\"none\"`)
	if releases["one"] != releases["again"] || releases["one"] != releases["after a release"] {
		t.Error("the same code and parameters are another release")
	}
	if releases["one"] == releases["code"] || releases["one"] == releases["parameter"] || releases["code"] == releases["parameter"] {
		t.Errorf("releases are %v", releases)
	}
}

func TestDeploySaysWhatIsMissing(t *testing.T) {
	d := newDeploying(t)
	c := exec.Command("bash", filepath.Join(d.folder, "scripts", "deploy.sh"))
	c.Env = []string{"PATH=/usr/bin:/bin"}
	if _, err := exec.LookPath("/usr/bin/sam"); err == nil {
		t.Skip("the SAM CLI is part of this system")
	}
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "the SAM CLI is not on PATH") {
		t.Errorf("%v: %s", err, out)
	}
}
