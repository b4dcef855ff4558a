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

// stamp distinguishes two versions of a file.
type stamp struct {
	changed time.Time
	size    int64
}

// readTree returns the stamps of the files on which the program may depend, by path: those of
// a module, and those of a folder of agents, wherever it is. It skips folders that start with
// a dot or an underscore, testdata, node_modules, and folders with a package.json, which
// npm's tools watch. It also skips files and folders that disappear during the walk.
func readTree(folder, agents string) (map[string]stamp, error) {
	found := map[string]stamp{}
	readAgents(agents, found)
	err := filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name != folder && os.IsNotExist(err) {
				return nil
			}
			return err
		}
		if e.IsDir() {
			if name != folder && skipped(name) {
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

// readAgents adds the stamps of a folder's files. If the folder cannot be read, the host
// reports the error.
func readAgents(folder string, found map[string]stamp) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			found[path] = stamp{info.ModTime(), info.Size()}
		}
	}
}

// skipped reports whether readTree skips a folder.
func skipped(folder string) bool {
	name := filepath.Base(folder)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Stat(filepath.Join(folder, "package.json"))
	return err == nil
}

// matters reports whether the program may depend on a file with this name.
func matters(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_test.go") {
		return false
	}
	return name == "go.mod" || name == "go.sum" || name == "environment" || slices.Contains([]string{".go", ".json", ".yaml", ".yml"}, path.Ext(name))
}
