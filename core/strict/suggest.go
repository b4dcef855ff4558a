package strict

import "strings"

// instead names the names that may have been meant, or all that exist.
func instead(name string, names []string) string {
	if near := nearest(name, names); near != "" {
		return `did you mean "` + near + `"?`
	}
	if len(names) == 0 {
		return "none is allowed"
	}
	return "allowed are " + strings.Join(names, ", ")
}

// maxName is the longest name, in bytes, of which a near one is looked for.
const maxName = 64

// nearest returns the first of names that is the fewest edits away from name: at
// most a third of its length, and at most three. Empty: none is near.
func nearest(name string, names []string) string {
	if len(name) > maxName {
		return ""
	}
	best, least := "", min((len(name)+1)/3, 3)+1
	for _, candidate := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(candidate), least); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance returns how many letters are to be added, removed or replaced to make a of b; if
// that is at least limit, any number from limit on.
func distance(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
