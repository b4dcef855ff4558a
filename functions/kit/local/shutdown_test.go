package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// served is a host behind the server that the command runs.
type served struct {
	url       string
	localHost *localHost
	stop      context.CancelFunc // what a signal does
	ended     chan error
}

func serveUntilStopped(t *testing.T, data string) served {
	t.Helper()
	s, err := settings.Read([]string{"REVEILLE_DATA=" + data, "REVEILLE_SWEEP_INTERVAL=50ms"})
	if err != nil {
		t.Fatal(err)
	}
	return serveLogged(t, s, slog.New(slog.DiscardHandler))
}

// serveLogged is serveUntilStopped with other settings and a log.
func serveLogged(t *testing.T, s settings.Settings, log *slog.Logger) served {
	t.Helper()
	h, err := newHost(t.Context(), env.System(), s, log, demonstration)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	running := served{url: "http://" + listener.Addr().String(), localHost: h, stop: stop, ended: make(chan error, 1)}
	go func() {
		err := serve(ctx, listener, h, time.Millisecond)
		h.shutDown()
		running.ended <- err
	}()
	return running
}

// open starts a request and reads its response up to a line with the text.
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

// slowWords is what the scripted model says to "slow: n".
func slowWords(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint("w", i+1)
	}
	return strings.Join(words, " ")
}

// A host that is told to stop ends the streams that do not end by themselves,
// and says why; their runs go on at its next start.
func TestStoppingHostEndsItsStreams(t *testing.T) {
	t.Parallel() // it waits most of the time, for a run that must not be over when the host stops
	const told = `data: {"type":"error","errorText":"the stream ended before its run, which continues; reconnect to follow it"}`
	slow := strings.Replace(chat, "echo: hello", "slow: 40", 1)
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
		t.Errorf("the next host responds\n%s", again)
	}
	want := []string{"user: slow: 40", "assistant: " + slowWords(40)}
	if diff := cmp.Diff(want, said(t, second.url, "t1")); diff != "" {
		t.Error(diff)
	}
	second.stop()
	if err := <-second.ended; err != nil {
		t.Fatal(err)
	}
}

// TestRestartsDoNotCountAgainstARun: a host that stops in an orderly way gives
// its runs back, as often as it likes. Five lost claims would end them.
func TestRestartsDoNotCountAgainstARun(t *testing.T) {
	const restarts = 6
	data := filepath.Join(t.TempDir(), "data.db")
	key := core.ThreadKey{Tenant: localTenant, Thread: "t1"}
	for n := range restarts {
		life := serveUntilStopped(t, data)
		if n == 0 {
			status, body := post(t, life.url+"/v1/threads/t1/messages", `{"messages":[{"role":"user","content":"slow: 20"}]}`)
			if status != http.StatusAccepted {
				t.Fatal(status, body)
			}
		}
		claimed(t, life.localHost, key)
		life.stop()
		if err := <-life.ended; err != nil {
			t.Fatal(err)
		}
		file, err := bolt.Open(data, bolt.Options{})
		if err != nil {
			t.Fatal(err)
		}
		head, err := file.Head(t.Context(), key)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if head.Run.Attempts != 0 || head.Run.Lost != 0 || head.Run.ModelLost != 0 || head.Run.ModelFailed != 0 || head.Claim.Fence != 0 {
			t.Fatalf("after %d restarts the run has %d attempts, lost %d claims and %d calls, failed %d calls, claim of fence %d; want none",
				n+1, head.Run.Attempts, head.Run.Lost, head.Run.ModelLost, head.Run.ModelFailed, head.Claim.Fence)
		}
	}
	last := serveUntilStopped(t, data)
	_, chunks := get(t, last.url+"/v1/ai-sdk/chat/t1/stream")
	if !strings.HasSuffix(chunks, "data: [DONE]\n\n") {
		t.Errorf("the last host streams\n%s", chunks)
	}
	want := []string{"user: slow: 20", "assistant: w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20"}
	if diff := cmp.Diff(want, said(t, last.url, "t1")); diff != "" {
		t.Error(diff)
	}
	last.stop()
	if err := <-last.ended; err != nil {
		t.Fatal(err)
	}
}

// claimed waits until a worker of the host has the thread.
func claimed(t *testing.T, h *localHost, key core.ThreadKey) {
	t.Helper()
	for range 500 {
		head, err := h.file.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if head.Claim.Fence != 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nobody claims the thread")
}

// TestAHostEndsWithoutCodeThatDoesNotStop: a tool that never looks at its
// context must not keep the process, and its file, for ever.
func TestAHostEndsWithoutCodeThatDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := settings.Read([]string{"REVEILLE_DATA=memory"})
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		h, err := newHost(t.Context(), env.System(), s, slog.New(slog.NewTextHandler(&log, nil)), demonstration)
		if err != nil {
			t.Fatal(err)
		}
		release := make(chan struct{})
		h.wait.Go(func() { <-release })
		began := time.Now()
		h.rest()
		h.shutDown()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the host took %s to end, want 5s", took)
		}
		if want := `level=ERROR msg="host ends while a tool or hook still runs; its run continues at the next start"`; strings.Count(log.String(), want) != 1 {
			t.Errorf("the log says %s\nwant once %s", log.String(), want)
		}
		close(release)
	})
}
