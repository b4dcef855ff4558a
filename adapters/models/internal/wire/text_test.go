package wire

import "testing"

func TestAKeyIsRedacted(t *testing.T) {
	tests := []struct{ name, text, key, want string }{
		{"no key", "a text", "", "a text"},
		{"a long key, anywhere", "key=sk-0123456789abcdef, xsk-0123456789abcdefx", "sk-0123456789abcdef", "key=***, x***x"},
		{"16 bytes are long", "a0123456789abcdefa", "0123456789abcdef", "a***a"},
		{"15 bytes are short", "a0123456789abcdea 0123456789abcde", "0123456789abcde", "a0123456789abcdea ***"},
		{"a letter", "x-request: max x, (x) xx é\u0301xé x", "x", "x-request: max ***, (***) xx é\u0301xé ***"},
		{"a word", `no test_key "test", testing test`, "test", `no test_key "***", testing ***`},
		{"EMPTY", "EMPTY EMPTYEMPTY", "EMPTY", "*** EMPTYEMPTY"},
		{"a key that begins within itself", "aaba aba", "aba", "aaba ***"},
		{"a key of signs", "a??a ??", "??", "a??a ***"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Redact(tt.text, tt.key); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
