package state_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// Whatever backend is asked, a bad name, value or page is refused alike.
func TestWhatIsAskedOfProfilesIsChecked(t *testing.T) {
	name := func(namespace, key string) state.ProfileName {
		return state.ProfileName{Namespace: namespace, Key: key}
	}
	longest, largest := strings.Repeat("k", 512), `"`+strings.Repeat("x", 262_142)+`"`
	tests := []struct {
		name string
		err  error
		want core.Code
		text string
	}{
		{"a name", name("n", "k").Check(), "", ""},
		{"a name of the longest key", name("n", longest).Check(), "", ""},
		{"a longer one", name("n", longest+"k").Check(), core.CodeInvalid, "key of a profile is 513 bytes long, at most 512 are allowed"},
		{"a name without a namespace", name("", "k").Check(), core.CodeInvalid, "profile namespace is empty"},
		{"a name without a key", name("n", "").Check(), core.CodeInvalid, "key of profile n is empty"},
		{"a name that breaks the line", name("n", "a\nb").Check(), core.CodeInvalid, `key "a\nb" of a profile: want UTF-8 without control characters`},
		{"a name of other letters", name("n", "ä€😀#/").Check(), "", ""},
		{"a page", state.CheckProfileKeys("n", "", ""), "", ""},
		{"a page behind a key", state.CheckProfileKeys("n", longest, longest), "", ""},
		{"a page of no namespace", state.CheckProfileKeys("a#b", "", ""), core.CodeInvalid, `profile namespace "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a prefix that is no text", state.CheckProfileKeys("n", "\xff", ""), core.CodeInvalid, `prefix "\xff" of a profile: want UTF-8 without control characters`},
		{"a prefix that is too long", state.CheckProfileKeys("n", longest+"k", ""), core.CodeInvalid, "prefix of a profile is 513 bytes long, at most 512 are allowed"},
		{"behind no key", state.CheckProfileKeys("n", "", "\x00"), core.CodeInvalid, `key "\x00" of a profile: want UTF-8 without control characters`},
		{"the largest value", state.CheckProfileWrite(name("n", "k"), json.RawMessage(largest)), "", ""},
		{"a larger one", state.CheckProfileWrite(name("n", "k"), json.RawMessage(largest+" ")), core.CodeTooLarge, "the profile is over the size limit: n/k has 262145 bytes, at most 262144 are allowed"},
		{"a value under no name", state.CheckProfileWrite(name("n", ""), json.RawMessage(`1`)), core.CodeInvalid, "key of profile n is empty"},
		{"a value that is no JSON", state.CheckProfileWrite(name("n", "k"), json.RawMessage(`{`)), core.CodeInvalid, "value of profile n/k is not JSON"},
		{"over what was read", state.AdmitProfile(name("n", "k"), 5, 5), "", ""},
		{"where nothing is", state.AdmitProfile(name("n", "k"), 0, 0), "", ""},
		{"over anything", state.AdmitProfile(name("n", "k"), 5, state.AnyRevision), "", ""},
		{"over another revision", state.AdmitProfile(name("n", "k"), 5, 4), core.CodeConflict, "profile n/k: the profile has another revision"},
		{"where something is", state.AdmitProfile(name("n", "k"), 5, 0), core.CodeConflict, "profile n/k: the profile has another revision"},
		{"where nothing is any more", state.AdmitProfile(name("n", "k"), 0, 5), core.CodeConflict, "profile n/k: the profile has another revision"},
	}
	for _, tt := range tests {
		text := ""
		if tt.err != nil {
			text = tt.err.Error()
		}
		if core.CodeOf(tt.err) != tt.want || text != tt.text {
			t.Errorf("%s: error %q (%s)\nwant %q (%s)", tt.name, text, core.CodeOf(tt.err), tt.text, tt.want)
		}
	}
}

// Revisions never come again, and a condition that does not hold changes nothing.
func TestMemoryProfilesKeepTheirRevisions(t *testing.T) {
	ctx, profiles, name := t.Context(), &state.MemoryProfiles{}, state.ProfileName{Namespace: "n", Key: "b"}
	write := func(name state.ProfileName, value string, over, want uint64) {
		t.Helper()
		if got, err := profiles.Write(ctx, name, json.RawMessage(value), over); got != want || (err == nil) != (want != 0) || err != nil && !errors.Is(err, state.ErrProfileConflict) {
			t.Errorf("%s over revision %d is at %d, %v; want %d", value, over, got, err, want)
		}
	}
	write(name, `1`, 0, 1)
	write(name, `2`, 0, 0)
	write(name, `3`, 1, 2)
	write(name, `4`, state.AnyRevision, 3)
	if err := profiles.Delete(ctx, name, 2); !errors.Is(err, state.ErrProfileConflict) {
		t.Errorf("deleted at another revision: %v", err)
	}
	got, err := profiles.Read(ctx, name)
	if diff := cmp.Diff(state.Profile{Value: json.RawMessage(`4`), Revision: 3}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if err := profiles.Delete(ctx, name, 3); err != nil {
		t.Error(err)
	}
	if err := profiles.Delete(ctx, name, 3); err != nil { // nothing is there
		t.Error(err)
	}
	write(name, `5`, 0, 4)
	for _, key := range []string{"ba", "a", "c", "bb"} {
		if _, err := profiles.Write(ctx, state.ProfileName{Namespace: "n", Key: key}, json.RawMessage(`1`), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 9, []string{"a", "b", "ba", "bb", "c"}}, {"b", "", 9, []string{"b", "ba", "bb"}}, {"b", "b", 9, []string{"ba", "bb"}},
		{"", "b", 2, []string{"ba", "bb"}}, {"", "", 5, []string{"a", "b", "ba", "bb", "c"}}, {"", "", 0, []string{}}, {"", "", -1, []string{}}, {"", "c", 9, nil},
	} {
		keys, err := profiles.Keys(ctx, "n", tt.prefix, tt.after, tt.limit)
		if diff := cmp.Diff(tt.want, keys); diff != "" || err != nil {
			t.Errorf("keys that begin with %q behind %q, %d at most: %v %s", tt.prefix, tt.after, tt.limit, err, diff)
		}
	}
	for what, err := range map[string]error{
		"read":   func() error { _, err := profiles.Read(ctx, state.ProfileName{Namespace: "n"}); return err }(),
		"write":  func() error { _, err := profiles.Write(ctx, name, json.RawMessage(`{`), 4); return err }(),
		"delete": profiles.Delete(ctx, state.ProfileName{Namespace: "n"}, 1),
		"keys":   func() error { _, err := profiles.Keys(ctx, "", "", "", 1); return err }(),
	} {
		if core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s of what cannot be: %v, want invalid", what, err)
		}
	}
}
