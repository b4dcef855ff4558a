package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/reveille-run/reveille/adapters/internal/requestlog"
)

// folder is where the files lie that the document names, relative to the document.
const folder = "page/"

//go:embed dist
var dist embed.FS

// notice are the licences of the code of others in the page and the binaries; scripts/verify/notice
// writes it.
//
//go:embed NOTICE
var notice []byte

// policy lets the page load its own files, talk to its own host, and nothing else. No
// text can become markup: there is no policy that could make it trusted.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// document is the page before its script runs. Its addresses are relative, so that it
// works under any path that ends in a slash, such as a stage of API Gateway.
const document = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Reveille</title>
<link rel="icon" href="data:image/svg+xml,%%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%%3E%%3Ccircle cx='8' cy='8' r='7' fill='%%231243bd'/%%3E%%3Cpath d='M5 11V5l6 3z' fill='%%23fff'/%%3E%%3C/svg%%3E">
<link rel="stylesheet" href="%s">
<script type="module" src="%s"></script>
</head>
<body><noscript>This page is a program: it needs JavaScript. The routes under /v1 need none.</noscript></body>
</html>
`

// file is one file as it is served.
type file struct {
	kind         string
	plain, small []byte // small is plain, compressed by gzip
	tag          string // of the plain bytes
	cache        string
}

// Before returns a handler that serves GET and HEAD requests for the document, at / alone,
// and for its files, in folder page, without authentication; next serves all others. The
// files are compressed at the first request, so that the page costs an unused process
// nothing.
func Before(next http.Handler) http.Handler {
	files := sync.OnceValue(load)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ours := r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/"+folder)
		if !ours || r.Method != http.MethodGet && r.Method != http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		f, ok := files()[r.URL.Path[1:]]
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		route := "GET /"
		if r.URL.Path != "/" {
			route += folder + "{file}"
		}
		requestlog.Of(r.Context()).Named(route)
		f.serve(w, r)
	})
}

// load makes the files by their path. The files that the document names have their hash
// in their name, so that a browser may cache them permanently.
func load() map[string]file {
	files := map[string]file{}
	names := make([]any, 2)
	for i, name := range []struct{ stem, ending, kind string }{{"style", "css", "text/css"}, {"main", "js", "text/javascript"}} {
		text, err := dist.ReadFile("dist/" + name.stem + "." + name.ending)
		if err != nil {
			panic(err) // the build embeds both
		}
		f := newFile(name.kind, text, "public, max-age=31536000, immutable")
		path := fmt.Sprintf("%s%s-%s.%s", folder, name.stem, f.tag, name.ending)
		files[path], names[i] = f, path
	}
	files[folder+"NOTICE"] = newFile("text/plain", notice, "no-cache")
	files[""] = newFile("text/html", fmt.Appendf(nil, document, names...), "no-cache")
	return files
}

func newFile(kind string, text []byte, cache string) file {
	var small bytes.Buffer
	z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // a level that exists
	_, _ = z.Write(text)                                      // a buffer takes all
	_ = z.Close()
	sum := sha256.Sum256(text)
	return file{kind + "; charset=utf-8", text, small.Bytes(), hex.EncodeToString(sum[:8]), cache}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", f.cache)
	h.Set("Vary", "Accept-Encoding")
	body, tag := f.plain, `"`+f.tag+`"`
	if compressed(r.Header.Values("Accept-Encoding")) {
		body, tag = f.small, `"`+f.tag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // a browser that is gone needs nothing
}

// compressed reports whether a client takes gzip.
func compressed(accepted []string) bool {
	for item := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(item), ";")
		if coding = strings.TrimSpace(coding); !strings.EqualFold(coding, "gzip") && coding != "*" {
			continue
		}
		name, value, _ := strings.Cut(strings.TrimSpace(quality), "=")
		q, err := strconv.ParseFloat(value, 64)
		return !strings.EqualFold(name, "q") || err != nil || q > 0
	}
	return false
}
