package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// ledger is a host that returns the same rows to every caller, and keeps the question.
type ledger struct {
	protocol.Host
	asked account.Query
}

func (l *ledger) Report(_ context.Context, q account.Query) ([]account.Row, error) {
	l.asked = q
	cost, cloud := core.USD(1_234_500), core.USD(20)
	return []account.Row{
		{
			Day: "2026-03-01", Agent: "=cmd()", User: "-ann", Runs: 2, Stretches: 3, Lost: 1, Tools: 4, ToolMillis: 500,
			Spent:     core.Spent{Handler: 2500, Write: 1250, WriteMore: 300, Read: 150, Queue: 120, QueueMore: 100},
			ModelCost: &cost, CloudCost: &cloud,
		},
		{
			Day: "2026-03-01", Agent: "clerk", Provider: "openai", Model: "gpt-x",
			Tokens: core.Usage{Input: 300, Output: 30, CacheRead: 40, CacheWrite: 8, Reasoning: 5}, Inferences: 2, ModelMillis: 4000,
			Unpriced: []string{"gpt-x"},
		},
	}, nil
}

func usageOf(t *testing.T, query string, header ...string) (*ledger, string, string) {
	t.Helper()
	r := newReal(t)
	l := &ledger{Host: r.runtime}
	o := r.options
	o.UsageReaders = []string{"accounting"}
	rec := do(httpapi.New(l, &o), "GET", "/v1/usage"+query, "", header...)
	if rec.Code != 200 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return l, rec.Body.String(), rec.Header().Get("Content-Type")
}

func TestUsageAsJSON(t *testing.T) {
	_, body, _ := usageOf(t, "?from=2026-03-01&to=2026-03-02&by=day,user,agent,model")
	const want = `{"from":"2026-03-01","to":"2026-03-02","rows":[` +
		`{"day":"2026-03-01","user":"-ann","agent":"=cmd()","provider":"","model":"","runs":2,"stretches":3,"incomplete":1,` +
		`"tokens":{"input":0,"output":0,"cache_read":0,"cache_write":0,"reasoning":0},"inferences":0,"model_ms":0,"tool_calls":4,"tool_ms":500,` +
		`"handler_ms":{"metered":2500,"estimated":0},"write_units":{"metered":12.5,"estimated":3},"read_units":{"metered":1.5,"estimated":0},` +
		`"queue_requests":{"metered":1.2,"estimated":1},"model_cost_usd":0.0012345,"unpriced_models":[],"cloud_cost_usd":0.00000002},` +
		`{"day":"2026-03-01","user":"","agent":"clerk","provider":"openai","model":"gpt-x","runs":0,"stretches":0,"incomplete":0,` +
		`"tokens":{"input":300,"output":30,"cache_read":40,"cache_write":8,"reasoning":5},"inferences":2,"model_ms":4000,"tool_calls":0,"tool_ms":0,` +
		`"handler_ms":{"metered":0,"estimated":0},"write_units":{"metered":0,"estimated":0},"read_units":{"metered":0,"estimated":0},` +
		`"queue_requests":{"metered":0,"estimated":0},"model_cost_usd":null,"unpriced_models":["gpt-x"],"cloud_cost_usd":null}]}` + "\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// Names that a spreadsheet would run are text, and what has no price is empty, not 0.
func TestUsageAsCSV(t *testing.T) {
	const want = "day,user,agent,provider,model,runs,stretches,incomplete,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,reasoning_tokens," +
		"inferences,model_ms,tool_calls,tool_ms,handler_ms_metered,write_units_metered,write_units_estimated,read_units_metered," +
		"queue_requests_metered,queue_requests_estimated,model_cost_usd,unpriced_models,cloud_cost_usd\n" +
		"2026-03-01,'-ann,'=cmd(),,,2,3,1,0,0,0,0,0,0,0,4,500,2500,12.5,3,1.5,1.2,1,0.0012345,,0.00000002\n" +
		"2026-03-01,,clerk,openai,gpt-x,0,0,0,300,30,40,8,5,2,4000,0,0,0,0,0,0,0,0,,gpt-x,\n"
	for name, ask := range map[string][]string{
		"by parameter": {"?from=2026-03-01&to=2026-03-02&by=day,user,agent,model&format=csv"},
		"by header":    {"?from=2026-03-01&to=2026-03-02&by=day,user,agent,model", "Accept", "text/csv"},
	} {
		t.Run(name, func(t *testing.T) {
			_, body, kind := usageOf(t, ask[0], ask[1:]...)
			if diff := cmp.Diff(want, body); diff != "" || kind != "text/csv; charset=utf-8" {
				t.Errorf("body of type %q (-want +got):\n%s", kind, diff)
			}
		})
	}
}

func TestUsageIsOnesOwn(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		name, query string
		header      []string
		want        account.Query
	}{
		{"a user's own", "?from=2026-03-01&to=2026-03-31", []string{"User", "ann"},
			account.Query{Tenant: "secret-tenant", OnlyUser: true, User: "ann", From: day(1), To: day(31), By: account.By{Day: true}}},
		{"of everybody, for a reader", "?from=2026-03-01&to=2026-03-31", []string{"User", "accounting"},
			account.Query{Tenant: "secret-tenant", User: "accounting", From: day(1), To: day(31), By: account.By{Day: true}}},
		{"of everybody, without a user", "?from=2026-03-01&to=2026-03-01&by=user,model", []string{"Tenant", "t9"},
			account.Query{Tenant: "t9", From: day(1), To: day(1), By: account.By{User: true, Model: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, _, _ := usageOf(t, tt.query, tt.header...)
			if diff := cmp.Diff(tt.want, l.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsageOfDaysThatAreNone(t *testing.T) {
	r := newReal(t)
	for query, want := range map[string]string{
		"":                               `{"error":"from \"\" and to \"\": want two days, as 2026-01-31","code":"invalid"}`,
		"?from=2026-03-01&to=2026-02-30": `{"error":"from \"2026-03-01\" and to \"2026-02-30\": want two days, as 2026-01-31","code":"invalid"}`,
		"?from=2026-03-02&to=2026-03-01": `{"error":"to: 2026-03-01 is before from, 2026-03-02","code":"invalid"}`,
		"?from=2026-01-01&to=2026-04-11": `{"error":"from 2026-01-01 to 2026-04-11 are 101 days, at most 100 are allowed","code":"invalid"}`,
		"?from=2026-01-01&to=2026-01-01&by=tenant":  `{"error":"by: \"tenant\" is unknown, allowed are day, user, agent, run, root and model, separated by commas","code":"invalid"}`,
		"?from=2026-01-01&to=2026-01-01&format=xml": `{"error":"format \"xml\" is unknown, allowed are json and csv","code":"invalid"}`,
		"?from=2026-01-01&to=2026-01-01&tenant=x":   `{"error":"query has the unknown parameter \"tenant\", allowed are from, to, by, format","code":"invalid"}`,
	} {
		check(t, do(r, "GET", "/v1/usage"+query, ""), 400, want)
	}
	if rec := do(r, "GET", "/v1/usage?from=2026-01-01&to=2026-04-10", ""); rec.Code != 200 || rec.Body.String() != `{"from":"2026-01-01","to":"2026-04-10","rows":[]}`+"\n" {
		t.Errorf("100 days: status %d, %s", rec.Code, rec.Body)
	}
}
