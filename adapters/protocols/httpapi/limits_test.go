package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// What is asked for beyond the bounds is clamped, and each page says what it has.
func TestLimitsOfPagesAreClampedAndSaid(t *testing.T) {
	for _, test := range []struct {
		limit       string
		asked, said int
	}{
		{"", 0, 50},
		{"?limit=1", 1, 1},
		{"?limit=200", 200, 200},
		{"?limit=201", 200, 200},
		{"?limit=1000000", 200, 200},
		{"?limit=99999999999999999999", 200, 200},
		{"?limit=0", 1, 1},
		{"?limit=-5", 1, 1},
		{"?limit=-99999999999999999999", 1, 1},
	} {
		t.Run(test.limit, func(t *testing.T) {
			asked := -1
			f := &fake{approvals: func(_ core.Identity, q host.ApprovalQuery) (host.Page[host.Approval], error) {
				asked = q.Limit
				return host.Page[host.Approval]{}, nil
			}}
			rec := do(newServer(f), "GET", "/v1/approvals"+test.limit, "")
			var page struct{ Limit int }
			if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || rec.Code != 200 || page.Limit != test.said || asked != test.asked {
				t.Errorf("status %d, limit %d, asked for %d, %v; want %d and %d", rec.Code, page.Limit, asked, err, test.said, test.asked)
			}
		})
	}
}

func TestEveryListSaysItsLimit(t *testing.T) {
	r := newReal(t)
	r.says("t1", "hello")
	run := names(r.get("/v1/threads/t1/runs/latest"), "run_id")[0]
	for _, path := range []string{
		"/v1/threads", "/v1/threads/summaries", "/v1/runs", "/v1/threads/t1/runs", "/v1/threads/t1/state/patches", "/v1/runs/" + run + "/steps",
		"/v1/runs/" + run + "/events", "/v1/threads/t1/messages", "/v1/threads/t1/mailbox", "/v1/approvals",
	} {
		var page struct{ Limit int }
		if err := json.Unmarshal([]byte(r.get(path+"?limit=300")), &page); err != nil || page.Limit != 200 {
			t.Errorf("%s: limit %d, %v; want 200", path, page.Limit, err)
		}
	}
}
