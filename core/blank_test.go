package core_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestBlank(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "spaces": " \t\r\n\v\f", "unicode spaces": "\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000", "controls": "\x00\x01\x1b\x7f\u0085\u009f",
		"zero width": "\u200b\u200c\u200d\u2060\ufeff", "direction": "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
		"soft hyphen and joiner": "\u00ad\u034f", "selectors": "\ufe0f\U000e0100", "fillers": "\u115f\u1160\u3164\uffa0\u2800\u17b4", "tags": "\U000e0041\U000e007f",
		"reserved": "\u2065\ufff0", "all together": "\u200b \u202e\u3164\n",
	} {
		if !core.Blank(text) {
			t.Errorf("%s: %q is shown", name, text)
		}
	}
	for name, text := range map[string]string{
		"a letter": "\u200ba", "a dot": ".", "an emoji": "\u2764\ufe0f", "a combining mark": "\u0301", "hangul": "\uac00", "an arabic number sign": "\u0600",
		"no character": "\ufffd", "invalid": "\xff", "a private one": "\ue000", "braille": "\u2801",
	} {
		if core.Blank(text) {
			t.Errorf("%s: %q is blank", name, text)
		}
	}
}
