package httpapi_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// clock is a host that returns the same hours to every caller, and keeps the question.
type clock struct {
	protocol.Host
	asked account.HourQuery
	hours []account.Hour
}

func (c *clock) ReportHours(_ context.Context, q account.HourQuery) ([]account.Hour, error) {
	c.asked = q
	return c.hours, nil
}

func summaryOf(t *testing.T, query string, hours []account.Hour, header ...string) (account.HourQuery, string) {
	t.Helper()
	r := newReal(t)
	c := &clock{Host: r.runtime, hours: hours}
	o := r.options
	o.UsageReaders = []string{"accounting"}
	rec := do(httpapi.New(c, &o), "GET", "/v1/runs/summary"+query, "", header...)
	if rec.Code != 200 {
		t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return c.asked, rec.Body.String()
}

func TestASummaryHasEveryHourAndTheirSums(t *testing.T) {
	first := account.Hour{At: 3_600_000, Runs: 2, Tokens: core.Usage{Input: 10, Output: 3, CacheRead: 4}, Cost: core.Cost{USD: 1_500_000, Known: true}}
	second := account.Hour{At: 7_200_000, Runs: 1, Tokens: core.Usage{Input: 5, Output: 1}, Cost: core.Cost{USD: 500_000, Known: true}}
	const query = "?since=3600001&until=10800000"
	_, body := summaryOf(t, query, []account.Hour{first, second})
	const want = `{"from":3600000,"to":10800000,"hours":[{"at":3600000,"runs":2,"input":10,"output":3,"cost_usd":0.0015},{"at":7200000,"runs":1,"input":5,"output":1,"cost_usd":0.0005}],` +
		`"totals":{"runs":3,"input":15,"output":4,"cache_read":4,"cost_usd":0.002}}` + "\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	second.Cost = core.Cost{}
	_, body = summaryOf(t, query, []account.Hour{first, second})
	const unknown = `{"from":3600000,"to":10800000,"hours":[{"at":3600000,"runs":2,"input":10,"output":3,"cost_usd":0.0015},{"at":7200000,"runs":1,"input":5,"output":1,"cost_usd":null}],` +
		`"totals":{"runs":3,"input":15,"output":4,"cache_read":4,"cost_usd":null}}` + "\n"
	if diff := cmp.Diff(unknown, body); diff != "" {
		t.Errorf("with an unknown price (-want +got):\n%s", diff)
	}
}

func TestASummaryIsOnesOwnAndOfADay(t *testing.T) { synctest.Test(t, aSummaryIsOnesOwnAndOfADay) }

func aSummaryIsOnesOwnAndOfADay(t *testing.T) { // on 2000-01-01, 00:00
	for _, tt := range []struct {
		name, query string
		header      []string
		want        account.HourQuery
	}{
		{"a user's own day", "", []string{"User", "ann"}, account.HourQuery{Tenant: "secret-tenant", OnlyUser: true, User: "ann", From: 946_602_000_000, To: 946_684_800_001}},
		{"of everybody, for a reader", "?since=5&until=7&agent=a", []string{"User", "accounting"}, account.HourQuery{Tenant: "secret-tenant", User: "accounting", Agent: "a", From: 5, To: 7}},
		{"of everybody, without a user", "?until=86400000", []string{"Tenant", "t9"}, account.HourQuery{Tenant: "t9", From: 0, To: 86_400_000}},
		{"of fewer hours than a day", "?until=3600001", nil, account.HourQuery{Tenant: "secret-tenant", From: 0, To: 3_600_001}},
	} {
		got, _ := summaryOf(t, tt.query, nil, tt.header...)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestSummariesOfHoursThatAreNone(t *testing.T) {
	r := newReal(t)
	for query, want := range map[string]string{
		"?since=-1":                 `{"error":"since \"-1\" is not a number of milliseconds: want 0 to 9007199254740991","code":"invalid"}`,
		"?until=9007199254740992":   `{"error":"until \"9007199254740992\" is not a number of milliseconds: want 0 to 9007199254740991","code":"invalid"}`,
		"?since=7&until=7":          `{"error":"until 7 is not after since, 7","code":"invalid"}`,
		"?since=0&until=8640000001": `{"error":"since 0 until 8640000001 are 2401 hours, at most 2400 are allowed","code":"invalid"}`,
		"?hours=3":                  `{"error":"query has the unknown parameter \"hours\", allowed are since, until, agent","code":"invalid"}`,
	} {
		check(t, do(r, "GET", "/v1/runs/summary"+query, ""), 400, want)
	}
	if rec := do(r, "GET", "/v1/runs/summary?since=0&until="+fmt.Sprint(2400*3_600_000), ""); rec.Code != 200 {
		t.Errorf("2,400 hours: status %d, %.200s", rec.Code, rec.Body)
	}
}
