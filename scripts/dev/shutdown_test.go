package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/app/settings"
)

// served is a host behind the server that the command runs.
type served struct {
	url   string
	stop  context.CancelFunc // what a signal does
	ended chan error
}

func serveUntilStopped(t *testing.T, data string) served {
	t.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = data
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	running := served{url: "http://" + listener.Addr().String(), stop: stop, ended: make(chan error, 1)}
	go func() {
		err := serve(ctx, listener, h, time.Millisecond)
		h.close()
		running.ended <- err
	}()
	return running
}

// open starts a request and reads its answer up to a line with the text.
func open(t *testing.T, request *http.Request, until string) *bufio.Reader {
	t.Helper()
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	body := bufio.NewReader(response.Body)
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			t.Fatalf("before %q: %v", until, err)
		}
		if strings.Contains(line, until) {
			return body
		}
	}
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A host that is told to stop ends the streams that do not end by themselves,
// and says why; their runs go on at its next start.
func TestStoppingHostEndsItsStreams(t *testing.T) {
	const told = `data: {"type":"error","errorText":"the stream ended before the run, which goes on; reconnect to follow it"}`
	slow := strings.Replace(chat, "echo: hello", "slow: 10", 1)
	data := filepath.Join(t.TempDir(), "data.db")
	first := serveUntilStopped(t, data)
	inline := open(t, request(t, "POST", first.url+"/v1/ai-sdk/chat", slow), `"delta":"w1"`)
	follower := open(t, request(t, "GET", first.url+"/v1/ai-sdk/chat/t1/stream", ""), `"start"`)
	first.stop()
	for name, stream := range map[string]io.Reader{"the run's own stream": inline, "a follower": follower} {
		rest, err := io.ReadAll(stream)
		if err != nil || !strings.Contains(string(rest), told) || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
			t.Errorf("%s ended with %v and\n%s", name, err, rest)
		}
	}
	if err := <-first.ended; err != nil {
		t.Fatal(err)
	}
	second := serveUntilStopped(t, data)
	_, again := post(t, second.url+"/v1/ai-sdk/chat", slow)
	if !strings.HasSuffix(again, "data: [DONE]\n\n") {
		t.Errorf("the next host answers\n%s", again)
	}
	want := []string{"user: slow: 10", "assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10"}
	if diff := cmp.Diff(want, said(t, second.url, "t1")); diff != "" {
		t.Error(diff)
	}
	second.stop()
	if err := <-second.ended; err != nil {
		t.Fatal(err)
	}
}
