package core_test

import (
	"fmt"

	"github.com/reveille-run/reveille/core"
)

func ExampleAppendJSONString() {
	text := core.AppendJSONString([]byte(`{"said":`), `a "quoted" <word>`)
	fmt.Println(string(append(text, '}')))
	// Output: {"said":"a \"quoted\" <word>"}
}
