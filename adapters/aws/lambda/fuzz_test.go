package lambda

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/adapters/internal/caller"
)

func FuzzHTTPEvent(f *testing.F) {
	names, err := filepath.Glob("testdata/callers/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range append(names, "testdata/function-url.json", "testdata/rest.json", "testdata/http-api.json") {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	handle := Handlers{Logger: quiet}.Buffered(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "" || r.URL.Path[0] != '/' || r.Host != "" && r.Header.Get("Host") != "" {
			panic("a request that net/http would not have made")
		}
		_, _ = io.ReadAll(r.Body)
		_ = caller.From(r.Context())
	}))
	f.Fuzz(func(t *testing.T, event []byte) {
		response, err := handle(t.Context(), json.RawMessage(event))
		if err != nil && !errors.Is(err, errNoHTTPEvent) {
			t.Fatal(err)
		}
		status := 0
		switch r := response.(type) {
		case events.APIGatewayProxyResponse:
			status = r.StatusCode
		case events.APIGatewayV2HTTPResponse:
			status = r.StatusCode
		}
		if err == nil && status != 200 && status != 400 {
			t.Errorf("status = %d", status)
		}
	})
}

func FuzzWakeUp(f *testing.F) {
	f.Add(`{"tenant":"acme","thread":"t-1","dispatch":"01938a5e-7b4c-7def-8123-456789abcdef","epoch":3}`)
	f.Fuzz(func(t *testing.T, body string) {
		wake, err := readWakeUp(body)
		if err == nil && wake.Key().Check() != nil {
			t.Errorf("accepted %+v", wake)
		}
	})
}
