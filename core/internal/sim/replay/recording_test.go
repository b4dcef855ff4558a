package replay

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A replay without the program that refused an answer refuses it in the same words. A report
// does not show it if it did not: the run is then kept from its natural end, and closed as
// its record says.
func TestAnswersAreRefusedAsTheyWere(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  *core.Termination
		want []string // of steps 1 to 3
	}{
		{"it gave up", &core.Termination{Type: core.TerminationError, Code: run.CodeInvalidOutput, Detail: "too long"}, []string{"too short", "<nil>", "too long"}},
		{"it accepted", &core.Termination{Type: core.TerminationNatural}, []string{"too short", "<nil>", "<nil>"}},
		{"another error", &core.Termination{Type: core.TerminationError, Code: "model", Detail: "too long"}, []string{"too short", "<nil>", "<nil>"}},
		{"it is open", nil, []string{"too short", "<nil>", "<nil>"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := recording{record: thread.RunRecord{Run: core.Run{Termination: tt.end}}, steps: map[int]*recordedStep{1: {wrong: "too short"}, 2: {}}, last: 3}
			var got []string
			for step := 1; step <= 3; step++ {
				got = append(got, fmt.Sprint(r.accept(core.ID{}, step, "{}")))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
