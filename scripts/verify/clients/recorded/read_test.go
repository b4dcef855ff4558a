package recorded

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// replay is a server without a network: it sends a body for every request.
type replay struct {
	contentType string
	body        io.Reader
}

// RoundTrip implements http.RoundTripper.
func (r replay) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {r.contentType}}, Body: io.NopCloser(r.body), Request: request, ContentLength: -1,
	}, nil
}

// pieces is a body that comes in random pieces, and breaks off where broken is set.
type pieces struct {
	rest   []byte
	random *rand.Rand
	broken bool
}

// Read implements io.Reader.
func (p *pieces) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		if p.broken {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, io.EOF
	}
	n := min(len(to), len(p.rest), 1+p.random.IntN(200))
	copy(to, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}

// open returns the adapter that a user has for the host of the transcript.
func (s *transcript) open(t *testing.T, body io.Reader) model.Model {
	t.Helper()
	const key = "no-key"
	server := replay{s.contentType(), body}
	client := &http.Client{Transport: server}
	var m model.Model
	var err error
	switch s.api {
	case "chat":
		m, err = openai.New(openai.Options{APIKey: key, BaseURL: "https://" + s.host + "/v1", HTTPClient: client})
	case "responses":
		m, err = openai.New(openai.Options{APIKey: key, BaseURL: "https://" + s.host + "/v1", Dialect: openai.DialectResponses, HTTPClient: client})
	case "anthropic":
		m, err = anthropic.New(anthropic.Options{APIKey: key, BaseURL: "https://" + s.host, HTTPClient: client})
	case "gemini":
		m, err = gemini.New(gemini.Options{APIKey: key, BaseURL: "https://" + s.host, HTTPClient: client})
	case "bedrock":
		variables := map[string]string{"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": key}
		m, err = bedrock.New(bedrock.Options{AWS: awsenv.Config{Getenv: func(name string) string { return variables[name] }, Transport: server}})
	default:
		t.Fatalf("%s: the api is %q", s.name, s.api)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stream reads a body with our adapter.
func (s *transcript) stream(t *testing.T, body io.Reader) iter.Seq2[model.Delta, error] {
	t.Helper()
	return s.open(t, body).Stream(t.Context(), model.Request{
		Model: s.model, Origin: "recorded/" + s.model, MaxTokens: 4000,
		Messages: []core.Message{core.UserMessage("Go on.").WithID("m1")},
	})
}

// turn is what a stream said, in the form in which it is compared.
type turn struct {
	Text      string   `json:"text"`
	Reasoning string   `json:"reasoning"`
	Calls     []called `json:"calls"`
	Usage     counts   `json:"usage"`
	Finish    string   `json:"finish"` // as the AI SDK calls it; empty after an error
	Failed    bool     `json:"failed"`
	// Sources are the pages that the text cites, address and title, sorted; null where the npm
	// package has none.
	Sources []string `json:"sources"`
}

type called struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // compact JSON where it is JSON
}

type counts struct {
	Input     int `json:"input"`
	Output    int `json:"output"`
	CacheRead int `json:"cache_read"`
	Reasoning int `json:"reasoning"`
}

var finishes = map[core.StopReason]string{
	core.StopEndTurn: "stop", core.StopSequence: "stop", core.StopToolUse: "tool-calls", core.StopMaxTokens: "length",
	core.StopContextOverflow: "length", core.StopContentFilter: "content-filter", core.StopOther: "other",
}

// read returns what our adapter makes of a body, and its error.
func (s *transcript) read(t *testing.T, body io.Reader) (turn, error) {
	t.Helper()
	said := turn{Calls: []called{}, Sources: []string{}}
	for d, err := range s.stream(t, body) {
		if err != nil {
			said.Failed = true
			return said, err
		}
		said.add(t, s.name, d)
	}
	if said.Finish == "" {
		return said, errors.New("the stream ended without a stop and without an error")
	}
	return said, nil
}

func (s *turn) add(t *testing.T, name string, d model.Delta) {
	t.Helper()
	switch d.Type {
	case model.DeltaText:
		s.Text += d.Text
	case model.DeltaReasoning:
		s.Reasoning += d.Text
	case model.DeltaToolStart:
		if d.Index != len(s.Calls) {
			t.Errorf("%s: call %d starts after %d calls", name, d.Index, len(s.Calls))
		}
		s.Calls = append(s.Calls, called{ID: d.CallID, Name: d.Name})
	case model.DeltaToolArgument:
		s.Calls[d.Index].Arguments += d.Text
	case model.DeltaUsage:
		s.Usage = counts{d.Usage.Input, d.Usage.Output, d.Usage.CacheRead, d.Usage.Reasoning}
	case model.DeltaStop:
		s.Finish = finishes[d.Stop]
	case model.DeltaAnnotation:
		source := d.Annotation.URL + " " + d.Annotation.Title
		if at, known := slices.BinarySearch(s.Sources, source); !known && d.Annotation.Type == core.AnnotationURL {
			s.Sources = slices.Insert(s.Sources, at, source)
		}
	}
}

// compact returns the turn with its arguments in one form; a call without them has an
// empty object.
func (s turn) compact() turn {
	s.Calls = append([]called{}, s.Calls...)
	for i, c := range s.Calls {
		var value any
		if c.Arguments == "" {
			s.Calls[i].Arguments = "{}"
		}
		if json.Unmarshal([]byte(c.Arguments), &value) != nil {
			continue
		}
		if encoded, err := json.Marshal(value); err == nil {
			s.Calls[i].Arguments = string(encoded)
		}
	}
	return s
}
