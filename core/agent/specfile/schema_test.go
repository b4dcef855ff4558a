package specfile_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core/agent/specfile"
)

func TestTheSchemaOfAFileAgreesWithDecoding(t *testing.T) {
	text, err := specfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		document string
		valid    bool
	}{
		{`{"id":"a","model":"m"}`, true},
		{`{"id":"a","model":"m","agents":[]}`, false},
		{`{"id":"a"}`, false},
		{`{"agents":[{"id":"a","model":"m"}],"default":"a"}`, true},
		{`{"agents":[{"id":"a","model":"m","max_round":1}]}`, false},
		{`{"agents":{}}`, false},
		{`{"agent":[]}`, false},
		{`{"models":[{"id":"m","provider":"p","upstream_model":"u"}],"pools":[{"id":"p","members":[{"model":"m"}]}]}`, true},
		{`{"models":[{"id":"m"}]}`, false},
		{`{"providers":[{"id":"p","adapter":"a","api_key_env":"KEY"}]}`, true},
		{`{"providers":[{"id":"p","adapter":"a","api_key":"sk"}]}`, false},
		{`{}`, true},
		{`[]`, false},
		{`"id"`, false},
	}
	for _, test := range tests {
		var value any
		if err := json.Unmarshal([]byte(test.document), &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != test.valid {
			t.Errorf("the schema says of %s: %v, want valid: %v", test.document, err, test.valid)
		}
		if _, err := specfile.Decode("a.json", []byte(test.document)); (err == nil) != test.valid {
			t.Errorf("decoding %s: %v, want valid: %v", test.document, err, test.valid)
		}
	}
}
