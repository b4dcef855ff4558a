package core_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestCheckNameSaysWhatIsWrong(t *testing.T) {
	const allowed = ", allowed are A-Z a-z 0-9 . _ : -"
	tests := []struct{ name, id, want string }{
		{"every character", "azAZ09._:-", ""},
		{"the longest", strings.Repeat("a", 128), ""},
		{"too long", strings.Repeat("a", 129), "thread id is 129 bytes long, at most 128 are allowed"},
		{"empty", "", "thread id is empty"},
		{"a dot", ".", `thread id "." vanishes from the path of an address, give it another name`},
		{"two dots", "..", `thread id ".." vanishes from the path of an address, give it another name`},
		{"three dots", "...", ""},
		{"a character of two bytes", "aé", `thread id "aé" has the character 'é'` + allowed},
		{"no UTF-8", "a\xff", `thread id "a\xff" has the character '�'` + allowed},
		{"NUL", "a\x00", `thread id "a\x00" has the character '\x00'` + allowed},
		{"cut inside a character", strings.Repeat("é", 40), `thread id "` + strings.Repeat("é", 30) + `..." has the character 'é'` + allowed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := core.CheckName("thread id", test.id); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}
