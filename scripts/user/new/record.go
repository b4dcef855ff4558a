package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// recordFile is the file of a project that says how it was made.
const recordFile = "reveille.json"

// record says from what a project was made or last updated. The texts of that version are the
// base of the next update.
type record struct {
	About   string            `json:"about"`
	Starter string            `json:"starter"`
	Version string            `json:"version,omitempty"` // of this module; empty: the project uses a copy
	Commit  string            `json:"commit,omitempty"`  // of the copy
	Files   map[string]string `json:"files"`             // SHA-256 of each file as it was made, in hex
}

// record writes the record of the project, when its other files are written.
func (p *project) record() error {
	made, err := tree(p.stage)
	if err != nil {
		return err
	}
	r := record{About: "Written by scripts/user/new, which reads it to update the project. Commit it, and do not edit it.", Starter: p.starter, Files: map[string]string{}}
	if r.Version = p.version; p.replace != "" {
		r.Version, r.Commit = "", p.commit()
	}
	for name, text := range made {
		r.Files[name] = digest(text)
	}
	encoded, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return p.write(recordFile, append(encoded, '\n'))
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// readRecord reads the record of a project. Projects of early versions have none: then found
// is false.
func readRecord(folder string) (r record, found bool, err error) {
	text, err := os.ReadFile(filepath.Join(folder, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, false, fmt.Errorf("%s: %w: restore the file from your repository", recordFile, err)
	}
	if _, ok := starters[r.Starter]; !ok || r.Files == nil {
		return record{}, false, fmt.Errorf("%s: the starter is %q, want agent, chat or yaml, and files: restore the file from your repository", recordFile, r.Starter)
	}
	return r, true, nil
}

// tree returns the files below a folder that an update compares, by path.
func tree(folder string) (map[string][]byte, error) {
	found := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || name == "go.mod" || name == "go.sum" || name == recordFile {
			return err
		}
		found[name], err = os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		return err
	})
	return found, err
}
