package strict_test

import (
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core/strict"
)

func TestFind(t *testing.T) {
	const text = ` {"a":{"b":[1, {"c":2}]}, "x.y":[3], "x":{"y":4, "z":5}, "d\u0065":6}`
	tests := []struct {
		path   string
		offset int
		found  bool
	}{
		{"", 1, true},
		{"a", 2, true},
		{"a.b", 7, true},
		{"a.b[0]", 12, true},
		{"a.b[1]", 15, true},
		{"a.b[1].c", 16, true},
		{"x.y", 26, true},
		{"x.y[0]", 33, true},
		{"x.z", 49, true},
		{"de", 57, true},
		{"a.b[1].d", 15, false},
		{"a.b[2]", 7, false},
		{"a.bc", 2, false},
		{"none", 1, false},
	}
	for _, tt := range tests {
		if offset, found := strict.Path(tt.path).Find([]byte(text)); offset != tt.offset || found != tt.found {
			t.Errorf("%s: %d, %t, want %d, %t", tt.path, offset, found, tt.offset, tt.found)
		}
	}
	if offset, found := strict.Path("a").Find([]byte(`{"a":`)); offset != 0 || found {
		t.Errorf("of no JSON: %d, %t", offset, found)
	}
}

func TestLine(t *testing.T) {
	const text = "ab\n\nc"
	for offset, want := range map[int][2]int{0: {1, 1}, 2: {1, 3}, 3: {2, 1}, 4: {3, 1}, 5: {3, 2}, 99: {3, 2}, -1: {1, 1}} {
		if line, column := (&strict.Error{Offset: offset}).Line([]byte(text)); line != want[0] || column != want[1] {
			t.Errorf("byte %d: line %d, column %d, want %v", offset, line, column, want)
		}
	}
}

func TestErrorWithinAnObjectHasTheWholePath(t *testing.T) {
	for text, want := range map[string]string{
		`[{"id":5}]`: "filter[0].id is 5, want a string", `{}`: "filter is an object, want a list",
	} {
		err := strict.Decode([]byte(text), &[]struct {
			ID string `json:"id"`
		}{})
		wrong, ok := errors.AsType[*strict.Error](err)
		if !ok || wrong.Within("filter").Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
