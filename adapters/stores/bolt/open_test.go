package bolt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A new file is as durable as the folders that lead to it.
func TestChangedFoldersAreThoseWithANewEntry(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]string{
		root + "/a":     {root + "/a"},
		root + "/a/b/c": {root + "/a/b/c", root + "/a/b", root + "/a"},
	} {
		if diff := cmp.Diff(want, changedFolders(folder)); diff != "" {
			t.Errorf("of %s (-want +got):\n%s", folder, diff)
		}
	}
}
