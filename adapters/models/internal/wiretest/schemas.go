package wiretest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/model/modeltest"
)

// WriteRequests writes 50 requests of a provider to NAME.jsonl in the folder that
// REVEILLE_SCHEMAS names, for scripts/verify/schemas.sh, which holds them against the
// published schemas. Without the variable it skips the test.
func WriteRequests(t *testing.T, name string, p modeltest.Provider) {
	t.Helper()
	folder := os.Getenv("REVEILLE_SCHEMAS")
	if folder == "" {
		t.Skip("REVEILLE_SCHEMAS names no folder")
	}
	text := strings.Join(p.Requests(t, 50), "\n") + "\n"
	if err := os.WriteFile(filepath.Join(folder, name+".jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
