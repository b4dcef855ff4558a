package scripted

import "testing"

func TestWordsAreWhatBlanksOfAnyScriptDivide(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{" \t\r\n\v\f ", 0},
		{"one", 1},
		{"  one  two\nthree ", 3},
		{"a\x00b c\x1fd", 2}, // other control characters divide nothing
		{"zwei W\u00f6rter", 2},
		{"three\u00a0words\u2003here", 3},
	}
	for _, tt := range tests {
		if got := words(tt.text); got != tt.want {
			t.Errorf("words(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}
