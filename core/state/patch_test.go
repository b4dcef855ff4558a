package state_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

func TestDecodingAPatchRefusesWhatCouldNeverBeFolded(t *testing.T) {
	tests := []struct{ name, patch, want string }{
		{"an unknown operation", `[{"op":"test","path":"/run/k","value":1}]`, `operation "test" of a state patch does not exist`},
		{"no operation", `[{"path":"/run/k"}]`, `operation "" of a state patch does not exist`},
		{"no value", `[{"op":"add","path":"/run/k"}]`, `operation "add" of a state patch at "/run/k" has no value`},
		{"no path", `[{"op":"remove"}]`, `path "" of a state patch does not begin with a slash`},
		{"no scope", `[{"op":"remove","path":"/step/k"}]`, `path "/step/k" of a state patch has no scope`},
		{"a scope alone", `[{"op":"remove","path":"/run"}]`, `path "/run" of a state patch names no key`},
		{"an empty key", `[{"op":"remove","path":"/thread//a"}]`, `path "/thread//a" of a state patch names no key`},
		{"a call alone", `[{"op":"remove","path":"/call/1"}]`, `path "/call/1" of a state patch names no key`},
		{"a scope of calls alone", `[{"op":"remove","path":"/call"}]`, `path "/call" of a state patch names no key`},
		{"a call that is a key", `[{"op":"remove","path":"/call/k"}]`, `path "/call/k" of a state patch names no key`},
		{"a call with an empty index", `[{"op":"remove","path":"/call//a"}]`, `path "/call//a" of a state patch has no call index`},
		{"a call of ten digits", `[{"op":"remove","path":"/call/1234567890/a"}]`, `path "/call/1234567890/a" of a state patch has no call index`},
		{"a call without index", `[{"op":"remove","path":"/call/k/a"}]`, `path "/call/k/a" of a state patch has no call index`},
		{"a call with a sign", `[{"op":"remove","path":"/call/+1/a"}]`, `path "/call/+1/a" of a state patch has no call index`},
		{"a bad escape", `[{"op":"remove","path":"/run/a~2"}]`, `path "/run/a~2" of a state patch has a tilde that escapes nothing`},
		{"another type", `[{"op":1}]`, `decoding an operation of a state patch: json: cannot unmarshal number into Go struct field plain.op of type string`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var p state.Patch
			err := json.Unmarshal([]byte(test.patch), &p)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("code %q, want corrupt", core.CodeOf(err))
			}
		})
	}
}

func TestPatchesKeepTheirWireForm(t *testing.T) {
	const wire = `[{"op":"add","path":"/thread/a","value":null},{"op":"remove","path":"/call/3/a~1b/0"}]`
	if diff := cmp.Diff(wire, text(parse(t, wire))); diff != "" {
		t.Error(diff)
	}
}

func TestKeysAreThoseThatAPatchTouches(t *testing.T) {
	p := parse(t, `[{"op":"add","path":"/thread/a/b","value":1},{"op":"remove","path":"/run/a"},{"op":"remove","path":"/call/3/x~1y/0"},{"op":"remove","path":"/thread/a"}]`)
	want := []state.KeyPath{{Scope: state.ScopeThread, Name: "a"}, {Scope: state.ScopeRun, Name: "a"}, {Scope: state.ScopeCall, Call: 3, Name: "x/y"}}
	if diff := cmp.Diff(want, p.Keys()); diff != "" {
		t.Error(diff)
	}
	if got := (state.Patch{{Op: "remove", Path: "nowhere"}, {Op: "remove", Path: "/run"}}).Keys(); len(got) != 0 {
		t.Errorf("paths that are none lead to %v", got)
	}
}

func TestPathsAreMembersOfAManifest(t *testing.T) {
	manifest := map[state.KeyPath]int{{Scope: state.ScopeThread, Name: "a/b~"}: 1, {Scope: state.ScopeCall, Call: 2, Name: "c"}: 2, {Name: "d"}: 3}
	wire := text(manifest)
	if diff := cmp.Diff(`{"/call/2/c":2,"/run/d":3,"/thread/a~1b~0":1}`, wire); diff != "" {
		t.Error(diff)
	}
	var again map[state.KeyPath]int
	if err := json.Unmarshal([]byte(wire), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(manifest, again); diff != "" {
		t.Error(diff)
	}
	var path state.KeyPath
	for text, want := range map[string]string{
		"/run/d/0": `path "/run/d/0" points into the value of a state key`,
		"nowhere":  `path "nowhere" of a state patch does not begin with a slash`,
	} {
		err := path.UnmarshalText([]byte(text))
		if core.CodeOf(err) != core.CodeCorrupt || fmt.Sprint(err) != want || path != (state.KeyPath{}) {
			t.Errorf("%s is %v, %v of code %s, want %s", text, path, err, core.CodeOf(err), want)
		}
	}
	if err := path.UnmarshalText([]byte("/call/123456789/d")); err != nil || path != (state.KeyPath{Scope: state.ScopeCall, Call: 123456789, Name: "d"}) {
		t.Errorf("a call of nine digits is %v, %v", path, err)
	}
}

func TestPathsAreInOrderOfScopeCallAndName(t *testing.T) {
	s := given(t, 1, map[string]string{"/call/10/a": "1", "/call/2/b": "1", "/call/2/a": "1", "/call/0/a": "1", "/run/b": "1", "/run/a": "1", "/thread/c": "1"})
	want := "[/thread/c /run/a /run/b /call/0/a /call/2/a /call/2/b /call/10/a]"
	if diff := cmp.Diff(want, fmt.Sprint(s.Paths())); diff != "" {
		t.Error(diff)
	}
}

func TestJoinKeepsTheLastSettingOfAKey(t *testing.T) {
	tests := []struct{ name, first, second, want string }{
		{"different keys", `[{"op":"add","path":"/run/a","value":1}]`, `[{"op":"add","path":"/run/b","value":1}]`,
			`[{"op":"add","path":"/run/a","value":1},{"op":"add","path":"/run/b","value":1}]`},
		{"replaced twice", `[{"op":"replace","path":"/run/k","value":1},{"op":"add","path":"/run/b","value":1}]`, `[{"op":"replace","path":"/run/k","value":2}]`,
			`[{"op":"add","path":"/run/b","value":1},{"op":"replace","path":"/run/k","value":2}]`},
		{"new and replaced", `[{"op":"add","path":"/run/k","value":[]},{"op":"add","path":"/run/k/-","value":1}]`, `[{"op":"replace","path":"/run/k","value":[2]},{"op":"add","path":"/run/k/-","value":3}]`,
			`[{"op":"add","path":"/run/k","value":[2]},{"op":"add","path":"/run/k/-","value":3}]`},
		{"edited and replaced", `[{"op":"add","path":"/run/k/-","value":1}]`, `[{"op":"replace","path":"/run/k","value":[2]}]`,
			`[{"op":"replace","path":"/run/k","value":[2]}]`},
		{"new and removed", `[{"op":"add","path":"/run/k","value":1}]`, `[{"op":"remove","path":"/run/k"}]`,
			`[{"op":"add","path":"/run/k","value":1},{"op":"remove","path":"/run/k"}]`},
		{"removed and new", `[{"op":"remove","path":"/run/k"}]`, `[{"op":"add","path":"/run/k","value":1}]`,
			`[{"op":"add","path":"/run/k","value":1}]`},
		{"the same name in two scopes", `[{"op":"replace","path":"/run/k","value":1}]`, `[{"op":"replace","path":"/thread/k","value":1}]`,
			`[{"op":"replace","path":"/run/k","value":1},{"op":"replace","path":"/thread/k","value":1}]`},
		{"nothing", `[]`, `[]`, `null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, text(parse(t, test.first).Join(nil, parse(t, test.second)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Folding it will say what is wrong.
func TestJoinLeavesAPatchWithABadPathAlone(t *testing.T) {
	bad := state.Patch{{Op: "replace", Path: "/run/k", Value: []byte("1")}, {Op: "replace", Path: "/run/k", Value: []byte("2")}, {Op: "remove", Path: "nowhere"}}
	if diff := cmp.Diff(bad, bad[:2].Join(bad[2:])); diff != "" {
		t.Error(diff)
	}
}

func TestDiffOfSnapshotsLeadsFromOneToTheOther(t *testing.T) {
	from := given(t, 3, map[string]string{"/thread/gone": "1", "/thread/same": "[1]", "/run/n": "1"})
	to := given(t, 9, map[string]string{"/thread/same": "[1]", "/run/n": "2", "/call/1/new": "[]"})
	want := `[{"op":"remove","path":"/thread/gone"},{"op":"replace","path":"/run/n","value":2},{"op":"add","path":"/call/1/new","value":[]}]`
	if diff := cmp.Diff(want, text(from.Diff(to))); diff != "" {
		t.Error(diff)
	}
	want = `[{"op":"add","path":"/thread/gone","value":1},{"op":"replace","path":"/run/n","value":1},{"op":"remove","path":"/call/1/new"}]`
	if diff := cmp.Diff(want, text(to.Diff(from))); diff != "" {
		t.Error(diff)
	}
}

func TestDiffOfAValueIsTheSmaller(t *testing.T) {
	const a, b, c = `"a: an element that is much longer than the path that leads to it"`, `"b: an element that is much longer than the path that leads to it"`, `"c: an element that is much longer than the path that leads to it"`
	tests := []struct{ name, from, to, want string }{
		{"an element behind", `[` + a + `,` + b + `]`, `[` + a + `,` + b + `,0]`, `[{"op":"add","path":"/run/k/-","value":0}]`},
		{"an element within", `[` + a + `,` + b + `]`, `[` + a + `,0,1,` + b + `]`, `[{"op":"add","path":"/run/k/1","value":0},{"op":"add","path":"/run/k/2","value":1}]`},
		{"elements gone", `[` + a + `,0,1,` + b + `]`, `[` + a + `,` + b + `]`, `[{"op":"remove","path":"/run/k/1"},{"op":"remove","path":"/run/k/1"}]`},
		{"the first gone", `[0,` + a + `,` + b + `]`, `[` + a + `,` + b + `]`, `[{"op":"remove","path":"/run/k/0"}]`},
		{"one changed, one gone", `[` + a + `,1,2,` + b + `]`, `[` + a + `,3,` + b + `]`, `[{"op":"replace","path":"/run/k/1","value":3},{"op":"remove","path":"/run/k/2"}]`},
		{"everything changed", `[` + a + `,` + b + `]`, `[` + b + `,` + c + `]`, `[{"op":"replace","path":"/run/k","value":[` + b + `,` + c + `]}]`},
		{"deep inside", `{"x":[{"y":1,"z":` + a + `}],"w":` + b + `}`, `{"x":[{"y":2,"z":` + a + `}],"w":` + b + `}`, `[{"op":"replace","path":"/run/k/x/0/y","value":2}]`},
		{"a small part as a whole", `{"w":` + a + `,"x":{"p":1,"q":2}}`, `{"w":` + a + `,"x":{"p":2,"q":1}}`, `[{"op":"replace","path":"/run/k/x","value":{"p":2,"q":1}}]`},
		{"an escaped name", `{"w":` + a + `,"x/~":1}`, `{"w":` + a + `,"x/~":2}`, `[{"op":"replace","path":"/run/k/x~1~0","value":2}]`},
		{"a member gone, in fewer bytes than the rest", `{"abcd":1}`, `{}`, `[{"op":"remove","path":"/run/k/abcd"}]`},
		{"a member gone, in more bytes than the rest", `{"abcdefghijkl":1}`, `{}`, `[{"op":"replace","path":"/run/k","value":{}}]`},
		{"a member gone, in one byte less than the rest", `{"abcdefghij":1}`, `{}`, `[{"op":"remove","path":"/run/k/abcdefghij"}]`},
		{"a member gone, in as many bytes as the rest", `{"abcdefghijk":1}`, `{}`, `[{"op":"replace","path":"/run/k","value":{}}]`},
		{"two members gone, in as many bytes as the rest", `{"a":1,"b":1,"c":"123456789012345678"}`, `{"c":"123456789012345678"}`, `[{"op":"replace","path":"/run/k","value":{"c":"123456789012345678"}}]`},
		{"two members gone, in one byte less than the rest", `{"a":1,"b":1,"c":"1234567890123456789"}`, `{"c":"1234567890123456789"}`, `[{"op":"remove","path":"/run/k/a"},{"op":"remove","path":"/run/k/b"}]`},
		{"two digits, in as many bytes as the rest", `{"a":1,"b":1,"c":"1234567890123456789012345678"}`, `{"a":2,"b":2,"c":"1234567890123456789012345678"}`, `[{"op":"replace","path":"/run/k","value":{"a":2,"b":2,"c":"1234567890123456789012345678"}}]`},
		{"two digits, in one byte less than the rest", `{"a":1,"b":1,"c":"12345678901234567890123456789"}`, `{"a":2,"b":2,"c":"12345678901234567890123456789"}`, `[{"op":"replace","path":"/run/k/a","value":2},{"op":"replace","path":"/run/k/b","value":2}]`},
		{"one changed, two new within", `[` + a + `,1,` + b + `]`, `[` + a + `,2,3,4,` + b + `]`, `[{"op":"replace","path":"/run/k/1","value":2},{"op":"add","path":"/run/k/2","value":3},{"op":"add","path":"/run/k/3","value":4}]`},
		{"another kind", `[1]`, `{"a":1}`, `[{"op":"replace","path":"/run/k","value":{"a":1}}]`},
		{"another kind the other way", `{"a":1}`, `[1]`, `[{"op":"replace","path":"/run/k","value":[1]}]`},
		{"what held a value", `{"a":1}`, `"a"`, `[{"op":"replace","path":"/run/k","value":"a"}]`},
		{"numbers that begin alike", `12`, `13`, `[{"op":"replace","path":"/run/k","value":13}]`},
		{"texts that begin alike", `["ab","c"]`, `["abc","c"]`, `[{"op":"replace","path":"/run/k/0","value":"abc"}]`},
		{"a number", `1`, `2`, `[{"op":"replace","path":"/run/k","value":2}]`},
		{"nothing", `[1]`, `[1]`, `null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			from, to := given(t, 1, map[string]string{"/run/k": test.from}), given(t, 2, map[string]string{"/run/k": test.to})
			patch := from.Diff(to)
			if diff := cmp.Diff(test.want, text(patch)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(values(to), values(fold(t, from, 2, text(append(state.Patch{}, patch...))))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A value that was stored damaged is replaced as a whole, whatever is left of it.
func TestDiffReplacesADamagedValue(t *testing.T) {
	tests := []struct{ name, from, to, want string }{
		{"of which nothing is left", ``, `[1]`, `[1]`},
		{"that nothing is to be left of", `[1]`, ``, ``},
		{"of which a part is left", `{"a":`, `{"a":1}`, `{"a":1}`},
		{"that a part is to be left of", `{"a":1}`, `{"a":`, `{"a":`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			from, to := given(t, 1, map[string]string{"/run/k": test.from}), given(t, 2, map[string]string{"/run/k": test.to})
			want := state.Patch{{Op: "replace", Path: "/run/k", Value: json.RawMessage(test.want)}}
			if diff := cmp.Diff(want, from.Diff(to)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A value that nests deeper than a diff looks is replaced below that level.
func TestDiffEndsAtADepth(t *testing.T) {
	nest := func(depth int, inside string) string {
		const beside = `"something beside that makes a replacement long"`
		return strings.Repeat(`[`+beside+`,`, depth) + inside + strings.Repeat(`]`, depth)
	}
	members := func(depth int, inside string) string {
		return strings.Repeat(`{"0":"something beside that makes a replacement long","1":`, depth) + inside + strings.Repeat(`}`, depth)
	}
	for _, nest := range []func(int, string) string{nest, members} {
		from, to := given(t, 1, map[string]string{"/run/k": nest(18, "1")}), given(t, 2, map[string]string{"/run/k": nest(18, "2")})
		patch := from.Diff(to)
		if len(patch) != 1 || patch[0].Path != "/run/k"+strings.Repeat("/1", 16) {
			t.Errorf("got %s", text(patch))
		}
	}
}
