package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// description is the served document, as far as tests read it.
type description struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas   map[string]*jsonschema.Schema
		Responses map[string]answer
	}
	keys     map[*jsonschema.Schema]string // of the schemas of responses, as all has them
	resolved *jsonschema.Resolved          // of all of them: an object with a key for each
}

type operation struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   *jsonschema.Schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]content
	}
	Responses map[string]answer
}

type answer struct {
	Ref     string `json:"$ref"`
	Content map[string]content
}

type content struct{ Schema *jsonschema.Schema }

const (
	schemaRefs   = "#/components/schemas/"
	responseRefs = "#/components/responses/"
)

// readDescription asks a handler for its document.
func readDescription(t *testing.T, h http.Handler) description {
	t.Helper()
	rec := do(h, "GET", "/openapi.json", "")
	if kind := rec.Header().Get("Content-Type"); rec.Code != 200 || kind != "application/json" {
		t.Fatalf("status %d, content type %q", rec.Code, kind)
	}
	d := description{keys: map[*jsonschema.Schema]string{}}
	if err := json.Unmarshal(rec.Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// operations are the document's, by method and path.
func (d description) operations() map[string]operation {
	all := map[string]operation{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			all[strings.ToUpper(method)+" "+path] = o
		}
	}
	return all
}

// answers are an operation's by status, without references.
func (d description) answers(o operation) map[int]answer {
	all := map[int]answer{}
	for status, a := range o.Responses {
		if a.Ref != "" {
			a = d.Components.Responses[strings.TrimPrefix(a.Ref, responseRefs)]
		}
		n, _ := strconv.Atoi(status)
		all[n] = a
	}
	return all
}

// codes are those that a refusal's schema allows; nil: it is no refusal.
func (a answer) codes() (all []string) {
	schema := a.Content["application/json"].Schema
	if schema == nil || len(schema.AllOf) != 2 || schema.AllOf[0].Ref != schemaRefs+"Problem" {
		return nil
	}
	for _, code := range schema.AllOf[1].Properties["code"].Enum {
		all = append(all, code.(string))
	}
	return all
}

// resolve makes the schemas of all responses ones that validate: as those of the keys of
// one object, since it takes long. Their objects are closed: a key that the document does
// not have is an error, though clients must bear new ones.
func (d *description) resolve() error {
	properties := map[string]*jsonschema.Schema{}
	for _, o := range d.operations() {
		for _, a := range d.answers(o) {
			for kind, c := range a.Content {
				key := strconv.Itoa(len(properties))
				d.keys[c.Schema], properties[key] = key, shape(kind, c.Schema)
			}
		}
	}
	text, err := json.Marshal(map[string]any{"properties": properties, "$defs": d.Components.Schemas})
	if err != nil {
		return err
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(schemaRefs), []byte("#/$defs/")), &root); err != nil {
		return err
	}
	for _, s := range root.Defs {
		if s.Type == "object" && len(s.Properties) > 0 && s.AdditionalProperties == nil {
			s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	}
	d.resolved, err = root.Resolve(nil)
	return err
}

// shape is the schema of the JSON texts of a body, see bodies.
func shape(kind string, schema *jsonschema.Schema) *jsonschema.Schema {
	if kind == "text/event-stream" {
		return schema.Properties["data"].ContentSchema
	}
	return schema
}

// validate holds a JSON text of a response against its schema.
func (d *description) validate(schema *jsonschema.Schema, text []byte) error {
	if d.resolved == nil {
		if err := d.resolve(); err != nil {
			return err
		}
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return d.resolved.Validate(map[string]any{d.keys[schema]: value})
}

func TestTheDocumentHasEveryRoute(t *testing.T) {
	server := newReal(t)
	documented := slices.Sorted(maps.Keys(readDescription(t, server).operations()))
	var routes []string
	mux := http.NewServeMux()
	names := map[string]bool{}
	for _, r := range httpapi.Routes() {
		pattern := r.Method + " " + r.Path
		routes = append(routes, pattern)
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {}) // panics when two conflict
		if names[r.Name] || r.Text == "" || len(r.Answers) == 0 {
			t.Errorf("%s has no name of its own, no text or no answer", pattern)
		}
		names[r.Name] = true
	}
	slices.Sort(routes)
	if !slices.Equal(routes, documented) {
		t.Errorf("routes %q\ndocumented %q", routes, documented)
	}
	// What the handler serves: every route, and for the other methods of its paths 405.
	for path, methods := range readDescription(t, server).Paths {
		if path == "/v1/threads/summaries" { // for the other methods it is a thread of that name
			continue
		}
		at := strings.NewReplacer("{thread}", "t1", "{run}", "r1", "{input}", "i1", "{agent}", "a1", "{step}", "1").Replace(path)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			rec := do(server, method, at, "")
			_, there := methods[strings.ToLower(method)]
			if refused := rec.Code == 405 || strings.Contains(rec.Body.String(), "no route"); refused == there {
				t.Errorf("%s %s: status %d, %s", method, at, rec.Code, rec.Body)
			}
		}
	}
}

// Nothing but the routes and the protocols that are mounted is served: there is no
// other place where the package tells a mux what to do.
func TestOnlyRoutesAreRegistered(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(line, "//") && regexp.MustCompile(`\.Handle(Func)?\(.*,`).MatchString(line) {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	want := []string{"mux.Handle(pattern, handler)", "mounts.Handle(pattern, mounted(handler))", `mounts.Handle("/", protocol.Later(a.all))`, "handler = a.Handle(func(w http.ResponseWriter, request *http.Request, id core.Identity) error {", `mux.HandleFunc(r.Method+" "+r.Path, handler)`, "mux.Handle(pattern, mounted(handler))"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("handlers are registered elsewhere (-want +found):\n%s", diff)
	}
}

// judge holds a response against what the document says of its request, and returns the
// refusal's code, if it is one.
func (d *description) judge(r *http.Request, rec *httptest.ResponseRecorder) (operation, code string, err error) {
	mux := http.NewServeMux()
	for pattern := range d.operations() {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	_, operation = mux.Handler(r)
	a, known := d.answers(d.operations()[operation])[rec.Code]
	switch {
	case !known:
		return operation, "", fmt.Errorf("status %d is undocumented: %s", rec.Code, rec.Body)
	case len(a.Content) == 0:
		if rec.Body.Len() > 0 {
			err = fmt.Errorf("status %d has the undocumented body %s", rec.Code, rec.Body)
		}
		return operation, "", err
	}
	kind, _, _ := mime.ParseMediaType(rec.Header().Get("Content-Type"))
	schema := a.Content[kind].Schema
	if schema == nil {
		return operation, "", fmt.Errorf("status %d has the undocumented content type %q", rec.Code, kind)
	}
	for _, text := range bodies(kind, rec.Body.Bytes()) {
		if err := d.validate(schema, text); err != nil {
			return operation, "", fmt.Errorf("status %d: %w: %s", rec.Code, err, text)
		}
	}
	if a.codes() != nil {
		var problem struct{ Code string }
		err = json.Unmarshal(rec.Body.Bytes(), &problem)
		code = problem.Code
	}
	return operation, code, err
}

// bodies are the JSON texts of a body: itself, or the data of its events.
func bodies(kind string, body []byte) (all [][]byte) {
	if kind != "text/event-stream" {
		return [][]byte{body}
	}
	for line := range bytes.Lines(body) {
		if data, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data: ")); found {
			all = append(all, data)
		}
	}
	return all
}
