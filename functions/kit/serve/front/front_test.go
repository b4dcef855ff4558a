package front

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Each row is a promise of README.md that one line of streamed or buffered keeps.
func TestDoorsAreWiredAsTheDocumentsSay(t *testing.T) {
	read := func(environ ...string) *cloud.Function {
		s, err := settings.Read(environ)
		if err != nil {
			t.Fatal(err)
		}
		return &cloud.Function{Settings: s, Env: env.System()}
	}
	rt := &host.Host{}
	authenticate := func(*http.Request) (core.Identity, error) { return core.Identity{Tenant: "acme"}, nil }
	set := read("REVEILLE_PAGE=on", "REVEILLE_SHOW_MODELS=on", "REVEILLE_SHOW_REQUESTS=on", "REVEILLE_STREAM_URL=https://stream.example", "REVEILLE_USAGE_READERS=ann", "REVEILLE_MAX_BODY=1MB")
	plain, stream, api := streamed(read(), rt, authenticate), streamed(set, rt, authenticate), buffered(set, rt, authenticate)
	for _, row := range []struct {
		promise string
		ok      bool
	}{
		{"no page on AWS by itself", !plain.Page},
		{"REVEILLE_PAGE=on shows it", stream.Page},
		{"no models on AWS by themselves", !plain.ShowModels},
		{"REVEILLE_SHOW_MODELS=on shows them", stream.ShowModels},
		{"no requests on AWS by themselves", !plain.ShowRequests},
		{"REVEILLE_SHOW_REQUESTS=on shows them, at the streaming door", stream.ShowRequests},
		{"REVEILLE_SHOW_REQUESTS=on shows them, at the other", api.ShowRequests},
		{"the door that cannot stream has no page", !api.Page},
		{"the streaming door streams", !stream.Buffered},
		{"the other one does not, and says where it is streamed", api.Buffered && api.StreamURL == "https://stream.example"},
		{"REVEILLE_USAGE_READERS, at the streaming door", slices.Equal(stream.UsageReaders, []string{"ann"})},
		{"REVEILLE_USAGE_READERS, at the other", slices.Equal(api.UsageReaders, []string{"ann"})},
		{"bodies of 4 MB, at the streaming door", plain.MaxBody == 4194304},
		{"REVEILLE_MAX_BODY, at the streaming door", stream.MaxBody == 1048576},
		{"REVEILLE_MAX_BODY, at the other", api.MaxBody == 1048576},
		{"callers are authenticated", stream.Authenticate != nil && api.Authenticate != nil},
		{"the runtime", stream.Runtime == rt && api.Runtime == rt},
		{"an invocation keeps 5 s for handing its run on", streaming(set).Reserve == 5*time.Second},
	} {
		if !row.ok {
			t.Error(row.promise)
		}
	}
}
