package inference

import "testing"

// A call that broke off is kept only when no more of its arguments can have come:
// more digits may follow a number, and nothing an object.
func TestArgumentsAreCompleteWhenNothingCanFollow(t *testing.T) {
	for text, want := range map[string]bool{
		``: false, `{`: false, `{"a":`: false, `{"a":1}`: true, `{}`: true, `12`: false, `[1]`: false, `"a"`: false, `{"a":1}}`: false,
	} {
		var c callBuilder
		c.arguments.add(text)
		if got := c.complete(); got != want {
			t.Errorf("%s: complete %t, want %t", text, got, want)
		}
	}
}
