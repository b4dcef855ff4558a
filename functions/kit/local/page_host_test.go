//go:build clients

package local

import (
	"path/filepath"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// servePage serves the demo, and beside it the agent clerk, whose calls wait for answers of
// every kind.
func servePage(t *testing.T) string {
	t.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = filepath.Join(t.TempDir(), "data.db")
	url, _ := serveWhole(t, s, demonstration.With(withClerk))
	return url
}
