package state_test

import (
	"encoding/json"
	"strings"
	"testing"

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
		{"a page", state.ProfileName{Namespace: "n", Key: ""}.CheckKeys(""), "", ""},
		{"a page behind a key", state.ProfileName{Namespace: "n", Key: longest}.CheckKeys(longest), "", ""},
		{"a page of no namespace", state.ProfileName{Namespace: "a#b", Key: ""}.CheckKeys(""), core.CodeInvalid, `profile namespace "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a prefix that is no text", state.ProfileName{Namespace: "n", Key: "\xff"}.CheckKeys(""), core.CodeInvalid, `prefix "\xff" of a profile: want UTF-8 without control characters`},
		{"a prefix that is too long", state.ProfileName{Namespace: "n", Key: longest + "k"}.CheckKeys(""), core.CodeInvalid, "prefix of a profile is 513 bytes long, at most 512 are allowed"},
		{"behind no key", state.ProfileName{Namespace: "n", Key: ""}.CheckKeys("\x00"), core.CodeInvalid, `key "\x00" of a profile: want UTF-8 without control characters`},
		{"the largest value", name("n", "k").CheckWrite(json.RawMessage(largest)), "", ""},
		{"a larger one", name("n", "k").CheckWrite(json.RawMessage(largest + " ")), core.CodeTooLarge, "the profile is over the size limit: n/k has 262145 bytes, at most 262144 are allowed"},
		{"a value under no name", name("n", "").CheckWrite(json.RawMessage(`1`)), core.CodeInvalid, "key of profile n is empty"},
		{"a value that is no JSON", name("n", "k").CheckWrite(json.RawMessage(`{`)), core.CodeInvalid, "value of profile n/k is not JSON"},
		{"over what was read", name("n", "k").Admit(5, 5), "", ""},
		{"where nothing is", name("n", "k").Admit(0, 0), "", ""},
		{"over anything", name("n", "k").Admit(5, state.AnyRevision), "", ""},
		{"over another revision", name("n", "k").Admit(5, 4), core.CodeConflict, "profile n/k: the profile has another revision"},
		{"where something is", name("n", "k").Admit(5, 0), core.CodeConflict, "profile n/k: the profile has another revision"},
		{"where nothing is any more", name("n", "k").Admit(0, 5), core.CodeConflict, "profile n/k: the profile has another revision"},
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
