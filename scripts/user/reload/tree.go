package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// stamp tells two versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// readTree returns the stamps of the files that what runs may depend on, by path. It
// leaves out folders that begin with a dot or an underscore, testdata, what npm has
// put there, and folders with a package.json, which npm's tools look after. A file or
// folder that goes away meanwhile is left out, too.
func readTree(folder string) (map[string]stamp, error) {
	found := map[string]stamp{}
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name != folder && os.IsNotExist(err) {
				return nil
			}
			return err
		}
		if e.IsDir() {
			if name != folder && leftOut(name) {
				return fs.SkipDir
			}
			return nil
		}
		if !matters(e.Name()) {
			return nil
		}
		info, err := e.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		found[name] = stamp{info.ModTime(), info.Size()}
		return nil
	})
	return found, err
}

// leftOut reports whether a folder's files do not matter.
func leftOut(folder string) bool {
	name := filepath.Base(folder)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "package.json"))
	return err == nil
}

// matters reports whether what runs may depend on a file of this name.
func matters(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_test.go") {
		return false
	}
	return name == "go.mod" || name == "go.sum" || slices.Contains([]string{".go", ".json", ".yaml", ".yml"}, path.Ext(name))
}
