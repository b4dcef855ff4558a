//go:build aws

package deployed

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// A client whose connection breaks comes back to another process, since the one that
// streamed to it still does, for all that Lambda tells it. Wherever it breaks, the client
// has in the end what an unbroken stream has, and some of it while the other process
// still infers.
func TestADroppedStreamGoesOnInAnotherProcess(t *testing.T) {
	const offsets, atOnce = 20, 4
	var all []string // of 7 s: a process looks every 2 s whether somebody follows
	for i := range 70 {
		all = append(all, fmt.Sprint("w", i+1))
	}
	words := strings.Join(all, " ")
	w := newWorld(t)
	w.run(t, w.function("stream", build(t, "functions/stream", ""), time.Minute))
	url := w.front(t, host.Front{Function: "stream"})
	protocols := []dropped{native{url}, aiSDK{url}}
	for _, p := range protocols {
		t.Run(p.name(), func(t *testing.T) {
			unbroken := p.ask(t, "unbroken", 0)
			if got := p.text(t, unbroken); got != words {
				t.Fatalf("the unbroken stream says %q\n%s", got, unbroken)
			}
			live := make([]bool, offsets)
			group, _ := env.System().Group(t.Context())
			turns := make(chan struct{}, atOnce)
			for i := range offsets {
				group.Go(func(context.Context) error {
					turns <- struct{}{}
					defer func() { <-turns }()
					for again := range 3 { // the run is soon over: whoever comes late has its text in one piece
						thread, offset := fmt.Sprintf("%s-%d-%d", p.name(), i, again), 1+len(unbroken)*i/offsets
						had := p.ask(t, thread, offset)
						rest := p.comeBack(t, thread, had)
						if got := p.text(t, p.join(had, rest)); got != words {
							return fmt.Errorf("dropped at byte %d: %q\n%s\nand then\n%s", offset, got, had, rest)
						}
						if live[i] = strings.Count(rest, "delta\":") > 1; live[i] || i >= offsets/2 {
							break
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			for i := range offsets / 2 {
				if !live[i] {
					t.Errorf("the client that was dropped at %d %% has its text in one piece", 100*i/offsets)
				}
			}
		})
	}
}

// dropped is a protocol whose client loses its connection.
type dropped interface {
	name() string
	ask(t *testing.T, thread string, limit int) string
	comeBack(t *testing.T, thread, had string) string
	join(had, rest string) string
	text(t *testing.T, stream string) string
}

// read reads a stream up to so many bytes; 0: to its end.
func read(t *testing.T, request *http.Request, limit int) string {
	t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer response.Body.Close()
	body := io.Reader(response.Body)
	if limit > 0 {
		body = io.LimitReader(body, int64(limit))
	}
	text, err := io.ReadAll(body)
	if err != nil || response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		t.Errorf("status %d, %v: %s", response.StatusCode, err, text)
	}
	return string(text)
}

func request(t *testing.T, method, url, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// whole is the part of a stream that a client has understood: its whole frames.
func whole(stream string) string { return stream[:strings.LastIndex("\n\n"+stream, "\n\n")] }

// native is the stream of /v1/runs.
type native struct{ url string }

func (native) name() string { return "native" }

func (n native) ask(t *testing.T, thread string, limit int) string {
	body := fmt.Sprintf(`{"threadId":%q,"messages":[{"role":"user","content":"slow: 70"}]}`, thread)
	return read(t, request(t, "POST", n.url+"/v1/runs", body, "Idempotency-Key", thread), limit)
}

// comeBack names the last event that the client has, or asks again when it has none.
func (n native) comeBack(t *testing.T, thread, had string) string {
	had = whole(had)
	i := strings.LastIndex(had, "id: ")
	if i < 0 {
		return n.ask(t, thread, 0)
	}
	last, _, _ := strings.Cut(had[i+len("id: "):], "\n")
	run, _, _ := strings.Cut(last, ".")
	return read(t, request(t, "GET", n.url+"/v1/runs/"+run+"/events/stream", "", "Last-Event-ID", last), 0)
}

func (native) join(had, rest string) string { return whole(had) + rest }

func (native) text(t *testing.T, stream string) string {
	var text strings.Builder
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e core.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		switch e.Type {
		case core.EventTextDelta:
			text.WriteString(e.Delta)
		case core.EventStepRestarted:
			text.Reset()
		}
	}
	return text.String()
}

// aiSDK is the stream of useChat, which is replayed from its first chunk.
type aiSDK struct{ url string }

func (aiSDK) name() string { return "ai-sdk" }

func (a aiSDK) ask(t *testing.T, thread string, limit int) string {
	body := fmt.Sprintf(`{"id":%q,"messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"slow: 70"}]}]}`, thread)
	return read(t, request(t, "POST", a.url+"/v1/ai-sdk/chat", body), limit)
}

// comeBack resumes. A run that is over meanwhile has its text in the history.
func (a aiSDK) comeBack(t *testing.T, thread, had string) string {
	rest := read(t, request(t, "GET", a.url+"/v1/ai-sdk/chat/"+thread+"/stream", ""), 0)
	if rest != "" {
		if begin, _, _ := strings.Cut(whole(had), "\n\n"); begin != "" && !strings.HasPrefix(rest, begin) {
			t.Errorf("the replay begins otherwise than the stream, with %q: %s", begin, rest)
		}
		return rest
	}
	history := read(t, request(t, "GET", a.url+"/v1/ai-sdk/threads/"+thread+"/messages", ""), 0)
	var page struct {
		Messages []struct {
			Parts []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(history), &page); err != nil || len(page.Messages) == 0 {
		t.Errorf("the history is %s: %v", history, err)
		return ""
	}
	for _, part := range page.Messages[len(page.Messages)-1].Parts {
		if part.Type == "text" {
			return fmt.Sprintf("data: {\"type\":\"text-delta\",\"delta\":%q}\n\n", part.Text)
		}
	}
	return ""
}

func (aiSDK) join(_, rest string) string { return rest }

func (aiSDK) text(t *testing.T, stream string) string {
	var text strings.Builder
	for _, c := range chunks(t, stream) {
		if c.Type == "text-delta" {
			text.WriteString(c.Delta)
		}
	}
	return text.String()
}
