package state_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/state"
)

func TestExportHasTheStoredValuesOfAScope(t *testing.T) {
	r := registry(t, hint.Definition(), names.Definition())
	s, _ := must(t, r, given(t, 6, map[string]string{
		"/run/names": `["<b>"]`, "/run/gone": `{"z":1,"a":2}`, "/thread/total": "5", "/call/0/note": `"x"`,
	}), hint.Update("never"))
	tests := []struct {
		scope state.Scope
		want  string
		err   string
	}{
		{state.ScopeRun, `{"revision":6,"extensions":{"gone":{"a":2,"z":1},"names":["<b>"]}}`, "<nil>"},
		{state.ScopeThread, `{"revision":6,"extensions":{"total":5}}`, "<nil>"},
		{state.ScopeCall, ``, "exporting state: values of call cannot be exported"},
	}
	for _, test := range tests {
		t.Run(test.scope.String(), func(t *testing.T) {
			got, err := s.Export(test.scope)
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.err, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
	empty, err := state.Snapshot{}.Export(state.ScopeThread)
	if diff := cmp.Diff(`{"revision":0,"extensions":{}}`, string(empty)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, err = given(t, 1, map[string]string{"/run/names": `[`}).Export(state.ScopeRun)
	if diff := cmp.Diff(`exporting state: the value of state key "names" is not JSON`, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != core.CodeCorrupt {
		t.Error(diff)
	}
}

func TestImportIsStrict(t *testing.T) {
	tests := []struct {
		name  string
		data  string
		scope state.Scope
		known bool              // the rest is omitted
		want  map[string]string // by path
		err   string
		code  core.Code
	}{
		{"values of the scope", `{"revision":7,"extensions":{"total": 5 ,"seen":{"b":1,"a":2}}}`, state.ScopeThread, false, map[string]string{"/thread/seen": `{"a":2,"b":1}`, "/thread/total": "5"}, "<nil>", ""},
		{"an unknown key is left out", `{"revision":7,"extensions":{"total":5,"gone":1}}`, state.ScopeThread, true, map[string]string{"/thread/total": "5"}, "<nil>", ""},
		{"an unknown key is refused", `{"revision":7,"extensions":{"total":5,"gone":1}}`, state.ScopeThread, false, nil, `importing state: unknown state key "gone" of scope thread`, core.CodeInternal},
		{"a key of another scope is unknown", `{"revision":7,"extensions":{"names":[]}}`, state.ScopeThread, false, nil, `importing state: unknown state key "names" of scope thread`, core.CodeInternal},
		{"a key of another scope is left out", `{"revision":7,"extensions":{"names":[]}}`, state.ScopeThread, true, map[string]string{}, "<nil>", ""},
		{"a transient key is unknown", `{"revision":7,"extensions":{"hint":"x"}}`, state.ScopeRun, false, nil, `importing state: unknown state key "hint" of scope run`, core.CodeInternal},
		{"a value of another type", `{"revision":7,"extensions":{"total":"x"}}`, state.ScopeThread, true, nil, `importing state: decoding the value of state key "total": json: cannot unmarshal string into Go value of type int`, core.CodeCorrupt},
		{"another member", `{"revision":7,"extensions":{},"x":1}`, state.ScopeThread, true, nil, `importing state: decoding it: unknown field "x", allowed are revision, extensions`, core.CodeInvalid},
		{"no revision", `{"extensions":{}}`, state.ScopeThread, true, nil, `importing state: it has no revision`, core.CodeInvalid},
		{"a negative revision", `{"revision":-1,"extensions":{}}`, state.ScopeThread, true, nil, `importing state: decoding it: revision is -1, want a whole number from 0 to 18446744073709551615`, core.CodeInvalid},
		{"no extensions", `{"revision":7}`, state.ScopeThread, true, nil, `importing state: it has no extensions`, core.CodeInvalid},
		{"a key that is given twice", `{"revision":7,"extensions":{"total":1,"total":2}}`, state.ScopeThread, true, nil, `importing state: decoding it: extensions.total is given twice`, core.CodeInvalid},
		{"a list of extensions", `{"revision":7,"extensions":[]}`, state.ScopeThread, true, nil, `importing state: decoding it: extensions is a list, want an object`, core.CodeInvalid},
		{"something behind it", `{"revision":7,"extensions":{}} {}`, state.ScopeThread, true, nil, `importing state: decoding it: value is not JSON at byte 32: invalid character '{' after top-level value`, core.CodeInvalid},
		{"half of it", `{"revision":7,"exten`, state.ScopeThread, true, nil, `importing state: decoding it: value is not JSON at byte 21: unexpected end of JSON input`, core.CodeInvalid},
		{"values of a call", `{"revision":7,"extensions":{}}`, state.ScopeCall, true, nil, `importing state: values of call cannot be exported`, core.CodeInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := registry(t, total.Definition(), seen.Definition(), names.Definition(), note.Definition(), hint.Definition())
			read := r.Import
			if test.known {
				read = r.ImportKnown
			}
			s, err := read([]byte(test.data), test.scope)
			if diff := cmp.Diff(test.err, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil {
				if core.CodeOf(err) != test.code || !s.Equal(state.Snapshot{}) {
					t.Errorf("code %s, values %v", core.CodeOf(err), values(s))
				}
				return
			}
			if diff := cmp.Diff(test.want, values(s)); diff != "" || s.Revision() != 7 {
				t.Error(diff, s.Revision())
			}
		})
	}
	deep := given(t, 7, map[string]string{"/run/plan~1~0": strings.Repeat("[", 1000) + strings.Repeat("]", 1000)})
	exported, err := deep.Export(state.ScopeRun)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := registry(t).Import(exported, state.ScopeRun); err != nil || !again.Equal(deep) {
		t.Errorf("a value that nests deeply is imported as %v, %v", values(again), err)
	}
	_, err = registry(t).Import([]byte(`{"revision":1,"extensions":{"gone":1}}`), state.ScopeRun)
	if !errors.Is(err, stateerror.ErrUnknownKey) {
		t.Errorf("%v is not an unknown key", err)
	}
}

// FuzzImport reads any bytes: they are refused by code, or what comes of them is
// exported and read again as the same.
func FuzzImport(f *testing.F) {
	for _, data := range []string{`{"revision":7,"extensions":{"total":5,"seen":{"b":1,"a":2}}}`, `{"revision":0,"extensions":{"names":["\u003c"]}}`, `{"Revision":1,"extensions":{"total":null}}`, `{}`} {
		f.Add([]byte(data))
	}
	r := registry(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := r.ImportKnown(data, state.ScopeThread)
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeInvalid && code != core.CodeCorrupt {
				t.Fatalf("%v has code %s", err, code)
			}
			return
		}
		exported, err := s.Export(state.ScopeThread)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.Import(exported, state.ScopeThread)
		if err != nil || !again.Equal(s) {
			t.Fatalf("%s reads as %v, %v", exported, values(again), err)
		}
	})
}
