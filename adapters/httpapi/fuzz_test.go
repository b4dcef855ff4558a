package httpapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
)

// FuzzParseObject checks that any body is refused with a client's error or
// taken apart without a rest.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"messages":[]}`, `{"messages":[{"role":"user","content":"a"}]}`, `{"a":1,"a":2}`, `{"messages":null}`,
		`{"mode":"steer","agent_id":"x","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"a"}]}]}`,
		`{"messages":[{"content":[{}]}]} x`, strings.Repeat(`{"messages":[`, 40),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := parseObject(body, nil)
		if err == nil {
			_, err = o.text("mode")
		}
		if err == nil {
			_, err = o.text("agentId", "agent_id")
		}
		if err == nil {
			_, err = o.messages()
		}
		if err == nil {
			err = o.end()
		}
		if code := core.CodeOf(err); err != nil && code != core.CodeInvalid && code != core.CodeUnsupported {
			t.Fatalf("code %s: %v", code, err)
		}
	})
}

// FuzzSplit holds the members that a body is split into against encoding/json.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { } `, "{\n\t\"a\" : 1 , \"b\":\"x\\\"y\"\r}", `{"a":[1,{"b":"]}"}, [ ]],"c":-1e5}`, `{"\u0061":true,"b":null,"":{"a":{}}}`, `[1]`, `"a"`, `{"a":"\\"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) {
			return // refused before
		}
		var want map[string]json.RawMessage
		failed := json.Unmarshal(body, &want)
		o, err := parseObject(body, nil)
		if err != nil {
			if failed == nil && want != nil && !strings.Contains(err.Error(), "twice") {
				t.Fatalf("parseObject returns %v, encoding/json %q", err, want)
			}
			return
		}
		if failed != nil || len(o.members) != len(want) {
			t.Fatalf("parseObject returns %q, encoding/json %q, %v", o.members, want, failed)
		}
		for _, m := range o.members {
			if !bytes.Equal(m.value, want[m.key]) {
				t.Fatalf("%q is %q, want %q", m.key, m.value, want[m.key])
			}
			if m.value[0] != '[' {
				continue
			}
			var items []json.RawMessage
			if err := json.Unmarshal(m.value, &items); err != nil {
				t.Fatal(err)
			}
			got, err := list(m.key, m.value)
			if diff := cmp.Diff(items, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Fatalf("%v, items (-want +got):\n%s", err, diff)
			}
		}
	})
}

// A cursor that a client makes up is refused, or is one that this server would have given.
func FuzzListCursors(f *testing.F) {
	for _, seed := range []string{"threads:1#t1#L#", "runs:0#t1#", "patches:7#00000000-0000-4000-8000-000000000000", "threads:-1#t1#L#", "runs:1##", "threads:+1#t#a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cursor := encodePlace("", text)
		for _, kind := range []string{threadsCursor, runsCursor} {
			place, err := decodeListed(kind, &cursor)
			if err != nil {
				continue
			}
			again, err := decodeListed(kind, encodeListed(kind, place))
			if err != nil || *again != *place || place.At < 0 {
				t.Fatalf("%q is the place %+v, and that %+v, %v", text, place, again, err)
			}
		}
		if at, err := decodeStateCursor(cursor); err == nil && at.Seq >= 1<<40 {
			t.Fatalf("%q is the place %+v", text, at)
		}
	})
}
