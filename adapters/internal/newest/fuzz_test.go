package newest_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/newest"
	"github.com/reveille-run/reveille/core/strict"
)

// FuzzRead compares Read with encoding/json: it takes the same texts, and keeps the same
// values, but for messages at the start of the list.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user"},{"role":"assistant","a":[1,-0.5e-3,true,false,null]},{"role":"user","b":"\u00e9\n\\\""}],"id":"é"}`,
		`{"messages":[{"role":"system"},{},{"role":"assistant"},{"role":"assistant"},{"role":"user"}]}`,
		`{"messages":[{"role":"assistant","Role":"user"}],"messages":[]}`, `[[[[[[]]]]]]`, ` -1.5E+7 `, `"\ud83d\ude00"`, `{"messages":[5]}`, `{"a":01}`, "{\"a\":\"\xff\"}", "A\xff0", `{"a":tru}`, `{} {}`,
	} {
		f.Add([]byte(seed), 20)
	}
	f.Fuzz(func(t *testing.T, text []byte, recent int) {
		l := newest.Limits{Recent: max(0, recent), Kept: 1 << 20, Read: 1 << 20, Depth: 8}
		got, skipped, err := newest.Read(bytes.NewReader(text), chat, l)
		again, skippedAgain, errAgain := newest.Read(iotest.OneByteReader(bytes.NewReader(text)), chat, l)
		if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() || !bytes.Equal(got, again) || skipped != skippedAgain {
			t.Fatalf("%s in one piece: %s, %d, %v; in many: %s, %d, %v", text, got, skipped, err, again, skippedAgain, errAgain)
		}
		fits := json.Valid(text) && utf8.Valid(text) && strict.Options{MaxDepth: 8}.CheckDepth(text) == nil
		if err != nil {
			if fits && !odd(text) {
				t.Fatalf("%s is refused: %v", text, err)
			}
			return
		}
		if !fits || !json.Valid(got) {
			t.Fatalf("%s is accepted: %s", text, got)
		}
		if skipped == 0 {
			same(t, text, got)
		}
	})
}

func same(t *testing.T, text, got []byte) {
	t.Helper()
	var want, have any
	if json.Unmarshal(text, &want) == nil && json.Unmarshal(got, &have) == nil {
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("%s is kept as %s: %s", text, got, diff)
		}
	}
}

// odd reports whether a list of messages may have something else than objects, which only
// Read refuses, or too many messages.
func odd(text []byte) bool {
	return bytes.Contains(text, []byte(`"messages"`))
}
