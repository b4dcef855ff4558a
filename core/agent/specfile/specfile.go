// Package specfile reads agents, models, pools and providers from YAML and JSON
// files. It links a YAML parser, so that only programs that load files import it.
//
// A file holds one or several documents, in 1 MiB at most. One that has an id is an agent;
// every other one is an object of lists, each of which is optional:
//
//	default: helper
//	agents:
//	  - id: helper
//	    model: fast
//	    system_prompt: Be brief.
//	models:
//	  - {id: fast, provider: vendor, upstream_model: fast-1}
//	providers:
//	  - {id: vendor, adapter: openai, api_key_env: VENDOR_KEY}
//
// Reading is strict: an unknown field, one that is given twice, a value of a wrong
// type or out of its range and an id that two documents have are an [Error] with
// file, line and column. Texts are literal: ${NAME} is not replaced. A file
// does not hold keys, only the name of an environment variable, which [Loader.Env]
// looks up.
//
// YAML may have all that JSON can express, and anchors: no merge keys, no tags, and
// numbers as JSON writes them. A field with nothing after its colon is null.
package specfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/internal/spectext"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/core/strict"
)

// The bounds of what is read: the bytes of a file, and the number and the bytes of the
// files that are read together.
const (
	maxFile  = 1 << 20
	maxFiles = 1000
	maxAll   = 8 << 20
)

// Loader reads files. The zero value looks no keys up.
type Loader struct {
	// Env returns an environment variable, as os.LookupEnv does. A provider whose
	// variable is not set, or not looked up, has no key. That is an error when an agent
	// uses the provider and not before: a process that runs no steps needs no keys.
	Env func(name string) (value string, ok bool)
}

// Error is what is wrong in a file. It comes wrapped in a [core.Error] with code
// invalid.
type Error struct {
	File         string
	Line, Column int // from 1; 0: of the file as a whole
	Text         string
	cause        error
}

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Unwrap returns the error that Text quotes, if it was one.
func (e *Error) Unwrap() error { return e.cause }

// failed is an error at a place. In every case the author of the file must fix it: it has
// code invalid.
func failed(file string, at place, cause error) error {
	return core.Errorf(core.CodeInvalid, "%w", &Error{File: file, Line: at.line, Column: at.column, Text: cause.Error(), cause: cause})
}

// Load reads with the zero [Loader].
func Load(fsys fs.FS, patterns ...string) (agent.Parts, error) {
	return Loader{}.Load(fsys, patterns...)
}

// Decode reads with the zero [Loader].
func Decode(name string, data []byte) (agent.Parts, error) { return Loader{}.Decode(name, data) }

// Load reads every file that a pattern of fs.Glob matches, in the order of their
// names, into the data of Parts: Specs, ModelSpecs, Pools, Providers and Default. No
// patterns are *.yaml, *.yml and *.json, except names that start with a dot. A pattern that matches no file is an error;
// without patterns, that there is no file at all. It reads at most 1,000 files with 8 MiB
// in total.
func (l Loader) Load(fsys fs.FS, patterns ...string) (agent.Parts, error) {
	parts, _, err := l.LoadPlaces(fsys, patterns...)
	return parts, err
}

// LoadPlaces is Load, and returns the places of the specs, too.
func (l Loader) LoadPlaces(fsys fs.FS, patterns ...string) (agent.Parts, Places, error) {
	names, err := matches(fsys, patterns)
	if err == nil && len(names) > maxFiles {
		err = core.Errorf(core.CodeInvalid, "there are %d files, at most %d are allowed", len(names), maxFiles)
	}
	if err != nil {
		return agent.Parts{}, Places{}, err
	}
	r := reading{loader: l, ids: map[string]part{}}
	all := int64(0)
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return agent.Parts{}, Places{}, fmt.Errorf("reading specs: %w", err)
		}
		if err := checkSize(name, info.Size()); err != nil {
			return agent.Parts{}, Places{}, err
		}
		if all += info.Size(); all > maxAll {
			return agent.Parts{}, Places{}, core.Errorf(core.CodeInvalid, "the files up to %s have %d bytes, at most %d are allowed", name, all, maxAll)
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return agent.Parts{}, Places{}, fmt.Errorf("reading specs: %w", err)
		}
		if err := r.file(name, data); err != nil {
			return agent.Parts{}, Places{}, err
		}
	}
	return r.parts, Places{ids: r.ids}, nil
}

// checkSize refuses a file that is too large.
func checkSize(name string, size int64) error {
	if size > maxFile {
		return failed(name, place{}, fmt.Errorf("the file has %d bytes, at most %d are allowed", size, maxFile))
	}
	return nil
}

// matches returns the files that the patterns name, each once and sorted: the content of a
// folder does not depend on the order of the patterns.
func matches(fsys fs.FS, patterns []string) ([]string, error) {
	asked := patterns
	if len(patterns) == 0 {
		asked = []string{"*.yaml", "*.yml", "*.json"}
	}
	var names []string
	for _, pattern := range asked {
		found, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "pattern %q: %w", pattern, err)
		}
		if len(found) == 0 && len(patterns) > 0 {
			return nil, core.Errorf(core.CodeNotFound, "no file matches %q", pattern)
		}
		if len(patterns) == 0 { // an editor's temporary files start with a dot
			found = slices.DeleteFunc(found, func(name string) bool { return strings.HasPrefix(name, ".") })
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, core.Errorf(core.CodeNotFound, "there is no file *.yaml, *.yml or *.json")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Decode reads one file's text; the name is that of errors. Its end is .yaml or .yml
// for YAML, .json for JSON.
func (l Loader) Decode(name string, data []byte) (agent.Parts, error) {
	r := reading{loader: l, ids: map[string]part{}}
	if err := r.file(name, data); err != nil {
		return agent.Parts{}, err
	}
	return r.parts, nil
}

// reading collects what files hold.
type reading struct {
	loader Loader
	parts  agent.Parts
	ids    map[string]part // kind and id -> where it was given
}

// lists is a document that is not an agent.
type lists struct {
	Agents    []json.RawMessage `json:"agents"`
	Models    []json.RawMessage `json:"models"`
	Pools     []json.RawMessage `json:"pools"`
	Providers []json.RawMessage `json:"providers"`
	Default   string            `json:"default"`
}

// file reads the documents of one file. Nothing of a file counts that has a mistake.
func (r *reading) file(name string, data []byte) error {
	if err := checkSize(name, int64(len(data))); err != nil {
		return err
	}
	var documents []document
	var err error
	switch path.Ext(name) {
	case ".yaml", ".yml":
		documents, err = parseYAML(data)
	case ".json":
		documents, err = parseJSON(data)
	default:
		err = errors.New("specs are read from files that end in .yaml, .yml or .json")
	}
	if err != nil {
		var at *placed
		if errors.As(err, &at) {
			return failed(name, at.at, at.cause)
		}
		return failed(name, place{}, err)
	}
	for _, d := range documents {
		d.file = name
		if err := r.document(d); err != nil {
			return err
		}
	}
	return nil
}

// document reads an agent, or lists of specs: an id at the top makes the difference,
// which no list of specs has.
func (r *reading) document(d document) error {
	if _, single := strict.Path("id").Find(d.json); single {
		return r.agent(d, "", d.json)
	}
	var l lists
	if err := strict.Decode(d.json, &l); err != nil {
		return d.failed("", err)
	}
	if l.Default != "" {
		if r.parts.Default != "" {
			return d.failed("default", fmt.Errorf("default is given twice, first at %s", r.ids["default"]))
		}
		r.parts.Default, r.ids["default"] = l.Default, part{d, "default"}
	}
	for _, list := range []struct {
		name  strict.Path
		items []json.RawMessage
		read  func(d document, at strict.Path, item json.RawMessage) error
	}{
		{"agents", l.Agents, r.agent}, {"models", l.Models, r.model}, {"pools", l.Pools, r.pool}, {"providers", l.Providers, r.provider},
	} {
		for i, item := range list.items {
			if err := list.read(d, list.name.Item(i), item); err != nil {
				return err
			}
		}
	}
	return nil
}

// add decodes one checked spec into the list of its kind. An id occurs once among all files
// that are read together, for each kind.
func add[S any](r *reading, kind string, decode func([]byte) (S, error), id func(S) string, list *[]S, d document, at strict.Path, item json.RawMessage) error {
	spec, err := decode(item)
	if err == nil {
		err = r.once(kind, id(spec), d, at)
	}
	if err != nil {
		return d.failed(at, err)
	}
	*list = append(*list, spec)
	return nil
}

func (r *reading) agent(d document, at strict.Path, item json.RawMessage) error {
	return add(r, "agent", spectext.DecodeSpec, func(s agent.Spec) string { return s.ID }, &r.parts.Specs, d, at, item)
}

func (r *reading) model(d document, at strict.Path, item json.RawMessage) error {
	return add(r, "model", spectext.DecodeModel, func(m agent.ModelSpec) string { return m.ID }, &r.parts.ModelSpecs, d, at, item)
}

func (r *reading) pool(d document, at strict.Path, item json.RawMessage) error {
	return add(r, "pool", spectext.DecodePool, func(p agent.ModelPoolSpec) string { return p.ID }, &r.parts.Pools, d, at, item)
}

// provider reads a provider, and its key from the place in the file: every reader of the
// file would see a key, so that one is refused before it is decoded.
func (r *reading) provider(d document, at strict.Path, item json.RawMessage) error {
	if _, given := strict.Path("api_key").Find(item); given {
		return d.failed(at.Member("api_key"), errors.New("api_key does not belong into a file, api_key_env names the environment variable that holds it"))
	}
	err := add(r, "provider", spectext.DecodeProvider, func(p agent.ProviderSpec) string { return p.ID }, &r.parts.Providers, d, at, item)
	if err != nil {
		return err
	}
	if p := &r.parts.Providers[len(r.parts.Providers)-1]; p.APIKeyEnv != "" && r.loader.Env != nil {
		key, _ := r.loader.Env(p.APIKeyEnv) // one that is not set is an error when an agent uses the provider
		p.APIKey = secret.New(key)
	}
	return nil
}

// once notes where an id was given, and refuses it where it was before.
func (r *reading) once(kind, id string, d document, at strict.Path) error {
	key := kind + " " + id
	if first, twice := r.ids[key]; twice {
		return fmt.Errorf("%s %q is given twice, first at %s", kind, id, first)
	}
	r.ids[key] = part{d, cmp.Or(at, "id")}
	return nil
}
