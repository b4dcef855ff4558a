package state_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// jsonValue draws a JSON value of at most depth levels, spelled as it happens.
func jsonValue(t *rapid.T, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false", "-0.50", "1e9", "12345678901234567890"}).Draw(t, "literal")
	case 1, 2:
		return text(rapid.SampledFrom([]string{"", "a", "b<", "\n", "é\u2028", "~/"}).Draw(t, "text"))
	case 3:
		return `"\u0061"`
	case 4:
		var items []string
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			items = append(items, jsonValue(t, depth-1))
		}
		return "[" + strings.Join(items, " , ") + "]"
	default:
		var members []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			name := rapid.SampledFrom([]string{`"b"`, `"a"`, `"~/"`, `""`, `"\u0062"`, `"long member name"`, `"-"`, `"0"`}).Draw(t, "name")
			members = append(members, name+": "+jsonValue(t, depth-1))
		}
		return "{" + strings.Join(members, ",") + " }"
	}
}

// command draws the updates of a command; bomb is left alone.
func command(t *rapid.T) (c state.Command) {
	for range rapid.IntRange(0, 4).Draw(t, "updates") {
		switch rapid.IntRange(0, 7).Draw(t, "key") {
		case 0:
			c.Append(total.Update(rapid.IntRange(-1, 1).Draw(t, "n")))
		case 1:
			c.Append(names.Update(rapid.SampledFrom([]string{"x", "\"", "é"}).Draw(t, "element")))
		case 2:
			members := map[string]*int{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b/", "\n", "~0"}), 0, 3).Draw(t, "members") {
				members[name] = rapid.Ptr(rapid.IntRange(0, 1), true).Draw(t, "member")
			}
			c.Append(seen.Update(members))
		case 3, 4:
			c.Append(plan.Update(any(json.RawMessage(jsonValue(t, 4)))))
		case 5:
			c.Append(note.Update(rapid.Ptr(rapid.SampledFrom([]string{"", "n"}), true).Draw(t, "note")))
		case 6:
			c.Append(rapid.SampledFrom([]state.Command{state.Set(total, 1), state.Set(names, []string{"y"}), state.Set(plan, nil), state.Set(note, nil)}).Draw(t, "set"))
		default:
			c.Append(rapid.SampledFrom([]state.Command{names.Clear(), seen.Clear(), plan.Clear(), note.Clear()}).Draw(t, "clear"))
		}
	}
	if c.Err != nil {
		t.Fatal(c.Err)
	}
	return c
}

func TestPatchesLeadThereAndBack(t *testing.T) {
	r := registry(t)
	rapid.Check(t, func(t *rapid.T) {
		var start, s state.Snapshot
		var patches []state.Patch
		log := start.Fold()
		for range rapid.IntRange(1, 6).Draw(t, "commits") {
			next, patch, err := r.Commit(s.ForCall(rapid.IntRange(0, 1).Draw(t, "call")), command(t).Batch)
			if err != nil {
				t.Fatal(err)
			}
			wire, err := json.Marshal(patch) // with what it escapes, as a careless codec would
			if err != nil {
				t.Fatal(err)
			}
			var stored state.Patch
			if err := json.Unmarshal(wire, &stored); err != nil {
				t.Fatal(err)
			}
			if err := log.Apply(stored, next.Revision()); err != nil {
				t.Fatal(err)
			}
			same(t, "one patch", next, folded(t, s, patch, next.Revision()))
			back, err := patch.Inverse(s)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "the inverse", s, folded(t, next, back, next.Revision()+1))
			for _, path := range next.Paths() {
				if value, _ := next.Value(path); !json.Valid(value) || string(value) != text(anything(t, value)) {
					t.Fatalf("%s is not canonical: %s", path, value)
				}
			}
			patches, s = append(patches, patch), next
		}
		same(t, "the log", s, log.Snapshot())
		joined := state.Patch(nil).Join(patches...)
		same(t, "the joined patch", s, folded(t, start, joined, s.Revision()+1))
		if len(joined) > 0 {
			back, err := joined.Inverse(start)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "its inverse", start, folded(t, s, back, s.Revision()+1))
		}
		same(t, "the diff", s, folded(t, start, start.Diff(s), s.Revision()+1))
	})
}

func anything(t *rapid.T, value json.RawMessage) any {
	decoder := json.NewDecoder(strings.NewReader(string(value)))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func folded(t *rapid.T, s state.Snapshot, p state.Patch, revision uint64) state.Snapshot {
	f := s.Fold()
	if err := f.Apply(p, revision); err != nil {
		t.Fatalf("%v: %s", err, text(p))
	}
	return f.Snapshot()
}

func same(t *rapid.T, what string, want, got state.Snapshot) {
	if diff := cmp.Diff(values(want), values(got)); diff != "" {
		t.Fatalf("%s leads elsewhere: %s", what, diff)
	}
}

// FuzzFold decodes any bytes as a patch and folds it: it either fits, and then
// its inverse leads back, or is refused as corrupt.
func FuzzFold(f *testing.F) {
	for _, patch := range []string{
		`[]`, `[{"op":"add","path":"/thread/a","value":[1]},{"op":"add","path":"/thread/a/-","value":{"b":"\u003c"}}]`,
		`[{"op":"remove","path":"/run/list/0"},{"op":"replace","path":"/run/list/0/x","value":null},{"op":"add","path":"/run/list/-","value":2}]`,
		`[{"op":"replace","path":"/call/0/k","value":{"b":1,"a":1,"b":2}}]`, `[{"op":"add","path":"/run/list/1/~0~1","value":"x"}]`,
	} {
		f.Add([]byte(patch))
	}
	before := given(f, 1, map[string]string{"/run/list": `[1,{"x":[]}]`, "/call/0/k": `"v"`, "/thread/damaged": `[1,}]`})
	f.Fuzz(func(t *testing.T, data []byte) {
		var p state.Patch
		if json.Unmarshal(data, &p) != nil {
			return
		}
		fold := before.Fold()
		if err := fold.Apply(p, 2); err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("%v has code %q", err, core.CodeOf(err))
			}
			return
		}
		for _, path := range p.Keys() {
			if path.Name == "damaged" {
				return // its inverse would have to hold what is no JSON
			}
		}
		back, err := p.Inverse(before)
		if err != nil {
			t.Fatal(err)
		}
		if err := fold.Apply(back, 3); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values(before), values(fold.Snapshot())); diff != "" {
			t.Fatalf("the inverse %s leads elsewhere: %s", text(back), diff)
		}
	})
}

// FuzzSpelling holds the shortcut for values that are canonical already to what
// decoding and encoding them gives.
func FuzzSpelling(f *testing.F) {
	for _, value := range []string{`{"a":[1,-2.5e+3,true,null],"b":{"c":"d\n\"\\"}}`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `"\u0041\/"`, " [ 1 ] ", "\"\u2028\"", `{"\u0061":1,"b":2}`, "\"\xff\"", `[{},[],""]`} {
		f.Add([]byte(value))
	}
	path := state.KeyPath{Name: "k"}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var v any
		if err := decoder.Decode(&v); err != nil {
			t.Fatal(err)
		}
		got, _ := state.Snapshot{}.With(1, map[state.KeyPath]json.RawMessage{path: data}).Value(path)
		if diff := cmp.Diff(text(v), string(got)); diff != "" {
			t.Error(diff)
		}
	})
}
