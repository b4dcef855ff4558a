package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatBreaksProgramsIsTold(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(arguments ...string) {
		t.Helper()
		if _, err := run(folder, "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, arguments...)...); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("core/a/a.go", "package a\n\nfunc Kept() {}\n\nfunc Gone() {}\n")
	write("core/internal/b/b.go", "package b\n\nfunc Gone() {}\n")
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	write("core/a/a.go", "package a\n\nfunc Kept() {}\n\nfunc New() {}\n")
	write("core/internal/b/b.go", "package b\n")

	report, err := since(folder, "HEAD", "./core/...")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := "Incompatible changes:\n- ./core/a.Gone: removed\nCompatible changes:\n- ./core/a.New: added\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	if out, err := run(folder, "git", "worktree", "list"); err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("worktrees are left: %s %v", out, err)
	}
	if _, err := since(folder, "nowhere", "./core/..."); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a commit that does not exist is the error %v", err)
	}
}
