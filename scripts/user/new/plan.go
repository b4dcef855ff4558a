package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// What an update does with a file.
const (
	unchanged = "unchanged"
	updated   = "updated"  // the new text
	merged    = "merged"   // with the user's changes
	conflict  = "conflict" // the user's text stays
	added     = "added"
	deleted   = "deleted" // this module has it no more
	kept      = "kept"    // this module has it no more, but the user has changed it
	yours     = "yours"   // belongs to the user
)

// change is what an update does with one file.
type change struct {
	name, what string
	note       string // for the user
	writes     string // the file that is written; empty: none
	text       []byte
}

// belongs reports whether a file is the user's. An update never changes it.
func belongs(name string) bool {
	for _, own := range []string{"app/", "agents/", "page/"} {
		if strings.HasPrefix(name, own) {
			return true
		}
	}
	return slices.Contains([]string{"infra/own.yaml", "main.go", "main_test.go"}, name)
}

// plan decides about each file of the new version and of the base.
func (p *project) plan(work string, base, next map[string][]byte, marked bool) (changes []change, err error) {
	names := maps.Clone(base)
	if names == nil {
		names = map[string][]byte{}
	}
	maps.Copy(names, next)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		present := true
		mine, err := os.ReadFile(filepath.Join(p.folder, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			present, err = false, nil
		}
		if err != nil {
			return nil, err
		}
		before, had := base[name]
		now, has := next[name]
		c := change{name: name, what: unchanged}
		switch {
		case !present && !had || !present && belongs(name) && !had:
			c.what, c.writes, c.text = added, name, now
		case belongs(name):
			if c.what = yours; has && had && !bytes.Equal(before, now) {
				c.note = "the starter of the new version has changed"
			}
		case !present:
			c.note = "you deleted it"
		case has && bytes.Equal(mine, now):
		case !has && bytes.Equal(mine, before):
			c.what, c.writes = deleted, name
		case !has:
			c.what, c.note = kept, "the new version has no such file"
		case had && bytes.Equal(mine, before):
			c.what, c.writes, c.text = updated, name, now
		case had && bytes.Equal(before, now):
			c.note = "has your changes"
		default:
			err = c.merge(work, mine, before, now, had, marked)
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// merge merges the changes of both sides. If they touch the same lines, or if the text before
// them is unknown, it is a conflict: the new text is written beside the file, or with marked
// both into the file.
func (c *change) merge(work string, mine, before, now []byte, had, marked bool) error {
	if !had {
		before = nil
	}
	text, clash, err := mergeTexts(work, mine, before, now)
	switch {
	case err != nil:
		return fmt.Errorf("merge %s: %w", c.name, err)
	case had && !clash:
		c.what, c.writes, c.text = merged, c.name, text
	case marked:
		c.what, c.writes, c.text, c.note = conflict, c.name, text, "both texts are in it, between markers"
	default:
		c.what, c.writes, c.text, c.note = conflict, c.name+".new", now, "the new text is in "+c.name+".new"
	}
	return nil
}

// mergeTexts merges three texts with git. clash reports whether the result has markers.
func mergeTexts(work string, mine, before, now []byte) (text []byte, clash bool, err error) {
	arguments := []string{"merge-file", "-p", "-L", "yours", "-L", "before", "-L", "new version"}
	for i, text := range [][]byte{mine, before, now} {
		file := filepath.Join(work, fmt.Sprintf("merge-%d", i))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, false, err
		}
		arguments = append(arguments, file)
	}
	text, err = exec.Command("git", arguments...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128 { // the number of conflicts
		return text, true, nil
	}
	return text, false, err
}
