package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// existing is a project that is updated.
type existing struct {
	made     record
	recorded bool   // there is a record
	replaced string // the folder by which its go.mod replaces this module; empty: none
}

// open reads the project in p.folder.
func (p *project) open() (old existing, err error) {
	if p.folder, err = filepath.Abs(p.folder); err != nil {
		return old, err
	}
	if p.replace != "" {
		if err := checkCopy(p.replace); err != nil {
			return old, fmt.Errorf("-replace: %w", err)
		}
	}
	command := exec.Command("go", "mod", "edit", "-json")
	command.Dir = p.folder
	out, err := command.Output()
	if err != nil {
		return old, fmt.Errorf("read go.mod in %s: name the folder of a project: %w", p.folder, err)
	}
	var file struct {
		Module  struct{ Path string }
		Require []struct{ Path, Version string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return old, fmt.Errorf("go mod edit -json: %w", err)
	}
	p.module = file.Module.Path
	required := ""
	for _, r := range file.Require {
		if r.Path == reveille {
			required = r.Version
		}
	}
	if required == "" {
		return old, fmt.Errorf("go.mod in %s does not require %s: name the folder of a project", p.folder, reveille)
	}
	for _, r := range file.Replace {
		if r.Old.Path == reveille && r.New.Version == "" {
			if old.replaced = r.New.Path; !filepath.IsAbs(old.replaced) {
				old.replaced = filepath.Join(p.folder, old.replaced)
			}
		}
	}
	if old.made, old.recorded, err = readRecord(p.folder); err != nil {
		return old, err
	}
	if !old.recorded {
		if old.made.Starter = guess(p.folder); old.replaced == "" {
			old.made.Version = required
		}
	}
	p.starter = old.made.Starter
	return old, nil
}

// guess returns the starter of a project without a record.
func guess(folder string) string {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	}
	switch {
	case !has("functions"):
		return "yaml"
	case has("page"):
		return "chat"
	}
	return "agent"
}

// base returns the files of the project as they were made, from the version or the copy of
// then. It omits a file if its text is not the one that was recorded. A file without a base is
// compared as a whole.
func (p *project) base(work string, old existing) map[string][]byte {
	var best map[string][]byte
	for i, source := range p.sources(work, old) {
		b := *p
		b.stage, b.source, b.templates = filepath.Join(work, fmt.Sprintf("base-%d", i)), source, os.DirFS(filepath.Join(source, "scripts", "user", "new"))
		b.earlier, b.copied = true, old.made.Commit
		if b.replace = ""; old.made.Version == "" {
			b.replace = source
		}
		if errors.Join(os.Mkdir(b.stage, 0o700), b.copyFiles(), b.renderStarters()) != nil {
			continue // a starter of another form: its files have no base
		}
		files, err := tree(b.stage)
		if err != nil {
			continue
		}
		for name, text := range files {
			if old.recorded && old.made.Files[name] != digest(text) {
				delete(files, name)
			}
		}
		if len(files) > len(best) {
			best = files
		}
		if len(files) == len(old.made.Files) {
			break
		}
	}
	return best
}

// sources are folders that may have the version from which the project was made. Without a
// record that is never the new version itself: then go.mod or the folder was updated before.
func (p *project) sources(work string, old existing) (folders []string) {
	if old.made.Version != "" && (old.recorded || old.made.Version != p.version) {
		if folder, err := p.download(old.made.Version); err == nil {
			folders = append(folders, folder)
		}
	}
	if old.replaced == "" || checkCopy(old.replaced) != nil || !old.recorded && sameFolder(old.replaced, p.source) {
		return folders
	}
	folders = append(folders, old.replaced)
	if old.made.Commit != "" && !strings.HasPrefix(old.made.Commit, "-") {
		archive, folder := filepath.Join(work, "commit.tar"), filepath.Join(work, "commit")
		if exec.Command("git", "-C", old.replaced, "archive", "-o", archive, old.made.Commit).Run() == nil && os.Mkdir(folder, 0o700) == nil &&
			exec.Command("tar", "-xf", archive, "-C", folder).Run() == nil {
			folders = append(folders, folder)
		}
	}
	return folders
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, other)
}
