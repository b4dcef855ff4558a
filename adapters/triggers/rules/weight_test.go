package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// Each row is one part of what a template costs. So many rounds of its loop are the most
// that there may be; without the part there might be more.
func TestEachPartOfATemplateCosts(t *testing.T) {
	texts := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	long := `{{$x := "` + strings.Repeat("x", 8000) + `"}}` // a step of 1,002
	for _, tt := range []struct {
		name, body, event string
		most              int
	}{
		// A list costs one step, and one more for each eight bytes: the outer one five.
		{"a round", ``, `{}`, 999_995},
		{"a round's bytes", strings.Repeat("{{$x := 1}}", 8), `{}`, 83_332},
		{"a text of 16 KB", long, `{"text":` + texts(16<<10) + `}`, 497},
		{"one that is shorter by a byte", long, `{"text":` + texts(16<<10-1) + `}`, 997},
		{"a text of 16 KB in an object", long, `{"o":{"text":` + texts(16<<10) + `}}`, 497},
		{"a text of 16 KB in a list", long, `{"l":[` + texts(16<<10) + `]}`, 497},
		{"a text of 64 KB beside another", long, `{"a":"b","text":` + texts(64<<10) + `,"z":"z"}`, 198},
		{"JSON of a text", `{{$x := json $.text}}`, `{"text":` + texts(1022) + `}`, 4096},
		{"JSON of a list", `{{$x := json $.l}}`, `{"l":[` + texts(1020) + `]}`, 4096},
		{"a name of a text", `{{$x := name $.text}}`, `{"text":` + texts(992) + `}`, 4096},
		{"a name of a list", `{{$x := name $.l}}`, `{"l":[` + texts(992) + `]}`, 2072},
		{"a text printed", `{{$x := print $.text}}`, `{"text":` + texts(992) + `}`, 682},
		{"a text on a line", `{{$x := println $.text}}`, `{"text":` + texts(992) + `}`, 682},
		{"a text in HTML", `{{$x := html $.text}}`, `{"text":` + texts(992) + `}`, 682},
		{"a text in JavaScript", `{{$x := js $.text}}`, `{"text":` + texts(992) + `}`, 682},
		{"a text in a query", `{{$x := urlquery $.text}}`, `{"text":` + texts(992) + `}`, 682},
		{"two texts printed", `{{$x := print $.text $.text}}`, `{"text":` + texts(992) + `}`, 341},
		{"an object printed", `{{$x := print $.o}}`, `{"o":{"text":` + texts(981) + `}}`, 587},
		{"a long number printed", `{{$x := print $.n}}`, `{"n":` + strings.Repeat("1", 992) + `}`, 682},
		{"small values printed", `{{$x := print 1 2 3 4}}`, `{}`, 5461},
		{"a format's verbs", `{{$x := printf "%d%d%d" 1 2 3}}`, `{}`, 1396},
		{"a format's bytes", `{{$x := printf $.format}}`, `{"format":` + texts(1024) + `}`, 4096},
		{"a format's longest value", `{{$x := printf "%s" "a" $.text "b"}}`, `{"text":` + texts(992) + `}`, 603},
		{"a format's list", `{{$x := printf "%s" $.l}}`, `{"l":[` + texts(992) + `]}`, 526},
		// Four steps for each of 250 names, and seven for the two lists.
		{"an object whose names are sorted", `{{range $.o}}{{break}}{{end}}`, `{"o":{` + names(250) + `}}`, 993},
	} {
		t.Run(tt.name, func(t *testing.T) {
			over := func(rounds int) error {
				_, err := rendered(t, fmt.Sprintf(`{{range %d}}%s{{end}}`, rounds, tt.body), tt.event)
				return err
			}
			if err := over(tt.most); err != nil {
				t.Errorf("%d rounds: %v", tt.most, err)
			}
			if err := over(tt.most + 1); core.CodeOf(err) != core.CodeTooLarge {
				t.Errorf("%d rounds: %v, want too_large", tt.most+1, err)
			}
		})
	}
}

// names are so many members of an object.
func names(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	return strings.Join(all, ",")
}
