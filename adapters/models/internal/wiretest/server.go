package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core/model/modeltest"
)

// Server sends one transcript for every request.
type Server struct {
	URL string

	// Frame, if not nil, encodes each line of the body, for providers with binary
	// streams. Set it before the first request.
	Frame func(line string) []byte

	play   transcript
	mu     sync.Mutex
	bodies []string
	paths  []string
	once   sync.Once
	gone   chan struct{}
}

// transcript is a file, read.
type transcript struct {
	status  int
	headers http.Header
	lines   []string
}

// slowHeaders is the transcript of a server that takes a request and says nothing, which
// is the same for every provider.
const slowHeaders = "# Made for the contract.\n0\n\n@hang\n"

// Serve sends the transcript NAME.txt of a folder until the test ends. The case
// slow_headers has no file.
func Serve(t *testing.T, folder, name string) *Server {
	t.Helper()
	if name == "slow_headers" {
		return ServeText(t, slowHeaders)
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	return ServeText(t, string(text))
}

// ServeText sends the given transcript.
func ServeText(t *testing.T, text string) *Server {
	t.Helper()
	s := &Server{play: parse(t, text), gone: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

var repeat = regexp.MustCompile(`\{\{(.)\*(\d+)\}\}`)

func parse(t *testing.T, text string) transcript {
	t.Helper()
	if !strings.HasPrefix(text, "# ") {
		t.Fatalf("a transcript begins with %.40q, want a line that names its source", text)
	}
	for strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	head, body, ok := strings.Cut(text, "\n\n")
	status, headers, _ := strings.Cut(head, "\n")
	n, err := strconv.Atoi(status)
	if err != nil || !ok {
		t.Fatalf("a transcript has the status %.40q, want a number, headers and an empty line", status)
	}
	p := transcript{status: n, headers: http.Header{}}
	for line := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		p.headers.Add(name, strings.ReplaceAll(value, "{{key}}", modeltest.Key))
	}
	body = strings.ReplaceAll(body, "{{key}}", modeltest.Key)
	body = repeat.ReplaceAllStringFunc(body, func(word string) string {
		m := repeat.FindStringSubmatch(word)
		n, _ := strconv.Atoi(m[2]) // digits, by the expression
		return strings.Repeat(m[1], n)
	})
	for line := range strings.Lines(body) {
		p.lines = append(p.lines, line)
	}
	return p
}

// Requests returns the bodies of the requests so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// Paths returns their paths with queries.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.paths...)
}

// Gone is closed when a client has disconnected before the transcript's end.
func (s *Server) Gone() <-chan struct{} { return s.gone }

func (s *Server) leave() { s.once.Do(func() { close(s.gone) }) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what a client cut off is its own affair
	s.mu.Lock()
	s.bodies, s.paths = append(s.bodies, string(body)), append(s.paths, r.URL.RequestURI())
	s.mu.Unlock()
	for name, values := range s.play.headers {
		w.Header()[name] = values
	}
	if s.play.status != 0 {
		w.WriteHeader(s.play.status)
		flush(w)
	}
	for _, line := range s.play.lines {
		switch strings.TrimSpace(line) {
		case "@cut":
			panic(http.ErrAbortHandler)
		case "@hang":
			<-r.Context().Done()
			s.leave()
			return
		}
		if !s.send(w, line) {
			s.leave()
			return
		}
	}
}

// send writes a line, byte by byte where it is short: a client must not rely on how
// bytes come together.
func (s *Server) send(w http.ResponseWriter, line string) bool {
	data := []byte(line)
	if s.Frame != nil {
		if data = s.Frame(strings.TrimSuffix(line, "\n")); len(data) == 0 {
			return true
		}
	}
	size := 1
	if len(data) > 2000 {
		size = 4096
	}
	for len(data) > 0 {
		n := min(size, len(data))
		if _, err := w.Write(data[:n]); err != nil {
			return false
		}
		flush(w)
		data = data[n:]
	}
	return true
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
