package thread_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/thread"
)

type base struct {
	ID     string `json:"id"`
	Hidden string `json:"-"`
}

type record struct {
	base
	Count int `json:"count,omitempty"`
	Plain bool
}

func TestUnknownInFindsWhatAStructHasNoFieldFor(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tests := []struct {
		name   string
		text   string
		except []string
		want   thread.Unknown
	}{
		{"all known", `{"id":"a","count":1,"Plain":true}`, nil, nil},
		{"none", `{}`, nil, nil},
		{"others", `{"id":"a","mood":"calm","cost":{"usd": 1}}`, nil, thread.Unknown{"mood": raw(`"calm"`), "cost": raw(`{"usd": 1}`)}},
		{"others but one", `{"schema":1,"mood":null}`, []string{"schema"}, thread.Unknown{"mood": raw(`null`)}},
		// encoding/json reads names in any case: kept beside the field, the old value would win.
		{"a known one in another case", `{"COUNT":1,"plain":true}`, nil, nil},
		{"names that only an untagged or hidden field has", `{"":1,"-":2,"Hidden":3,"base":4}`, nil, thread.Unknown{"": raw(`1`), "-": raw(`2`), "Hidden": raw(`3`), "base": raw(`4`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range []any{record{}, &record{}} {
				got, err := thread.UnknownIn([]byte(tt.text), v, tt.except...)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	for _, text := range []string{``, `[]`, `{"a":1`} {
		if got, err := thread.UnknownIn([]byte(text), record{}); err == nil {
			t.Errorf("%q is no object, yet %v is found in it", text, got)
		}
	}
}

func TestUnknownIsAppendedInTheOrderOfItsNames(t *testing.T) {
	unknown := thread.Unknown{"b": json.RawMessage(`[1, 2]`), "a\"": json.RawMessage(`"<"`)}
	tests := []struct {
		name    string
		unknown thread.Unknown
		object  string
		want    string
	}{
		{"to an object", unknown, `{"id":"x"}`, `{"id":"x","a\"":"<","b":[1, 2]}`},
		{"to an empty one", unknown, `{}`, `{"a\"":"<","b":[1, 2]}`},
		{"to one that ends in an object", unknown, `{"id":{"x":{}}}`, `{"id":{"x":{}},"a\"":"<","b":[1, 2]}`},
		{"nothing", nil, `{"id":"x"}`, `{"id":"x"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(tt.unknown.AppendTo([]byte(tt.object)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
