package catalog

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Every line is read by the scanner, and as encoding/json reads it.
func TestLinesAreReadAsJSON(t *testing.T) {
	read := 0
	for line := range bytes.Lines(builtIn) {
		line = bytes.TrimRight(line, ",\n")
		if !bytes.Contains(line, []byte(`"provider"`)) {
			continue
		}
		var want entry
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		s := scanner{rest: line}
		if diff := cmp.Diff(want, s.model(), exact); diff != "" || s.failed || len(s.rest) > 0 {
			t.Errorf("failed %t, left %q (-want +got):\n%s", s.failed, s.rest, diff)
		}
		read++
	}
	if read < 600 {
		t.Errorf("the catalog has %d lines", read)
	}
}

func TestLinesOfOtherFormsAreReadAsJSON(t *testing.T) {
	for _, text := range []string{
		`{"provider": "p", "names": ["a\u0062"], "source": "s"}`,
		`{"provider": "p", "names": ["ab"], "source": "s", "tokens_per_byte": 0.3}`,
		`{"provider": "p", "names": [], "prices": [{"from": "2025-01-01", "input": 1, "source": "s"}]}`,
		`{"provider": "p", "names": null}`, `{"provider": "p"`, `{"provider": "p"} 1`, `{"provider": "p",}`, `{"context_window": 1.5}`,
		`{"native_format": true}`, `{"native_format": false}`, `{"native_format": 1}`, `{"names": ["a"], "names": ["b"]}`, "{\"provider\": \"\xff\"}", `{`, ``, `[]`, `{"names": ["a" "b"]}`, `{"provider" "p"}`, `{"max_input_tokens": }`,
	} {
		var want entry
		wrong := json.Unmarshal([]byte(text), &want)
		got, err := decode([]byte(text))
		if (err != nil) != (wrong != nil) || err == nil && !cmp.Equal(want, got, exact, cmpopts.EquateEmpty()) {
			t.Errorf("%s: %+v, %v, want %+v, %v", text, got, err, want, wrong)
		}
	}
}

func FuzzLine(f *testing.F) {
	for line := range bytes.Lines(builtIn) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var want entry
		wrong := json.Unmarshal(bytes.TrimRight(line, ",\n"), &want)
		got, err := decode(line)
		if wrong == nil && (err != nil || !cmp.Equal(want, got, exact, cmpopts.EquateEmpty())) {
			t.Errorf("%s: %+v, %v, want %+v", line, got, err, want)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		if _, ok := Default().find("anthropic", "claude-haiku-4-5"); !ok {
			b.Fatal("not there")
		}
	}
}
