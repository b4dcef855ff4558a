package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// apply writes and deletes the files of changes in a folder. After an error it restores all
// that it has changed.
func apply(folder string, changes []change) (err error) {
	var undo []func() error
	defer func() {
		if err != nil {
			for _, back := range slices.Backward(undo) {
				err = errors.Join(err, back())
			}
		}
	}()
	for _, c := range changes {
		if c.writes == "" {
			continue
		}
		file := filepath.Join(folder, filepath.FromSlash(c.writes))
		before, err := os.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			_, made, err := makeFolders(filepath.Dir(file))
			if err != nil {
				return err
			}
			undo = append(undo, func() error {
				if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				removeEmpty(made)
				return nil
			})
		case err != nil:
			return err
		default:
			undo = append(undo, func() error { return os.WriteFile(file, before, 0o644) })
		}
		if c.what == deleted {
			err = os.Remove(file)
		} else {
			err = os.WriteFile(file, c.text, 0o644) // an existing file keeps its mode
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// skippedFolders have no files of the module.
var skippedFolders = []string{".git", ".reveille", ".aws-sam", "node_modules"}

// copyTree copies the regular files of a project.
func copyTree(from, to string) error {
	return fs.WalkDir(os.DirFS(from), ".", func(name string, e fs.DirEntry, err error) error {
		target := filepath.Join(to, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(skippedFolders, e.Name()):
			return fs.SkipDir
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case !e.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(filepath.Join(from, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}
