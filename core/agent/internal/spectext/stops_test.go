package spectext_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent/internal/spectext"
)

func TestStopPoliciesOfASpecThatAreRefused(t *testing.T) {
	tests := []struct{ name, stop, want string }{
		{"an unknown type", `[{"type":"timeout","seconds":1},{"type":"moon"}]`, `agent "a": stop[1]: stop policy type "moon" is unknown, allowed are `},
		{"an unknown field", `[{"type":"timeout","second":1}]`, `agent spec: unknown field "second" in stop[0], did you mean "seconds"?`},
		{"a field of another type", `[{"type":"timeout","seconds":1,"max":2}]`, `agent "a": stop[0]: stop policy "timeout": it takes seconds, and not max`},
		{"a wrong value", `[{"type":"loop_detection","window":1}]`, `agent "a": stop[0]: stop policy "loop_detection": window is 1, allowed are 2 to 64`},
		{"a wrong pattern", `[{"type":"content_match","pattern":"("}]`, `agent "a": stop[0]: stop policy "content_match": pattern: error parsing regexp: `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := spectext.DecodeSpec([]byte(`{"id":"a","model":"m","stop":` + tt.stop + `}`))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || core.CodeOf(err) != core.CodeInvalid {
				t.Errorf("got  %v\nwant %s...", err, tt.want)
			}
		})
	}
}
