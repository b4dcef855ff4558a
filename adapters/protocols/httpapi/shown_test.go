package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// A step says what its model was shown: what was left out, what stood for it, how large
// the request was.
func TestAStepSaysWhatItsModelWasShown(t *testing.T) {
	tests := []struct {
		name   string
		window *core.Window
		want   string
	}{
		{"an old record", nil, `{"step":3,"open":true}`},
		{"all of the thread", &core.Window{Estimate: 7}, `{"step":3,"open":true,"shown":{"estimate":7}}`},
		{"a summary and a cut", &core.Window{First: 31, Opening: 29, Short: 34, Summary: 28, Compact: 40, Skipped: 9, Estimate: 5100, Tokens: 4900},
			`{"step":3,"open":true,"shown":{"first":31,"opening":29,"shortened":34,"summary":28,"estimate":5100,"tokens":4900}}`},
		{"after a refusal", &core.Window{First: 31, Estimate: 5100, Refused: true, Limit: 8192, Known: 9000}, `{"step":3,"open":true,"shown":{"first":31,"estimate":5100,"refused":true,"limit":8192}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(stepOf(host.Step{Number: 3, Window: tt.window}))
			if err != nil || string(got) != tt.want {
				t.Errorf("the step is %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}
