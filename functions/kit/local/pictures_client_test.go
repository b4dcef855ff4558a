//go:build clients

package local

import (
	"flag"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

var picturesFolder = flag.String("pictures", "", "the folder into which TestPagePictures writes the pictures of README.md")

// TestPagePictures makes the pictures of the page, on a host whose ids come from a
// fixed seed. `make page-pictures` runs it; look at the pictures before you commit them.
func TestPagePictures(t *testing.T) {
	if *picturesFolder == "" {
		t.Skip("make page-pictures makes them")
	}
	folder, err := filepath.Abs(*picturesFolder)
	if err != nil {
		t.Fatal(err)
	}
	seeded := rand.NewChaCha8([32]byte{})
	var mu sync.Mutex
	e := env.System()
	e.Random = func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = seeded.Read(b) // returns no errors
	}
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = "memory"
	h, err := newHost(t.Context(), e, s, slog.New(slog.DiscardHandler), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.handler)
	t.Cleanup(func() {
		server.Close()
		h.shutDown()
	})
	browse(t, "pictures.mjs", server.URL, folder)
}
