package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/glebarez/sqlite"
	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/server/adkrest"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/database"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// served is adk-go's REST API on a local port, and the sessions behind it.
type served struct {
	sessions session.Service
	file     *pool // nil: sessions are in memory
	server   *httptest.Server
	client   *http.Client
}

// serve serves sessions in memory, or those of a file.
func serve(path string, clients int, m model.LLM) (*served, error) {
	s := &served{sessions: session.InMemoryService(), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}
	if path != "" {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		stored, err := database.NewSessionService(&sqlite.Dialector{Conn: file}, &gorm.Config{Logger: logger.Discard})
		if err != nil {
			return nil, err
		}
		if err := database.AutoMigrate(stored); err != nil {
			return nil, err
		}
		s.sessions, s.file = stored, file
	}
	demo, err := newAgent(m)
	if err != nil {
		return nil, err
	}
	api, err := adkrest.NewServer(adkrest.ServerConfig{SessionService: s.sessions, AgentLoader: agent.NewSingleLoader(demo), SSEWriteTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	s.server = httptest.NewServer(api)
	return s, nil
}

// close ends the server. A file is closed.
func (s *served) close() error {
	s.server.Close()
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// syncs is how often the file was synced.
func (s *served) syncs() int64 {
	if s.file == nil {
		return 0
	}
	return s.file.syncs.Load()
}

// create makes a session in the process: adk-go's clients need a request for that, which
// is not counted.
func (s *served) create(ctx context.Context, name string) (session.Session, error) {
	made, err := s.sessions.Create(ctx, &session.CreateRequest{AppName: app, UserID: user, SessionID: name})
	if err != nil {
		return nil, err
	}
	return made.Session, nil
}

// stream runs one run in a session and reads its events to their end. It returns the time
// to the first text.
func (s *served) stream(name, text string) (time.Duration, error) {
	began := time.Now()
	body := `{"appName":"` + app + `","userId":"` + user + `","sessionId":"` + name + `","streaming":true,"newMessage":{"role":"user","parts":[{"text":"` + text + `"}]}}`
	response, err := s.client.Post(s.server.URL+"/run_sse", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return readStream(response.Body, began)
}

// readStream reads events until the response is complete.
func readStream(body io.Reader, began time.Time) (first time.Duration, err error) {
	r := readers.Get().(*reader)
	defer readers.Put(r)
	r.all.Reset()
	for err == nil {
		var n int
		n, err = body.Read(r.part[:])
		r.all.Write(r.part[:n])
		if first == 0 && bytes.Contains(r.all.Bytes(), []byte("Echo")) {
			first = time.Since(began)
		}
	}
	if err != io.EOF || !bytes.Contains(r.all.Bytes(), []byte(answer)) {
		return 0, fmt.Errorf("the run did not finish: %v, %s", err, r.all.Bytes())
	}
	return first, nil
}

// reader has what a client reads, so that it allocates little.
type reader struct {
	all  bytes.Buffer
	part [4096]byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}
