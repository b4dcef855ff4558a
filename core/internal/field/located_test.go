package field_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/field"
)

func TestTheSpecsThatAnErrorIsAbout(t *testing.T) {
	missing := core.Errorf(core.CodeNotFound, "no such thing")
	agent := func(err error) error {
		return &field.Located{Kind: "agent", ID: "a", Err: fmt.Errorf("agent a: %w", err)}
	}
	tests := []struct {
		name, text string
		err        error
		want       []string // kind, id, field
	}{
		{"no spec", "no such thing", missing, nil},
		{"a field without a spec", "no such thing", field.At("model", missing), nil},
		{"a spec", "agent a: no such thing", agent(missing), []string{"agent a "}},
		{"a field of a spec", "build: agent a: no such thing", fmt.Errorf("build: %w", agent(field.At("model", missing))), []string{"agent a model"}},
		{"the outer of two fields", "agent a: no such thing", agent(field.At("tools[1]", field.At("name", missing))), []string{"agent a tools[1]"}},
		{"a field of the first of several errors", "agent a: no such thing\nother", agent(errors.Join(field.At("model", missing), errors.New("other"))), []string{"agent a model"}},
		{"a field of a single error that was joined", "agent a: no such thing", agent(errors.Join(field.At("model", missing))), []string{"agent a model"}},
		{"a checked field", `agent "b": model is empty`, field.Invalid("agent", "b", "model", "is empty"), []string{"agent b model"}},
		{"a spec within a spec", "agent a: no such thing", agent(&field.Located{Kind: "model", ID: "m", Field: "provider", Err: missing}), []string{"agent a ", "model m provider"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, s := range field.Specs(test.err) {
				got = append(got, s.Kind+" "+s.ID+" "+s.Field)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if test.err.Error() != test.text {
				t.Errorf("text %q, want %q", test.err, test.text)
			}
		})
	}
	if err := agent(field.At("model", missing)); !errors.Is(err, missing) || core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("%v has code %s", err, core.CodeOf(err))
	}
}
