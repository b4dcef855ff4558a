package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// A number beyond a bound of the document, a value that no enum has, a key that no schema
// has: each is refused, so that the document and the decoders are of one mind.
func TestWhatTheDocumentForbidsIsRefused(t *testing.T) {
	r := newReal(t)
	d := readDescription(t, r)
	run := r.waits("call: confirm {}").ID.String()
	refused := func(route httpapi.Route, query, body, what string, header ...string) string {
		rec := do(r, route.Method, pathOf(route, "t1", run, nobodys)+query, body, header...)
		if rec.Code != 400 || !strings.Contains(rec.Body.String(), `"code":"invalid"`) {
			t.Errorf("%s: %s: status %d, %s", route.Name, what, rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	for _, route := range httpapi.Routes() {
		o := d.operations()[route.Method+" "+route.Path]
		for _, p := range o.Parameters {
			for _, bad := range forbidden(p.Schema) {
				switch text := url.QueryEscape(strings.Trim(bad, `"`)); p.In {
				case "query":
					refused(route, "?"+p.Name+"="+text, wellFormed[route.Name], p.Name+" "+bad)
				case "header":
					refused(route, "", wellFormed[route.Name], p.Name+" "+bad, p.Name, text)
				} // of a path: 404 or 400, by route
			}
		}
		if o.RequestBody == nil {
			continue
		}
		schema := o.RequestBody.Content["application/json"].Schema
		body := d.Components.Schemas[strings.TrimPrefix(schema.Ref, schemaRefs)]
		answer := refused(route, "", with(t, wellFormed[route.Name], "zz", "1"), "an unknown key")
		if !sameKeys(answer, body.Properties) {
			t.Errorf("%s: %s, documented are %v", route.Name, answer, slices.Sorted(maps.Keys(body.Properties)))
		}
		for name, property := range body.Properties {
			bads := forbidden(property)
			if property.Type == "string" {
				bads = append(bads, "7")
			}
			for _, bad := range bads {
				refused(route, "", with(t, wellFormed[route.Name], name, bad), name+" "+bad)
			}
		}
	}
}

// with is a body with another value under a key.
func with(t *testing.T, body, key, value string) string {
	t.Helper()
	members := map[string]json.RawMessage{}
	if body != "" {
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			t.Fatal(err)
		}
	}
	members[key] = json.RawMessage(value)
	if key == "regenerate_from" {
		delete(members, "messages")
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sameKeys compares the keys that a refusal allows with those of a schema.
func sameKeys(refusal string, documented map[string]*jsonschema.Schema) bool {
	_, allowed, _ := strings.Cut(refusal, "allowed are ")
	allowed, _, _ = strings.Cut(allowed, `"`)
	return slices.Equal(slices.Sorted(slices.Values(strings.Split(allowed, ", "))), slices.Sorted(maps.Keys(documented)))
}

// forbidden are JSON values that a schema forbids.
func forbidden(s *jsonschema.Schema) (all []string) {
	if s.Maximum != nil {
		all = append(all, strconv.FormatFloat(*s.Maximum+1, 'f', 0, 64))
	}
	if s.Minimum != nil {
		all = append(all, strconv.FormatFloat(*s.Minimum-1, 'f', 0, 64), `"one"`)
		if s.Type == "integer" {
			all = append(all, "1.5")
		}
	}
	if len(s.Enum) > 0 {
		all = append(all, `"zz"`)
	}
	if s.Pattern != "" {
		all = append(all, `"a#b"`, `".."`, `"`+strings.Repeat("a", 129)+`"`)
	}
	return all
}
