package emf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/outbound/emf"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

const head = `{"_aws":{"Timestamp":5000,"CloudWatchMetrics":[{"Namespace":"Reveille","Dimensions":[["Agent"],["Agent","Model","Outcome"]],"Metrics":[` +
	`{"Name":"InputTokens","Unit":"Count"},{"Name":"OutputTokens","Unit":"Count"},{"Name":"Inferences","Unit":"Count"},{"Name":"Runs","Unit":"Count"},` +
	`{"Name":"Errors","Unit":"Count"},{"Name":"Duration","Unit":"Milliseconds"}]}]},`

func TestLines(t *testing.T) {
	one := core.ModelUse{Provider: "openai", Model: "gpt-x", Usage: core.Usage{Input: 300, Output: 30, CacheRead: 40}, Inferences: 2}
	two := core.ModelUse{Provider: "openai", Model: "gpt-y", Usage: core.Usage{Input: 5, Output: 7}, Inferences: 1}
	for _, tt := range []struct {
		name   string
		record account.Record
		want   string
	}{
		{"a run that waits", account.Record{User: "secret-user", Agent: "clerk", Since: 2000, Until: 5000, End: "waiting", Models: []core.ModelUse{one}},
			`"Agent":"clerk","Model":"gpt-x","Outcome":"waiting","InputTokens":300,"OutputTokens":30,"Inferences":2,"Runs":0,"Errors":0,"Duration":3000}`},
		{"one that ends, with two models", account.Record{Agent: "clerk", Since: 2000, Until: 5000, End: "natural_end", Models: []core.ModelUse{one, two}},
			`"Agent":"clerk","Model":"several","Outcome":"natural_end","InputTokens":305,"OutputTokens":37,"Inferences":3,"Runs":1,"Errors":0,"Duration":3000}`},
		{"one that fails before it calls a model", account.Record{Since: 6000, Until: 5000, End: "error"},
			`"Agent":"unknown","Model":"none","Outcome":"error","InputTokens":0,"OutputTokens":0,"Inferences":0,"Runs":1,"Errors":1,"Duration":0}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			emf.New(&log)("secret-tenant", tt.record)
			if diff := cmp.Diff(head+tt.want+"\n", log.String()); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
		})
	}
}
