package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake is a go command. It prints its arguments and builds a host that prints its model.
const fake = `#!/bin/sh
echo "go: $*"
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho "host: model $REVEILLE_MODEL, triggers $REVEILLE_TRIGGERS"\n' > "$2"
chmod +x "$2"
`

// makes calls make with the fake go command in an empty folder, and returns what it prints.
func makes(t *testing.T, arguments ...string) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Makefile", "scripts/user/build.sh"} { // so that go test's cache sees a change of them
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "scripts"), filepath.Join(folder, "scripts")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte(fake), 0o700); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("make", append([]string{"-f", filepath.Join(root, "Makefile"), "GO=" + folder + "/go"}, arguments...)...)
	command.Dir = folder
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "REVEILLE_") && !strings.HasPrefix(v, "MAKE") && !strings.HasPrefix(v, "MODEL=") {
			command.Env = append(command.Env, v)
		}
	}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// The first line is printed before anything is compiled.
func TestMakeRunAnnouncesTheBuild(t *testing.T) {
	const first = "Compiling the local host. The first time, this takes about a minute.\n"
	tests := []struct{ name, model, want string }{
		{"without a model", "", "go: build -v -buildvcs=false -ldflags -s -w -o .reveille/dev ./scripts/user/dev\n" +
			"host: model , triggers functions/app/triggers.json\n"},
		{"with a model", "MODEL=openai/gpt-6-luna", "go: build -v -buildvcs=false -ldflags -s -w -o .reveille/dev ./scripts/user/dev\n" +
			"host: model openai/gpt-6-luna, triggers functions/app/triggers.json\n"},
		{"with a model of Bedrock", "MODEL=bedrock/us.amazon.nova-lite-v1:0",
			"go: build -v -buildvcs=false -tags bedrock,profile -ldflags -s -w -o .reveille/dev ./scripts/user/dev\n" +
				"host: model bedrock/us.amazon.nova-lite-v1:0, triggers functions/app/triggers.json\n"},
		{"with a model of Vertex", "MODEL=vertex/gemini-3-flash",
			"go: build -v -buildvcs=false -tags vertex -ldflags -s -w -o .reveille/dev ./scripts/user/dev\n" +
				"host: model vertex/gemini-3-flash, triggers functions/app/triggers.json\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			arguments := []string{"run"}
			if test.model != "" {
				arguments = append(arguments, test.model)
			}
			if diff := cmp.Diff(first+test.want, makes(t, arguments...)); diff != "" {
				t.Errorf("make run prints (-want +got):\n%s", diff)
			}
		})
	}
}

// make alone lists the targets that are described, each in a group.
func TestMakePrintsItsTargetsInGroups(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	described, groups := 0, []string{}
	for line := range strings.Lines(string(makefile)) {
		_, text, ok := strings.Cut(line, " ## ")
		group, starts := strings.CutPrefix(line, "##@ ")
		switch {
		case starts:
			groups = append(groups, strings.TrimSpace(group))
		case ok && !strings.HasPrefix(line, "\t"):
			described++
			if n := len(strings.Fields(text)); n > 20 {
				t.Errorf("%d words, at most 20: %s", n, line)
			}
		}
	}
	var printed []string
	targets := 0
	for line := range strings.Lines(makes(t)) {
		switch {
		case strings.HasPrefix(line, "  make "):
			targets++
		case line != "\n":
			printed = append(printed, strings.TrimSpace(line))
		}
	}
	if targets != described || targets < 40 {
		t.Errorf("make prints %d targets, the Makefile describes %d", targets, described)
	}
	if diff := cmp.Diff([]string{"Use", "Develop", "Check", "Deploy", "Verify slowly"}, printed); diff != "" {
		t.Errorf("groups that make prints (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(groups, printed); diff != "" {
		t.Errorf("groups (-Makefile +printed):\n%s", diff)
	}
}
