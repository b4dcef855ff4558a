package wire_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/reveille-run/reveille/core/internal/wire"
)

func TestWhatWasSaidIsEncodedAsItWasSaid(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{"a < b & c > d", `"a < b & c > d"`},
		{map[string]int{"n": 1}, `{"n":1}`},
		{nil, "null"},
	} {
		if got, err := wire.JSON(tt.value); string(got) != tt.want || err != nil {
			t.Errorf("%v: %s, %v, want %s", tt.value, got, err, tt.want)
		}
	}
	if got, err := wire.JSON(math.NaN()); got != nil || err == nil {
		t.Errorf("what has no JSON is %s, %v", got, err)
	}
}

func TestAnObjectGetsMembersBeforeItsOwn(t *testing.T) {
	type value struct {
		A string `json:"a,omitempty"`
	}
	for _, tt := range []struct {
		members string
		value   value
		want    string
	}{
		{`"schema":2`, value{A: "<"}, `{"schema":2,"a":"<"}`},
		{`"schema":2`, value{}, `{"schema":2}`},
		{"", value{A: "x"}, `{"a":"x"}`},
		{"", value{}, `{}`},
	} {
		if got, err := wire.Object([]byte(tt.members), &tt.value); string(got) != tt.want || err != nil {
			t.Errorf("%s before %+v: %s, %v, want %s", tt.members, tt.value, got, err, tt.want)
		}
	}
}

// The version and the variant are those of RFC 9562, the other bits are the hash's.
func TestAnIDFollowsFromAHash(t *testing.T) {
	sum := make([]byte, 32)
	for i := range sum {
		sum[i] = 0xff
	}
	if id := wire.DerivedID(sum); hex.EncodeToString(id[:]) != "ffffffffffff8fffbfffffffffffffff" {
		t.Errorf("the id is %x", id)
	}
}

func TestATextIsShortened(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"aé", 2, "a..."},
		{"", 0, ""},
	} {
		if got := wire.Shorten(tt.text, tt.most); got != tt.want {
			t.Errorf("%q to %d bytes is %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// Every character is written as encoding/json writes it, alone and between others.
func TestTextsAreAppendedAsTheyAreEncoded(t *testing.T) {
	texts := []string{"", "plain", `a "quoted" \ text`, "<a href='b'>&</a>", "ä€😀", "line\u2028and\u2029paragraph", "bad \xff\xfe UTF-8", "\x7f"}
	for c := range rune(0x300) {
		texts = append(texts, string(c), "a"+string(c)+string(c)+"b")
	}
	for _, text := range texts {
		want, err := wire.JSON(text)
		if got := wire.AppendString([]byte("x"), text); err != nil || string(got) != "x"+string(want) {
			t.Errorf("%q is %s, want x%s, %v", text, got, want, err)
		}
	}
}
