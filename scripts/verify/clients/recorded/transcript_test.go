package recorded

import (
	"bytes"
	"encoding/json"
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
	events []event
}

// event is one event of a body.
type event struct {
	end   int      // after so many bytes of the body
	texts []string // what it may add to the turn
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
			s.frame(t)
		} else {
			s.split()
		}
		all = append(all, s)
	}
	return all
}

// frame makes the event stream of AWS of lines that have an event's type and its JSON.
func (s *transcript) frame(t *testing.T) {
	t.Helper()
	var b bytes.Buffer
	for line := range bytes.Lines(s.body) {
		kind, payload, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		message := eventstream.Message{Payload: payload}
		message.Headers.Set(":message-type", eventstream.StringValue("event"))
		message.Headers.Set(":event-type", eventstream.StringValue(string(kind)))
		message.Headers.Set(":content-type", eventstream.StringValue("application/json"))
		if err := eventstream.NewEncoder().Encode(&b, message); err != nil {
			t.Fatal(err)
		}
		s.events = append(s.events, event{b.Len(), texts(payload)})
	}
	s.body = b.Bytes()
}

// split finds the server-sent events of the body, each of which has one line of data.
func (s *transcript) split() {
	end := 0
	for line := range bytes.Lines(s.body) {
		end += len(line)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			s.events = append(s.events, event{0, texts(data)})
		} else if n := len(s.events); n > 0 && s.events[n-1].end == 0 && len(bytes.TrimSpace(line)) == 0 {
			s.events[n-1].end = end
		}
	}
}

// texts returns the members of an event, at any depth, that can have a piece of a turn. An
// event that ends an item only repeats them.
func texts(data []byte) []string {
	var value map[string]any
	if json.Unmarshal(data, &value) != nil {
		return nil
	}
	if kind, ok := value["type"].(string); ok && strings.HasSuffix(kind, ".done") {
		return nil
	}
	var all []string
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, member := range v {
				walk(name, member)
			}
		case []any:
			for _, member := range v {
				walk(name, member)
			}
		case string:
			switch name {
			case "text", "content", "reasoning", "reasoning_content", "thinking", "delta", "arguments", "partial_json", "input":
				all = append(all, v)
			}
		}
	}
	walk("", value)
	return all
}

// contentType is what the server says of the body.
func (s *transcript) contentType() string {
	if s.api == "bedrock" {
		return "application/vnd.amazon.eventstream"
	}
	return "text/event-stream"
}
