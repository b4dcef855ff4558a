package alarms

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

const queried = `{"time":"2026-11-29T11:58:00Z","level":"INFO","msg":"usage","tenant":"acme","agent":"clerk","usd":0.25,"runs":1,"ms":100}
{"time":"2026-11-29T11:59:00Z","level":"INFO","msg":"usage","tenant":"acme","agent":"guide","usd":0.5,"runs":1,"ms":900}
{"time":"2026-11-29T11:59:30Z","level":"INFO","msg":"usage","tenant":"globex","agent":"clerk","usd":null,"runs":0,"ms":5}
{"time":"2026-11-29T12:01:00Z","level":"ERROR","msg":"sweep failed","error":"no table"}
{"time":"2026-11-29T12:02:00Z","level":"WARN","msg":"step released","error":"panic: no"}
`

func TestQueries(t *testing.T) {
	lines := append(Lines("steps", noon, []byte(queried)), Lines("other", noon, []byte(`{"msg":"usage","tenant":"hidden","usd":9}`))...)
	for _, tt := range []struct {
		name, query string
		want        []Row
	}{
		{"sums by two fields, the largest first", `filter msg = "usage" | stats sum(usd) as money, sum(runs) as ended by tenant, agent | sort money desc`, []Row{
			{"tenant": "acme", "agent": "guide", "money": "0.5", "ended": "1"}, {"tenant": "acme", "agent": "clerk", "money": "0.25", "ended": "1"}, {"tenant": "globex", "agent": "clerk", "money": "0", "ended": "0"},
		}},
		{"counts, largest and mean", `filter msg = "usage" | stats count(*), count_distinct(agent) as agents, max(ms) as longest, avg(ms) as mean by tenant | sort tenant asc | limit 1`, []Row{
			{"tenant": "acme", "count(*)": "2", "agents": "2", "longest": "900", "mean": "500"},
		}},
		{"by minutes", `filter msg = "usage" | stats count(*) as n by bin(1m)`, []Row{
			{"bin(1m)": "2026-11-29 11:58:00.000", "n": "1"}, {"bin(1m)": "2026-11-29 11:59:00.000", "n": "2"},
		}},
		{"fields of the newest lines", `fields @timestamp, msg, error | filter level = "ERROR" or @message like /panic|Task timed out/ | sort @timestamp desc | limit 5`, []Row{
			{"@timestamp": "2026-11-29 12:02:00.000", "msg": "step released", "error": "panic: no"}, {"@timestamp": "2026-11-29 12:01:00.000", "msg": "sweep failed", "error": "no table"},
		}},
		{"lists, numbers and presence", `fields tenant | filter level in ["INFO", "WARN"] and ispresent(tenant) and (ms > 100 or ms <= 5)`, []Row{{"tenant": "acme"}, {"tenant": "globex"}}},
		{"a field that is not there", `fields tenant | filter ms != 100 and ms < 900`, []Row{{"tenant": "globex"}}},
		{"nothing", `filter msg = "no" | stats sum(usd) as money by tenant`, []Row{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := Query{Name: "q", Groups: []string{"steps"}, Text: tt.query}
			got, err := q.Run(lines)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueriesThatAreWrong(t *testing.T) {
	for _, text := range []string{
		`parse a`, `filter`, `filter a ~ 1`, `filter a = "x`, `filter a > "x"`, `filter (a = "1"`, `filter a in "x"`, `filter a in ["x" "y"]`, `filter a in ["x"`, `filter a = "1" b`,
		`filter ispresent(a`, `filter a like /(/`, `stats median(a)`, `stats sum(a by b`, `stats sum(a) by bin(x)`, `stats sum(a) b`, `sort a`, `sort a up`, `limit x`,
	} {
		q := Query{Name: "q", Text: text}
		if got, err := q.Run(Lines("g", noon, []byte(`{"a":1}`))); err == nil {
			t.Errorf("%s is %v", text, got)
		}
	}
}

func TestWhatAQueryReads(t *testing.T) {
	q := Query{Name: "q", Text: `fields @timestamp, Kind | filter msg = "usage" and ms > 5 or level in ["WARN"] and @message like /run/ | stats sum(usd) as money, count(*) as n by tenant, bin(5m) | sort money desc | limit 5`}
	got, err := q.Reads()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Kind", "level", "ms", "msg", "tenant", "usd"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestQueriesOfATemplate(t *testing.T) {
	s, err := stack.Read([]byte(`{"Resources":{"Logs":{"Type":"AWS::Logs::LogGroup","Properties":{}},"AQuery":{"Type":"AWS::Logs::QueryDefinition","Properties":{"Name":{"Fn::Sub":"${AWS::StackName}/A"},"LogGroupNames":[{"Ref":"Logs"}],"QueryString":"fields a"}}}}`), stack.Options{Name: "prod"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Queries(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Query{{ID: "AQuery", Name: "prod/A", Groups: []string{"prod-Logs"}, Text: "fields a"}}, got); diff != "" {
		t.Error(diff)
	}
}
