// Package agentfiles reads the agents of REVEILLE_AGENTS: a folder with files of YAML and
// JSON, which hold agents, models, pools and providers. Package specfile describes their
// form. [Read] reads the folder, and [Files.Add] adds the agents to those that are written in
// Go, so that an agent needs no code.
//
// The files are read once, at start. This package links a YAML parser, so that functions on
// AWS do not import it and refuse the setting.
package agentfiles

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
)

// Files are the agents, models, pools and providers of a folder. The zero value has none.
type Files struct {
	folder string
	parts  agent.Parts
	places specfile.Places
}

// Read reads the files *.yaml, *.yml and *.json of a folder, without its subfolders: at most
// 1,000 files with 8 MiB in total and 1 MiB each. An empty name means no files. An error names
// the file, the line and the field.
func Read(folder string) (Files, error) {
	f := Files{folder: folder}
	if folder == "" {
		return f, nil
	}
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "read", Path: folder, Err: errors.New("not a folder")}
	}
	if err != nil {
		return Files{}, fmt.Errorf("environment variable REVEILLE_AGENTS: %w", err)
	}
	f.parts, f.places, err = specfile.Loader{Env: os.LookupEnv}.LoadPlaces(os.DirFS(folder))
	if err != nil {
		return Files{}, f.named(err)
	}
	return f, nil
}

// Add returns parts with the specs of the files. The agent of requests that name none is the
// default of the files, else the only agent of the files, else that of parts.
func (f Files) Add(parts agent.Parts) agent.Parts {
	if len(parts.Specs) == 1 && parts.Default == "" {
		parts.Default = parts.Specs[0].ID
	}
	switch {
	case f.parts.Default != "":
		parts.Default = f.parts.Default
	case len(f.parts.Specs) == 1:
		parts.Default = f.parts.Specs[0].ID
	}
	parts.Specs = slices.Concat(parts.Specs, f.parts.Specs)
	parts.ModelSpecs = slices.Concat(parts.ModelSpecs, f.parts.ModelSpecs)
	parts.Pools = slices.Concat(parts.Pools, f.parts.Pools)
	parts.Providers = slices.Concat(parts.Providers, f.parts.Providers)
	return parts
}

// Locate returns an error about an agent of the files, such as a tool that does not exist,
// with the file and line. It returns other errors unchanged.
func (f Files) Locate(err error) error {
	located := f.places.Locate(err)
	if located == err {
		return err
	}
	return f.named(located)
}

// named adds the folder to an error of the files.
func (f Files) named(err error) error {
	at := (*specfile.Error)(nil)
	if !errors.As(err, &at) {
		return fmt.Errorf("environment variable REVEILLE_AGENTS: folder %s: %w", f.folder, err)
	}
	named := *at
	named.File = path.Join(filepath.ToSlash(f.folder), at.File)
	return core.Errorf(core.CodeInvalid, "%w", &named)
}
