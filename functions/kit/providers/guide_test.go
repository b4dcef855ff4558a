package providers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// guide returns the guides to models.
func guide(t *testing.T) string {
	t.Helper()
	var all string
	for _, name := range []string{"models.md", "model-servers.md"} {
		text, err := os.ReadFile("../../guides/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

// answers is a provider that gives one recorded answer.
type answers struct {
	*httptest.Server
	asked chan string // path and body of the request
}

// answering returns a provider whose answer is recorded in a file: comments, the status, the
// headers and the body.
func answering(t *testing.T, path string) answers {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(text), "\n\n")
	if !ok {
		t.Fatalf("%s has no body", path)
	}
	a := answers{asked: make(chan string, 1)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		a.asked <- r.URL.Path + " " + string(request)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(a.Close)
	return a
}

// TestTheGuidesCommandsReachTheirModels runs an agent on the model that each command selects,
// at the address of a fake.
func TestTheGuidesCommandsReachTheirModels(t *testing.T) {
	fakes := map[string]struct{ folder, path string }{
		"openai":    {"openai", "/chat/completions"},
		"ollama":    {"openai", "/chat/completions"},
		"vertex":    {"gemini", "/models/gemini-2.5-flash:streamGenerateContent"},
		"azure":     {"openai", "/openai/v1/chat/completions"},
		"anthropic": {"anthropic", "/v1/messages"},
		"gemini":    {"gemini", "/models/gemini-3.8-flash:streamGenerateContent"},
	}
	var seen []string
	for _, command := range regexp.MustCompile(`(?m)^(.*)make run MODEL=([a-z-]+)/(\S+)`).FindAllStringSubmatch(guide(t), -1) {
		id, name := command[2], command[3]
		seen = append(seen, id)
		t.Run(id, func(t *testing.T) {
			environ := []string{"REVEILLE_MODEL=" + id + "/" + name}
			for _, pair := range strings.Fields(command[1]) {
				if !strings.Contains(pair, "=https://") { // the fake is in its place
					environ = append(environ, pair)
				}
			}
			fake, ok := fakes[id]
			if !ok { // Bedrock has a wire and tests of its own
				if _, err := settings.Read(environ); err != nil || id != "bedrock" {
					t.Fatal(id, err)
				}
				return
			}
			server := answering(t, "../../../adapters/models/"+fake.folder+"/testdata/transcripts/text.txt")
			s, err := settings.Read(append(environ, "REVEILLE_MODEL_BASE_URL="+server.URL))
			if err != nil {
				t.Fatal(err)
			}
			if p, _ := s.Provider(id); p.Own != p.Key.IsZero() && id != "vertex" { // its key is one of two ways
				t.Errorf("the command gives the key %q", p.Key.Reveal())
			}
			bound, err := Bind(env.System(), s)
			if err != nil {
				t.Fatal(err)
			}
			r, err := reveille.New(reveille.Parts{
				Specs: []agent.Spec{{ID: "a", Model: "m"}}, Models: map[string]agent.ModelBinding{"m": bound}, Catalog: catalog.Default(),
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			result, err := r.Run(t.Context(), reveille.Input{Text: "hello"})
			if err != nil || result.Text != "Hello, wörld 🌍." {
				t.Errorf("it says %q, %v", result.Text, err)
			}
			if asked := <-server.asked; !strings.HasPrefix(asked, fake.path) || !strings.Contains(asked, name) {
				t.Errorf("asked for %s", asked)
			}
		})
	}
	if diff := cmp.Diff([]string{"openai", "anthropic", "gemini", "ollama", "bedrock", "openai", "vertex", "azure"}, seen); diff != "" {
		t.Errorf("commands of models.md (-want +got):\n%s", diff)
	}
}

// TestTheGuidesTableHasEachProvider: what a provider can do is written by hand. The catalog
// knows each model that is a default, and its price.
func TestTheGuidesTableHasEachProvider(t *testing.T) {
	_, table, _ := strings.Cut(guide(t), "\n| Provider | Tools |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, p := range settings.Providers() {
		if p.ID != "scripted" && !regexp.MustCompile("(?m)^\\| [^|]*`"+p.ID+"`").MatchString(table) {
			t.Errorf("%s is not in the table", p.ID)
		}
		_, seller := catalog.Default().Find(p.ID, p.Model)
		if _, priced := catalog.Default().Cost(p.ID, p.Model, core.Usage{}, time.Now()); p.Model != "" && (seller != p.ID || !priced) {
			t.Errorf("the catalog does not know %s/%s, or not its price", p.ID, p.Model)
		}
	}
}

func TestTheGuidesCatalogIsOne(t *testing.T) {
	page, err := os.ReadFile("../../guides/model-catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```json reader=catalog\n")
	text, _, _ = strings.Cut(text, "```")
	known, err := catalog.Default().With([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := known.Find("openai", "gpt-6-luna")
	cost, ok := known.Cost("openai", "gpt-6-luna", core.Usage{Input: 1_000_000}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if !ok || cost.String() != "0.2" || m.ContextWindow != 1050000 {
		t.Errorf("%+v, %s, %v", m, cost, ok)
	}
}
