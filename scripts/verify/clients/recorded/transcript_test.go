package recorded

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// transcript is a file of the folder transcripts.
type transcript struct {
	name   string // of the file, without its ending
	host   string // that the recording is from
	api    string // chat, responses, anthropic, gemini or bedrock
	client string // the npm package that reads it, without its scope
	model  string
	shows  string
	shape  string // the recording whose shape it has
	body   []byte // as it comes over the wire
}

// field returns what a line of the head of a transcript sets.
func (s *transcript) field(name string) *string {
	return map[string]*string{"host": &s.host, "api": &s.api, "client": &s.client, "model": &s.model, "shows": &s.shows, "shape": &s.shape}[name]
}

// transcripts reads all of them, by their names.
func transcripts(t *testing.T) []transcript {
	t.Helper()
	files, err := filepath.Glob("transcripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	all := make([]transcript, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(text), "\n\n")
		s := transcript{name: strings.TrimSuffix(filepath.Base(file), ".txt"), body: []byte(body)}
		for line := range strings.Lines(head) {
			name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# ")), ": ")
			to := s.field(name)
			if to == nil || value == "" || *to != "" {
				t.Fatalf("%s: the head has the line %q", file, line)
			}
			*to = value
		}
		if s.host == "" || s.api == "" || s.client == "" || s.model == "" || s.shows == "" || s.shape == "" || body == "" {
			t.Fatalf("%s: the head lacks a line, or there is no body", file)
		}
		if s.api == "bedrock" {
			s.body = framed(t, body)
		}
		all = append(all, s)
	}
	return all
}

// framed makes the event stream of AWS of lines that have an event's type and its JSON.
func framed(t *testing.T, lines string) []byte {
	t.Helper()
	var b bytes.Buffer
	for line := range strings.Lines(lines) {
		kind, payload, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		message := eventstream.Message{Payload: []byte(payload)}
		message.Headers.Set(":message-type", eventstream.StringValue("event"))
		message.Headers.Set(":event-type", eventstream.StringValue(kind))
		message.Headers.Set(":content-type", eventstream.StringValue("application/json"))
		if err := eventstream.NewEncoder().Encode(&b, message); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// contentType is what the server says of the body.
func (s *transcript) contentType() string {
	if s.api == "bedrock" {
		return "application/vnd.amazon.eventstream"
	}
	return "text/event-stream"
}
