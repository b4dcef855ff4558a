package stresstest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Mistyped returns the body with each of its values, one at a time, replaced by values of
// other types. A decoder has to refuse these bodies without naming the program's own
// types.
func Mistyped(body string) (bodies []string) {
	var whole any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		panic(err)
	}
	var walk func(value any, put func(any))
	walk = func(value any, put func(any)) {
		for _, other := range []any{"x", 7, true, []any{}, []any{7}, map[string]any{}, map[string]any{"a": 7}} {
			put(other)
			text, err := json.Marshal(whole)
			if err != nil {
				panic(err)
			}
			bodies = append(bodies, string(text))
		}
		put(value)
		switch v := value.(type) {
		case []any:
			for i, item := range v {
				walk(item, func(other any) { v[i] = other })
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name], func(other any) { v[name] = other })
			}
		}
	}
	walk(whole, func(other any) { whole = other })
	return bodies
}

// NamesTypes reports whether a text quotes a type of the program, as the errors of
// encoding/json do.
func NamesTypes(text string) bool {
	return strings.Contains(text, "Go value") || strings.Contains(text, "Go struct") || strings.Contains(text, "cannot unmarshal")
}
