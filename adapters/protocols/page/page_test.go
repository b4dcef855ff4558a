package page_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/page"
)

// behind is what stands behind the page.
var behind = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusTeapot)
	_, _ = fmt.Fprint(w, r.Method, " ", r.URL.Path)
})

func ask(method, path string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response := httptest.NewRecorder()
	page.Before(behind).ServeHTTP(response, request)
	return response
}

// named are the files that the document names.
func named(t *testing.T) []string {
	t.Helper()
	document := ask(http.MethodGet, "/").Body.String()
	var paths []string
	for _, m := range regexp.MustCompile(`(?:href|src)="(page/[^"]+)"`).FindAllStringSubmatch(document, -1) {
		paths = append(paths, "/"+m[1])
	}
	if len(paths) != 2 {
		t.Fatalf("the document names %q, want a style sheet and a script:\n%s", paths, document)
	}
	return paths
}

func TestThePageIsServedBeforeTheRoutes(t *testing.T) {
	files := named(t)
	tests := []struct {
		name, method, path string
		status             int
		kind, cache        string
	}{
		{"document", "GET", "/", 200, "text/html; charset=utf-8", "no-cache"},
		{"style sheet", "GET", files[0], 200, "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"script", "GET", files[1], 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"licences", "GET", "/page/NOTICE", 200, "text/plain; charset=utf-8", "no-cache"},
		{"head", "HEAD", "/", 200, "text/html; charset=utf-8", "no-cache"},
		{"a route", "GET", "/v1/threads", 418, "", ""},
		{"a post", "POST", "/", 418, "", ""},
		{"an old file", "GET", "/page/main-0000000000000000.js", 418, "", ""},
		{"the folder", "GET", "/page/", 418, "", ""},
		{"what is not named", "GET", "/page/main.js", 418, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			response := ask(test.method, test.path)
			h := response.Header()
			if response.Code != test.status || test.kind != "" && h.Get("Content-Type") != test.kind || h.Get("Cache-Control") != test.cache {
				t.Errorf("status %d, type %q, cache %q", response.Code, h.Get("Content-Type"), h.Get("Cache-Control"))
			}
			if test.method == http.MethodHead && response.Body.Len() > 0 {
				t.Error("HEAD has a body")
			}
		})
	}
}

func TestThePageMayLoadItsOwnFilesAlone(t *testing.T) {
	for _, path := range append(named(t), "/") {
		got := ask(http.MethodGet, path).Header().Get("Content-Security-Policy")
		want := "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("policy of %s (-want +got):\n%s", path, diff)
		}
	}
}

func TestThePageIsCompressedForThoseWhoTakeIt(t *testing.T) {
	for _, test := range []struct{ accept, coding string }{
		{"gzip, deflate, br, zstd", "gzip"}, {"br;q=1.0, GZIP;q=0.5", "gzip"}, {"*", "gzip"},
		{"", ""}, {"br", ""}, {"gzip;q=0", ""}, {"identity, gzip; q=0.0", ""},
	} {
		for _, path := range append(named(t), "/") {
			plain, response := ask(http.MethodGet, path), ask(http.MethodGet, path, "Accept-Encoding", test.accept)
			if got := response.Header().Get("Content-Encoding"); got != test.coding || response.Header().Get("Vary") != "Accept-Encoding" {
				t.Fatalf("%s, accepting %q: coding %q, Vary %q", path, test.accept, got, response.Header().Get("Vary"))
			}
			if test.coding == "" {
				continue
			}
			z, err := gzip.NewReader(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(z)
			if err != nil || string(body) != plain.Body.String() {
				t.Errorf("%s is another file when it is compressed: %v", path, err)
			}
			if response.Header().Get("ETag") == plain.Header().Get("ETag") {
				t.Errorf("%s has the same tag in both codings", path)
			}
		}
	}
}

func TestThePageIsNotSentAgain(t *testing.T) {
	tag := ask(http.MethodGet, "/").Header().Get("ETag")
	if response := ask(http.MethodGet, "/", "If-None-Match", `"old", `+tag); response.Code != http.StatusNotModified || response.Body.Len() > 0 {
		t.Errorf("status %d with %d bytes, want 304 with none", response.Code, response.Body.Len())
	}
	if response := ask(http.MethodGet, "/", "If-None-Match", `"old"`); response.Code != http.StatusOK {
		t.Errorf("status %d for another tag, want 200", response.Code)
	}
}

// TestThePageIsSmall holds the whole page, as it is sent, under 150 KB.
func TestThePageIsSmall(t *testing.T) {
	whole := 0
	for _, path := range append(named(t), "/") {
		whole += ask(http.MethodGet, path, "Accept-Encoding", "gzip").Body.Len()
	}
	if whole > 150_000 {
		t.Errorf("the page is %d bytes, at most 150,000", whole)
	}
	t.Logf("%d bytes", whole)
}

// TestThePageAsksNobodyElse looks for addresses of other hosts in what is served.
func TestThePageAsksNobodyElse(t *testing.T) {
	// A name of XML, and what marked says in the text of an error: nobody fetches either.
	allowed := []string{"http://www.w3.org/", "https://github.com/"}
	for _, path := range append(named(t), "/") {
		text := regexp.MustCompile(`(?s)/\*!.*?\*/|/\*\*.*?\*/`).ReplaceAllString(ask(http.MethodGet, path).Body.String(), "") // licences
		for _, address := range regexp.MustCompile(`https?://[a-z0-9.-]+/?`).FindAllString(text, -1) {
			known := false
			for _, a := range allowed {
				known = known || strings.HasPrefix(address, a)
			}
			if !known {
				t.Errorf("%s names %s", path, address)
			}
		}
	}
}
