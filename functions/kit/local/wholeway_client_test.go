//go:build clients

package local

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The official clients accept an image of a result and the sources of a text: those of the
// AI SDK have parts for them, in the stream and in stored messages.
func TestOfficialClientsHaveImagesAndSources(t *testing.T) {
	url, _ := servePainter(t)
	const want = `[{"type":"step-start"},{"type":"tool-draw"},{"type":"file"},{"type":"step-start"},{"type":"text"},{"type":"source-url"},{"type":"source-document"}]`
	for _, name := range []string{"ai", "ai-6.0.0", "ai-7"} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "node", "chat.mjs", url, "draw", name)
			command.Dir = "../../../scripts/verify/clients/aisdk"
			var complaints strings.Builder
			command.Stderr = &complaints
			out, err := command.Output()
			if err != nil {
				t.Fatalf("client: %v\n%s", err, complaints.String())
			}
			type part struct {
				Type string `json:"type"`
			}
			var got struct {
				Parts  []part
				Stored []struct {
					Role  string
					Parts []part
				}
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			for from, parts := range map[string][]part{"streamed": got.Parts, "stored": got.Stored[len(got.Stored)-1].Parts} {
				text, _ := json.Marshal(parts)
				if diff := cmp.Diff(want, string(text)); diff != "" {
					t.Errorf("%s (-want +got):\n%s\n%s", from, diff, out)
				}
			}
		})
	}
}
