package pattern_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core/internal/pattern"
)

func Example() {
	deny := pattern.MustParse("Bash(*rm -rf*)")
	for _, arguments := range []string{`{"command":"npm test"}`, `{"command":"cd /tmp && rm -rf x"}`} {
		fmt.Println(deny.Match(pattern.NewCall("Bash", json.RawMessage(arguments), nil)))
	}
	// Output:
	// false
	// true
}

func ExampleParse() {
	p, err := pattern.Parse(`Edit( file_path ~ 'src/*',mode="x" )`)
	fmt.Println(p, err)

	_, err = pattern.Parse("Edit(file_path = src)")
	fmt.Println(err)
	var syntax *pattern.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Pattern[:syntax.Offset])
	}
	// Output:
	// Edit(file_path ~ "src/*", mode = "x") <nil>
	// pattern "Edit(file_path = src)" at byte 17: 's' after =, want a value in quotes; write a glob of the primary argument that starts so with [=]
	// Edit(file_path =
}

// A rule that denies looks at every reading of the arguments, one that allows must
// hold under all.
func ExamplePattern_MatchEvery() {
	call := pattern.NewCall("Bash", json.RawMessage(`{"command":"npm test","command":"rm -rf /"}`), nil)
	allow, deny := pattern.MustParse("Bash(npm *)"), pattern.MustParse("Bash(rm *)")
	fmt.Println(allow.MatchEvery(call), deny.Match(call))
	// Output: false true
}

func ExampleSpecificity_Compare() {
	exact, glob := pattern.MustParse("Bash"), pattern.MustParse(`B*(command = "ls")`)
	fmt.Println(exact.Specificity().Compare(glob.Specificity()) > 0)
	// Output: true
}

// A condition alone compares any JSON, such as a tool's result.
func ExampleCondition() {
	forbidden, err := pattern.NewCondition("error.code", pattern.Op{Kind: pattern.Exact}, "403")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(forbidden.Match(json.RawMessage(`{"error":{"code":403}}`)))
	// Output: true
}

// A text alone compares texts.
func ExampleText() {
	denied, err := pattern.NewText(pattern.Glob, "*permission denied*")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(denied.Match("open /etc/shadow: permission denied"))
	// Output: true
}
