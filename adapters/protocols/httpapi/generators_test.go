package httpapi

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi/internal/openapi"
)

// Generators of clients refuse a schema that is true or false, and make a type without
// keys of an object's oneOf. additionalProperties may be false, as OpenAPI always had it.
func TestSchemasAreThoseThatGeneratorsOfClientsRead(t *testing.T) {
	document, err := openapi.Document("../../..", documented(), problem{})
	if err != nil {
		t.Fatal(err)
	}
	var d any
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var walk func(at string, in any, schema bool)
	walk = func(at string, in any, schema bool) {
		switch v := in.(type) {
		case bool:
			if schema {
				t.Errorf("%s is a schema that is %t", at, v)
			}
		case []any:
			for _, item := range v {
				walk(at, item, schema)
			}
		case map[string]any:
			if schema {
				seen++
				if v["properties"] != nil && v["oneOf"] != nil {
					t.Errorf("%s has oneOf beside properties", at)
				}
			}
			for key, item := range v {
				if key == "additionalProperties" && item == false {
					continue
				}
				switch {
				case schema && key == "properties", key == "schemas":
					for name, property := range item.(map[string]any) {
						walk(at+"/"+key+"/"+name, property, true)
					}
				default:
					walk(at+"/"+key, item, slices.Contains([]string{"schema", "items", "not", "if", "then", "else", "contains", "anyOf", "oneOf", "allOf", "contentSchema", "additionalProperties"}, key))
				}
			}
		}
	}
	walk("", d, false)
	if seen < 300 {
		t.Errorf("%d schemas were looked at, want 300 or more", seen)
	}
}
