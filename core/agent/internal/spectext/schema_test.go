package spectext_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/reveille-run/reveille/core/agent/internal/spectext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// schemas are those of every kind of spec.
var schemas = map[string]func() (json.RawMessage, error){
	"agent": spectext.SpecSchema, "model": spectext.ModelSchema, "pool": spectext.PoolSchema, "provider": spectext.ProviderSchema,
}

func TestSchemasAreThoseOfTheGoldenFiles(t *testing.T) {
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			text, err := schema()
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, text, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			path := filepath.Join("testdata", name+".schema.json")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("rewrite it with -update:\n%s", diff)
			}
		})
	}
}

// What a schema says of one field is what decoding says of it.
func TestSchemasAgreeWithDecoding(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"agent":    func(b []byte) error { _, err := spectext.DecodeSpec(b); return err },
		"model":    func(b []byte) error { _, err := spectext.DecodeModel(b); return err },
		"pool":     func(b []byte) error { _, err := spectext.DecodePool(b); return err },
		"provider": func(b []byte) error { _, err := spectext.DecodeProvider(b); return err },
	}
	tests := []struct {
		kind, text string
		valid      bool
	}{
		{"agent", full, true},
		{"agent", `{"id":"a","model":"m"}`, true},
		{"agent", `{"id":"a"}`, false},
		{"agent", `{"model":"m"}`, false},
		{"agent", `{"id":"a b","model":"m"}`, false},
		{"agent", `{"id":"a","model":"m","max_round":1}`, false},
		{"agent", `{"id":"a","model":"m","max_rounds":-1}`, false},
		{"agent", `{"id":"a","model":"m","max_rounds":1.5}`, false},
		{"agent", `{"id":"a","model":"m","max_continuations":20}`, true},
		{"agent", `{"id":"a","model":"m","max_repairs":10}`, true},
		{"agent", `{"id":"a","model":"m","max_repairs":11}`, false},
		{"agent", `{"id":"a","model":"m","max_continuations":21}`, false},
		{"agent", `{"id":"a","model":"m","retry":{"max_retries":21}}`, false},
		{"agent", `{"id":"a","model":"m","retry":{"stream_idle_timeout_ms":1}}`, false},
		{"agent", `{"id":"a","model":"m","temperature":-1}`, false},
		{"agent", `{"id":"a","model":"m","top_p":1}`, true},
		{"agent", `{"id":"a","model":"m","top_p":1.1}`, false},
		{"agent", `{"id":"a","model":"m","reasoning_effort":"max"}`, true},
		{"agent", `{"id":"a","model":"m","reasoning_effort":"huge"}`, false},
		{"agent", `{"id":"a","model":"m","reasoning_effort":{"budget":0}}`, false},
		{"agent", `{"id":"a","model":"m","reasoning_effort":{}}`, false},
		{"agent", `{"id":"a","model":"m","tool_choice":{"mode":"any"}}`, false},
		{"agent", `{"id":"a","model":"m","execution_mode":"parallel"}`, false},
		{"agent", `{"id":"a","model":"m","context":{"compaction_mode":"all"}}`, false},
		{"agent", `{"id":"a","model":"m","plugins":"x"}`, false},
		{"agent", `{"id":"a","model":"m","stop":[{"type":"timeout","seconds":1}]}`, true},
		{"agent", `{"id":"a","model":"m","stop":[{"type":"moon"}]}`, false},
		{"agent", `{"id":"a","model":"m","stop":[{"type":"timeout","second":1}]}`, false},
		{"agent", `{"id":"a","model":"m","stop":[{"type":"loop_detection","window":65}]}`, false},
		{"agent", `{"id":"a","model":"m","provider_options":{"p":{"k":1}}}`, true},
		{"agent", `{"id":"a","model":"m","provider_options":{"p":1}}`, false},
		{"model", `{"id":"m","provider":"p","upstream_model":"u"}`, true},
		{"model", `{"id":"m","provider":"p"}`, false},
		{"model", `{"id":"m","provider":"p","upstream_model":"u","context_window":-1}`, false},
		{"pool", `{"id":"p","members":[{"model":"a","weight":1000}]}`, true},
		{"pool", `{"id":"p","members":[{"model":"a","weight":1001}]}`, false},
		{"pool", `{"id":"p","members":[{"model":"a","role":"x"}]}`, false},
		{"pool", `{"id":"p","members":[{"model":"a"}],"routing":"round_robin"}`, false},
		{"provider", `{"id":"p","adapter":"a","api_key":"sk","options":{}}`, true},
		{"provider", `{"id":"p","adapter":"a","options":[]}`, false},
		{"provider", `{"id":"p","adapter":"a","timeout_ms":900001}`, false},
		{"provider", `{"id":"p"}`, false},
	}
	for _, test := range tests {
		text, err := schemas[test.kind]()
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
		var value any
		if err := json.Unmarshal([]byte(test.text), &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != test.valid {
			t.Errorf("schema of %s says of %s: %v, want valid: %v", test.kind, test.text, err, test.valid)
		}
		if err := decoders[test.kind]([]byte(test.text)); (err == nil) != test.valid {
			t.Errorf("decoding %s %s: %v, want valid: %v", test.kind, test.text, err, test.valid)
		}
	}
}
