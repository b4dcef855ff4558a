package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes files into a folder.
func put(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(files map[string]string) map[string][]byte {
	if files == nil {
		return nil
	}
	all := map[string][]byte{}
	for name, text := range files {
		all[name] = []byte(text)
	}
	return all
}

func TestWhatAnUpdateDoesWithAFile(t *testing.T) {
	const lines = "a\nb\nc\nd\ne\n"
	first, last, both := strings.Replace(lines, "a", "A", 1), strings.Replace(lines, "e", "E", 1), "A\nb\nc\nd\nE\n"
	of := func(text string) map[string]string { return map[string]string{"Makefile": text} }
	own := func(text string) map[string]string { return map[string]string{"infra/own.yaml": text} }
	tests := []struct {
		name             string
		base, mine, next map[string]string
		marked           bool
		want             change
	}{
		{"nobody changed it", of(lines), of(lines), of(lines), false, change{name: "Makefile", what: unchanged}},
		{"the new version changed it", of(lines), of(lines), of(first), false, change{name: "Makefile", what: updated, writes: "Makefile", text: []byte(first)}},
		{"the user changed it", of(lines), of(first), of(lines), false, change{name: "Makefile", what: unchanged, note: "has your changes"}},
		{"both changed it in the same way", of(lines), of(first), of(first), false, change{name: "Makefile", what: unchanged}},
		{"both changed other lines", of(lines), of(last), of(first), false, change{name: "Makefile", what: merged, writes: "Makefile", text: []byte(both)}},
		{"both changed the same line", of(lines), of("1\nb\nc\nd\ne\n"), of(first), false,
			change{name: "Makefile", what: conflict, writes: "Makefile.new", text: []byte(first), note: "the new text is in Makefile.new"}},
		{"both changed the same line, with markers", of(lines), of("1\nb\nc\nd\ne\n"), of(first), true,
			change{name: "Makefile", what: conflict, writes: "Makefile", note: "both texts are in it, between markers", text: []byte("<<<<<<< yours\n1\n=======\nA\n>>>>>>> new version\nb\nc\nd\ne\n")}},
		{"the text before is unknown", nil, of(last), of(first), false,
			change{name: "Makefile", what: conflict, writes: "Makefile.new", text: []byte(first), note: "the new text is in Makefile.new"}},
		{"the text before is unknown but equal", nil, of(last), of(last), false, change{name: "Makefile", what: unchanged}},
		{"it is new", of(lines), nil, map[string]string{"Makefile": lines, "b.yml": first}, false, change{name: "b.yml", what: added, writes: "b.yml", text: []byte(first)}},
		{"the user deleted it", of(lines), nil, of(first), false, change{name: "Makefile", what: unchanged, note: "you deleted it"}},
		{"the new version has it no more", of(lines), of(lines), nil, false, change{name: "Makefile", what: deleted, writes: "Makefile"}},
		{"the new version has it no more, but the user changed it", of(lines), of(last), nil, false, change{name: "Makefile", what: kept, note: "the new version has no such file"}},
		{"nobody has it any more", of(lines), nil, nil, false, change{name: "Makefile", what: unchanged, note: "you deleted it"}},
		{"the user's file", own(lines), own(last), own(first), false, change{name: "infra/own.yaml", what: yours, note: "the starter of the new version has changed"}},
		{"the user's file as it was", own(lines), own(lines), own(first), false, change{name: "infra/own.yaml", what: yours, note: "the starter of the new version has changed"}},
		{"the user's file, the same before", own(lines), own(last), own(lines), false, change{name: "infra/own.yaml", what: yours}},
		{"the user's file, which is new", nil, nil, own(lines), false, change{name: "infra/own.yaml", what: added, writes: "infra/own.yaml", text: []byte(lines)}},
		{"the user's file, which the user deleted", own(lines), nil, own(lines), false, change{name: "infra/own.yaml", what: yours}},
		{"the user's file, which the new version has no more", own(lines), own(lines), nil, false, change{name: "infra/own.yaml", what: yours}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &project{folder: t.TempDir()}
			put(t, p.folder, tt.mine)
			changes, err := p.plan(t.TempDir(), texts(tt.base), texts(tt.next), tt.marked)
			if err != nil {
				t.Fatal(err)
			}
			got := change{}
			for _, c := range changes {
				if c.name == tt.want.name {
					got = c
				}
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(change{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesThatBelongToTheUser(t *testing.T) {
	for name, want := range map[string]bool{
		"app/app.go": true, "app/models/models.go": true, "app/environment": true, "app/triggers.json": true, "agents/guide.yaml": true, "page/src/chat.js": true,
		"infra/own.yaml": true, "main.go": true, "main_test.go": true,
		"template.yaml": false, "Makefile": false, "README.md": false, "functions/step/main.go": false, "dev/main.go": false, "events/step.json": false, ".github/workflows/deploy.yml": false,
	} {
		if got := belongs(name); got != want {
			t.Errorf("%s belongs to the user: %v, want %v", name, got, want)
		}
	}
}

// The third change fails: there is a folder where a file is to be.
func TestAFailedUpdateLeavesTheProjectAsItWas(t *testing.T) {
	folder := t.TempDir()
	before := map[string]string{"Makefile": "old", "events/a.json": "{}", "functions/x/keep": ""}
	put(t, folder, before)
	err := apply(folder, []change{
		{name: "Makefile", what: updated, writes: "Makefile", text: []byte("new")},
		{name: "events/a.json", what: deleted, writes: "events/a.json"},
		{name: "infra/own.yaml", what: added, writes: "infra/own.yaml", text: []byte("new")},
		{name: "functions/x", what: added, writes: "functions/x", text: []byte("new")},
	})
	if err == nil || !strings.Contains(err.Error(), "functions/x: is a directory") {
		t.Fatalf("error %v", err)
	}
	got := map[string]string{}
	for _, name := range names(t, folder) {
		got[name] = read(t, folder, name)
	}
	if diff := cmp.Diff(before, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(folder, "infra")); err == nil {
		t.Error("an empty folder stays")
	}
}
