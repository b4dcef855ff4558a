package openai_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

var provider = modeltest.Provider{
	Name: "openai", Model: "gpt-1", Own: "messages",
	Open: func(t *testing.T, play string) modeltest.Opened {
		s := wiretest.Serve(t, "testdata/transcripts", play)
		m, err := openai.New(openai.Options{APIKey: modeltest.Key, BaseURL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
	},
	Stops: map[string]core.StopReason{
		"stop_end": core.StopEndTurn, "stop_limit": core.StopMaxTokens, "stop_filter": core.StopContentFilter, "stop_unknown": core.StopOther,
		"stop_refusal": core.StopContentFilter, "stop_calls_though_it_says_stop": core.StopToolUse,
	},
	Exceptions: map[string]string{
		"reasoning": "Chat Completions gives no value to send back",
		"echo":      "Chat Completions gives no value to send back",
	},
}

func TestContract(t *testing.T) { provider.Run(t) }

func TestNoHistoryBreaksTheRules(t *testing.T) {
	provider.Histories(t, wiretest.CheckChat)
}
