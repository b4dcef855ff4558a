package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// repository is one of a test.
type repository struct {
	t      *testing.T
	folder string
}

func (r repository) git(arguments ...string) {
	r.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"}, arguments...)...)
	command.Dir = r.folder
	if out, err := command.CombinedOutput(); err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

func (r repository) commit(text string, files map[string]string) {
	r.t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(r.folder, name), []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-qm", text)
}

// What a merge has dropped is listed; what was dropped later, came again, moved to another
// file or says nothing is not.
func TestLinesThatAMergeHasLostAreListed(t *testing.T) {
	r := repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	r.commit("base", map[string]string{"a.go": "first line of all\n"})
	r.git("checkout", "-qb", "side")
	r.commit("side", map[string]string{
		"a.go": "first line of all\n\tFollowFor: followFor,\n\tLease: lease of it,\n}\nmoved elsewhere\ncomes again later\nkept by the merge\n",
	})
	r.git("checkout", "-q", "main")
	r.commit("main", map[string]string{"a.go": "first line of all\nanother line here\n", "b.go": "moved elsewhere\n"})
	r.git("merge", "-q", "--no-ff", "--no-commit", "-s", "ours", "side")
	r.commit("merge by hand", map[string]string{"a.go": "first line of all\nanother line here\nkept by the merge\n"})
	r.commit("later", map[string]string{"a.go": "first line of all\ncomes again later\n"})
	var out bytes.Buffer
	if err := (history{folder: r.folder, least: 12, out: &out}).look(""); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`\b[0-9a-f]{7,8}\b`).ReplaceAllString(out.String(), "COMMIT")
	const want = "COMMIT merge by hand\n  COMMIT a.go: FollowFor: followFor,\n  COMMIT a.go: Lease: lease of it,\nmerges=1 lines=2\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
