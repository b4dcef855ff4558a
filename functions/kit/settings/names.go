package settings

import (
	"fmt"
	"slices"
	"strings"
)

// prefix begins the names that are checked: each of them must be known.
const prefix = "REVEILLE_"

// checkNames refuses variables with our prefix that are not known. The error has the
// closest known name of each.
func checkNames(given map[string]string, known []string) error {
	known = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	var unknown []string
	for name := range given {
		if strings.HasPrefix(name, prefix) && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	for i, name := range unknown {
		if near := nearest(name, known); near != "" {
			unknown[i] += " (did you mean " + near + "?)"
		}
	}
	return fmt.Errorf("unknown environment variable %s, known are: %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
}

// nearest returns the known name with the smallest distance. It returns "" if that is more
// than two, and more than a third of the characters after the prefix.
func nearest(name string, known []string) string {
	best, least := "", max(2, (len(name)-len(prefix))/3)+1
	for _, other := range known {
		if d := distance(name, other); d < least {
			best, least = other, d
		}
	}
	return best
}

// distance returns the number of characters to insert, delete, replace or swap with their
// neighbour until a is b.
func distance(a, b string) int {
	var before []int
	last := make([]int, len(b)+1) // of a[:i] to each b[:j]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := 1
			if a[i-1] == b[j-1] {
				replace = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// aliases are names of models and companies that users take for the name of a provider.
var aliases = map[string]string{
	"GOOGLE": "GEMINI", "GOOGLEAI": "GEMINI", "GOOGLEGENERATIVEAI": "GEMINI", "GROK": "XAI", "CLAUDE": "ANTHROPIC", "GPT": "OPENAI", "CHATGPT": "OPENAI",
	"GLM": "ZAI", "ZHIPU": "ZAI", "ZHIPUAI": "ZAI", "MISTRALAI": "MISTRAL",
}

// misnamed returns the variables that look like keys of providers under other names, such
// as OPEN_AI_KEY, with the provider's own variable, such as OPENAI_API_KEY.
func misnamed(given map[string]string) map[string]string {
	found := map[string]string{}
	var all []Provider // made for the first name that looks like a key: each start runs this
	for name, value := range given {
		stem := stem(name)
		if value == "" || stem == "" {
			continue
		}
		if alias, ok := aliases[stem]; ok {
			stem = alias
		}
		if all == nil {
			all = Providers()
		}
		for _, p := range all {
			if given[p.KeyVariable] != "" { // maybe it is name
				continue
			}
			want := strings.TrimSuffix(p.KeyVariable, "_API_KEY")
			if stem == want || len(want) > 4 && max(len(stem)-len(want), len(want)-len(stem)) <= 1 && distance(stem, want) == 1 {
				found[name] = p.KeyVariable
				break
			}
		}
	}
	return found
}

// stem returns a name of a key without its end, in capital letters without underscores:
// OPENAI of Open_AI_key; "" if the name does not end as keys do.
func stem(name string) string {
	name = strings.ToUpper(name)
	if !strings.HasSuffix(name, "KEY") && !strings.HasSuffix(name, "KEYS") && !strings.HasSuffix(name, "TOKEN") {
		return "" // most names, and each start asks for all
	}
	name = strings.ReplaceAll(name, "_", "")
	for _, end := range []string{"APIKEYS", "APIKEY", "APITOKEN", "SECRETKEY", "KEY", "TOKEN"} {
		if stem, ok := strings.CutSuffix(name, end); ok {
			return stem
		}
	}
	return ""
}
