package bedrock_test

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
	"testing"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/adapters/models/bedrock/internal/bedrocktest"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

// frameOf makes an event of a line of a transcript: its type and its JSON, an exception's
// behind "!". Bodies of refusals stay as they are.
func frameOf(line string) []byte {
	kind, payload, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "{"), strings.HasPrefix(line, "<"):
		return []byte(line)
	case kind == "broken": // a checksum that does not hold
		frame := bedrocktest.Event("contentBlockStop", payload)
		frame[len(frame)-1] ^= 1
		return frame
	case kind == "long": // a length that no event may have
		frame := bytes.Repeat([]byte{0}, 16)
		binary.BigEndian.PutUint32(frame, 16<<20+1)
		return frame
	case strings.HasPrefix(kind, "!"):
		return bedrocktest.Message(payload, ":message-type", "exception", ":exception-type", kind[1:], ":content-type", "application/json")
	}
	return bedrocktest.Event(kind, payload)
}

// plainly sends what goes to an https endpoint over http: the SDK sends a token over
// nothing else.
type plainly struct{}

func (plainly) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultTransport.RoundTrip(r)
}

var provider = modeltest.Provider{
	Name: "bedrock", Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Own: "messages", Echo: "c2lnbmF0dXJlLTE=",
	Open: func(t *testing.T, play string) modeltest.Opened {
		s := wiretest.Serve(t, "testdata/transcripts", play)
		s.Frame = frameOf
		variables := map[string]string{
			"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": modeltest.Key,
			"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https" + strings.TrimPrefix(s.URL, "http"),
		}
		m, err := bedrock.New(bedrock.Options{AWS: awsenv.Config{
			Getenv: func(name string) string { return variables[name] }, Transport: plainly{},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
	},
	Stops: map[string]core.StopReason{
		"stop_end": core.StopEndTurn, "stop_limit": core.StopMaxTokens, "stop_sequence": core.StopSequence,
		"stop_guardrail": core.StopContentFilter, "stop_filter": core.StopContentFilter, "stop_window": core.StopContextOverflow,
		"stop_unknown": core.StopOther, "stop_calls_though_it_says_end": core.StopToolUse,
	},
	Usage: &core.Usage{Input: 100, Output: 20, CacheRead: 40, CacheWrite: 10}, // reasoning is not counted apart
}

func TestContract(t *testing.T) { provider.Run(t) }

func TestNoHistoryBreaksTheRules(t *testing.T) {
	for _, name := range []string{provider.Model, "anthropic.claude-opus-4-8", "anthropic.claude-opus-5-5"} {
		t.Run(name, func(t *testing.T) {
			p := provider
			p.Model = name
			p.Histories(t, wiretest.CheckConverse)
		})
	}
}

func TestRequestsForSchemas(t *testing.T) {
	wiretest.WriteRequests(t, "bedrock", provider)
}
