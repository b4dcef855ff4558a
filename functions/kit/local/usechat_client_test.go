//go:build clients

package local

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/settings"
)

// readmeHost is the host in the documents' code.
const readmeHost = "http://localhost:3000"

// TestUseChatClientInABrowser runs the code of adapters/protocols/aisdk/README.md in an app on
// another origin, which the host allows: with ai 6 and @ai-sdk/react 3, and with ai 7 and 4.
func TestUseChatClientInABrowser(t *testing.T) {
	t.Parallel()
	for name, aliases := range map[string][]string{
		"ai-6": nil,
		"ai-7": {"--alias:ai=ai-7", "--alias:@ai-sdk/react=@ai-sdk/react-4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			app := httptest.NewServer(http.FileServer(http.Dir(folder)))
			t.Cleanup(app.Close)
			s, err := settings.Read([]string{"REVEILLE_ORIGINS=" + app.URL})
			if err != nil {
				t.Fatal(err)
			}
			s.Data = filepath.Join(t.TempDir(), "data.db")
			url, _ := serveSettings(t, s)
			bundle(t, folder, url, aliases...)
			browse(t, "usechat.mjs", app.URL)
		})
	}
}

// bundle writes the app, for a host at url, to a folder.
func bundle(t *testing.T, folder, url string, aliases ...string) {
	t.Helper()
	const document = "adapters/protocols/aisdk/README.md"
	readme, err := os.ReadFile("../../../" + document)
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?s)```tsx client\n(const \\{ messages,.*?)```").FindStringSubmatch(string(readme))
	if lines == nil || !strings.Contains(lines[1], readmeHost) {
		t.Fatal(document + " has no code of useChat for " + readmeHost)
	}
	const clients = "../../../scripts/verify/clients/page"
	source, err := os.ReadFile(clients + "/usechat/app.tsx")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(source), "README;", strings.ReplaceAll(lines[1], readmeHost, url), 1)
	command := exec.CommandContext(t.Context(), "go", append([]string{
		"tool", "esbuild", "--bundle", "--format=esm", "--target=es2022", "--jsx=automatic", "--loader=tsx", "--log-level=warning",
		"--define:HOST=" + strconv.Quote(url), `--define:process.env.NODE_ENV="production"`,
		"--outfile=" + filepath.Join(folder, "app.js"),
	}, aliases...)...)
	command.Dir, command.Stdin = clients, strings.NewReader(text) // its packages are that folder's
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const page = `<!doctype html><html lang="en"><title>Chat</title><link rel="icon" href="data:,"><body><script type="module" src="app.js"></script>`
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
}
