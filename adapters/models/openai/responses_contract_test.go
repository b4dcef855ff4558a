package openai_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

var responsesProvider = modeltest.Provider{
	Name: "openai", Model: "gpt-1", Own: "input",
	Open: func(t *testing.T, play string) modeltest.Opened {
		s := wiretest.Serve(t, "testdata/responses", play)
		m, err := openai.New(openai.Options{Dialect: openai.DialectResponses, APIKey: modeltest.Key, BaseURL: s.URL, ReasoningSummary: "auto"})
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
	},
	Stops: map[string]core.StopReason{
		"stop_end": core.StopEndTurn, "stop_limit": core.StopMaxTokens, "stop_filter": core.StopContentFilter, "stop_unknown": core.StopOther,
		"stop_refusal": core.StopContentFilter,
	},
	Echo:       `"encrypted_content":"gAAAAABencrypted"`,
	Exceptions: map[string]string{"parameters": "the Responses API has no stop sequences; TestResponsesBodies has the others"},
}

func TestResponsesContract(t *testing.T) { responsesProvider.Run(t) }

func TestNoHistoryBreaksTheRulesOfResponses(t *testing.T) {
	responsesProvider.Histories(t, wiretest.CheckResponses)
}
