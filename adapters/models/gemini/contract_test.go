package gemini_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

func provider(name string) modeltest.Provider {
	return modeltest.Provider{
		Name: "gemini", Model: name, Own: "contents", Echo: `"thoughtSignature":"c2lnbmF0dXJlLTE="`,
		Open: func(t *testing.T, play string) modeltest.Opened {
			s := wiretest.Serve(t, "testdata/transcripts", play)
			m, err := gemini.New(gemini.Options{APIKey: modeltest.Key, BaseURL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
		},
		Stops: map[string]core.StopReason{
			"stop_end": core.StopEndTurn, "stop_calls": core.StopToolUse, "stop_limit": core.StopMaxTokens, "stop_filter": core.StopContentFilter,
			"stop_recitation": core.StopContentFilter, "stop_prohibited": core.StopContentFilter, "stop_language": core.StopOther, "stop_unknown": core.StopOther,
		},
		Usage:      &core.Usage{Input: 100, Output: 20, CacheRead: 40, Reasoning: 5}, // writing its cache is not counted
		Exceptions: map[string]string{"cut_arguments": "calls come whole, or not at all"},
	}
}

func TestContract(t *testing.T) { provider("gemini-3-flash-preview").Run(t) }

func TestNoHistoryBreaksTheRules(t *testing.T) {
	for _, test := range []struct {
		model  string
		signed bool
	}{{"gemini-3-flash-preview", true}, {"gemini-2.5-flash", false}} {
		t.Run(test.model, func(t *testing.T) {
			provider(test.model).Histories(t, wiretest.CheckGemini(test.signed))
		})
	}
}

func TestRequestsForSchemas(t *testing.T) {
	wiretest.WriteRequests(t, "gemini", provider("gemini-3-flash"))
	wiretest.WriteRequests(t, "gemini-budget", provider("gemini-2.5-flash"))
	vertex := provider("gemini-3-flash")
	vertex.Open = func(t *testing.T, play string) modeltest.Opened {
		s := wiretest.Serve(t, "testdata/transcripts", play)
		m, err := gemini.New(gemini.Options{APIKey: modeltest.Key, BaseURL: s.URL + "/v1/publishers/google"})
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
	}
	wiretest.WriteRequests(t, "vertex", vertex)
}
