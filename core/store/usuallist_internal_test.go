package store

import (
	"strings"
	"testing"
)

// A name that is taken without a second look is valid, at each limit.
func TestUsualNamesOfLists(t *testing.T) {
	long := strings.Repeat("x", 128)
	for list, usual := range map[string]bool{
		"runs:": true, "runs:ann": true, "threads:Z9_-": true, "threads:" + long: true, long + ":a": true,
		"": false, "runs": false, ":ann": false, "runs:a#b": false, "runs:a:b": false, "runs:a.b": false, "runs:..": false, "runs:é": false,
		"threads:" + long + "x": false, long + "x:a": false,
	} {
		if got := usualList([]byte(list)); got != usual || usual && checkList(list) != nil {
			t.Errorf("the list %q is usual: %t, want %t; its check says %v", list, got, usual, checkList(list))
		}
	}
}
