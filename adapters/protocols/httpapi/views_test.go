package httpapi_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// pages follows a list to its end and returns the values of a key.
func (r *real) pages(path, key string) (all []string) {
	r.t.Helper()
	next := path
	for range 50 {
		body := r.get(next)
		all = append(all, names(body, key)...)
		cursor := names(body, "next_cursor")
		if cursor == nil {
			return all
		}
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		next = path + join + "cursor=" + cursor[0]
	}
	r.t.Fatalf("%s has no end", path)
	return nil
}

// TestMessagesInBothOrders: whatever the page's size, the newest first are the oldest
// first backwards: with what was taken back left out, and what no step has read shown.
func TestMessagesInBothOrders(t *testing.T) { synctest.Test(t, messagesInBothOrders) }

func messagesInBothOrders(t *testing.T) {
	r := newReal(t)
	r.says("t1", "one")
	r.says("t1", "two")
	second := names(r.get("/v1/threads/t1/messages"), "id")[2]
	r.says("t1", "three")
	time.Sleep(time.Millisecond)
	r.ok("POST", "/v1/threads/t1/messages", `{"replace_message":"`+second+`","messages":[{"role":"user","content":"other"}]}`)
	r.work()
	r.says("t1", "call: confirm {}")
	time.Sleep(time.Millisecond)
	r.ok("POST", "/v1/threads/t1/messages", say("later", `,"delay_ms":60000`))
	want := []string{"one", "You said: one", "other", "You said: other", "call: confirm {}", "later"}
	for _, limit := range []string{"", "&limit=1", "&limit=2", "&limit=5"} {
		asc := r.pages("/v1/threads/t1/messages?order=asc"+limit, "text")
		r.want("oldest first"+limit, want, asc)
		desc := r.pages("/v1/threads/t1/messages?visibility=all&order=desc"+limit, "text")
		slices.Reverse(desc)
		r.want("newest first"+limit, want, desc)
	}
	runs := r.pages("/v1/threads/t1/runs", "run_id") // queued, waiting, other, three, two, one
	slices.Reverse(runs)
	for i, want := range [][]string{{"one", "You said: one"}, nil, nil, {"other", "You said: other"}, {"call: confirm {}"}, {"later"}} {
		for _, limit := range []string{"", "&limit=1"} {
			r.want("of a run, "+limit, want, r.pages("/v1/threads/t1/messages?run="+runs[i]+limit, "text"))
			back := r.pages("/v1/threads/t1/messages?order=desc&run="+runs[i]+limit, "text")
			slices.Reverse(back)
			r.want("of a run, newest first, "+limit, want, back)
		}
	}
	r.says("t2", "elsewhere")
	other := names(r.get("/v1/threads/t2/runs/latest"), "run_id")[0]
	check(t, do(r, "GET", "/v1/threads/t1/messages?run="+other, ""), 404, `{"error":"run `+other+` of thread t1 not found","code":"not_found"}`)
	cursor := names(r.get("/v1/threads/t1/messages?limit=1"), "next_cursor")[0]
	for _, path := range []string{"?order=desc&cursor=", "?run=" + runs[0] + "&cursor="} {
		check(t, do(r, "GET", "/v1/threads/t1/messages"+path+cursor, ""), 400, `{"error":"cursor \"`+cursor+`\" is not one that this route returned","code":"invalid"}`)
	}
	check(t, do(r, "GET", "/v1/threads/t1/messages?order=up", ""), 400, `{"error":"order \"up\" is unknown, allowed are asc, desc","code":"invalid"}`)
	check(t, do(r, "GET", "/v1/threads/t1/messages?visibility=internal", ""), 400, `{"error":"visibility \"internal\" is unknown, allowed are external, all","code":"invalid"}`)
}

func TestStepsOfARunThatWaits(t *testing.T) { synctest.Test(t, stepsOfARunThatWaits) }

func stepsOfARunThatWaits(t *testing.T) {
	r := newReal(t)
	run := r.waits(`call: confirm {\"a\":1}`)
	call := run.Tickets[0].CallID
	path := "/v1/runs/" + run.ID.String() + "/steps"
	want := `{"run_id":"ID","thread_id":"t1","steps":[{"step":1,"message_id":"ID.1","began_at":946684800000,"said_at":946684800000,"open":true,"model":"m",` +
		`"stop_reason":"tool_use","usage":{"input":3,"output":1},"shown":{"estimate":93,"tokens":3},"first_at":946684800000,` +
		`"attempts":[{"began_at":946684800000,"ended_at":946684800000,"first_at":946684800000,"model":"m"}],"calls":[{"id":"CALL","name":"confirm","arguments":{"a":1},"status":"suspended","asked_at":946684800000}],` +
		`"totals":{"steps":1,"usage":{"input":3,"output":1}}}],"has_more":false,"next_cursor":null,"limit":50}`
	r.want("while it waits", want, strings.ReplaceAll(settled(r.get(path)), call, "CALL"))
	time.Sleep(2 * time.Second)
	r.ok("POST", "/v1/threads/t1/decision", `{"tool_call_id":"`+call+`","action":"resume","payload":{"ok":true},"decision_id":"d1"}`)
	r.work()
	body := r.get(path)
	for _, part := range []string{`"status":"set","result":{"ok":true}`, `"decision_id":"d1"`, `"ended_at":946684802000`, `"asked_at":946684800000,"answered_at":946684802000,"action":"resume"}`, `{"step":2,`} {
		if !strings.Contains(body, part) {
			t.Errorf("%s has no %s", body, part)
		}
	}
	over := r.get("/v1/runs/" + run.ID.String())
	if !strings.Contains(over, `"started_at":946684800000,"finished_at":946684802000,"waited_ms":2000,"calls":1`) {
		t.Errorf("the run is %s, want one that has waited for two seconds and worked for none", over)
	}
	r.want("pages of one", []string{"ID.1", "ID.2"}, strings.Fields(settled(strings.Join(r.pages(path+"?limit=1", "message_id"), " "))))
	check(t, do(r, "GET", path+"?cursor=x", ""), 400, `{"error":"cursor \"x\" is not one that this route returned","code":"invalid"}`)
}

func TestEventsOfARun(t *testing.T) { synctest.Test(t, eventsOfARun) }

func eventsOfARun(t *testing.T) {
	r := newReal(t)
	r.says("t1", "hello")
	run := names(r.get("/v1/threads/t1/runs/latest"), "run_id")[0]
	path := "/v1/runs/" + run + "/events"
	want := []string{"run_start", "step_start", "text_delta", "inference_complete", "step_end", "run_finish"}
	for _, limit := range []string{"", "?limit=1", "?limit=4"} {
		r.want("events"+limit, want, r.pages(path+limit, "event_type"))
	}
	positions := names(r.get(path), "position")
	frames := regexp.MustCompile(`(?m)^id: (\S+)$`).FindAllStringSubmatch(r.get(path+"/stream"), -1)
	for i, frame := range frames {
		if positions[i] != frame[1] {
			t.Errorf("event %d has the position %s, its frame %s", i, positions[i], frame[1])
		}
	}
	r.want("behind the third", want[3:], names(r.get(path+"?after="+positions[2]), "event_type"))
	r.want("behind the last", []string(nil), names(r.get(path+"?after="+positions[5]), "event_type"))
	r.want("the first", `{"events":[{"position":"ID.1.0.0-0-a","event_type":"run_start","time":"2000-01-01T00:00:00.001Z","run_id":"ID","step":1,"thread_id":"t1","agent_id":"demo"}],`+
		`"has_more":true,"next_cursor":"CURSOR","limit":1}`, settled(r.get(path+"?limit=1")))
	check(t, do(r, "GET", path+"?after=x", ""), 400, `{"error":"after \"x\" is not the id of an event of run `+run+`","code":"invalid"}`)
}

func TestStateOverHTTP(t *testing.T) {
	r := newReal(t)
	r.ok("POST", "/v1/threads", `{"threadId":"t1"}`)
	r.want("of a new thread", `{"thread_id":"t1","revision":0,"state":{"thread":{},"run":{}}}`, settled(r.get("/v1/threads/t1/state")))
	r.want("its changes", `{"thread_id":"t1","patches":[],"has_more":false,"next_cursor":null,"limit":50}`, settled(r.get("/v1/threads/t1/state/patches")))
	for path, want := range map[string]string{
		"/v1/threads/t1/state?revision=-1":                   `revision \"-1\" is not a number from 0 to 9007199254740991`,
		"/v1/threads/t1/state?revision=9007199254740992":     `revision \"9007199254740992\" is not a number from 0 to 9007199254740991`,
		"/v1/threads/t1/state/patches?since=x":               `since \"x\" is not a number from 0 to 9007199254740991`,
		"/v1/threads/t1/state/patches?since=1&cursor=eA":     `query has both cursor and since, at most one is allowed`,
		"/v1/threads/t1/state/patches?cursor=bWVzc2FnZXM6MQ": `cursor \"bWVzc2FnZXM6MQ\" is not one that this route returned`,
	} {
		check(t, do(r, "GET", path, ""), 400, `{"error":"`+want+`","code":"invalid"}`)
	}
	check(t, do(r, "GET", "/v1/threads/t1/state?revision=3", ""), 404, `{"error":"thread t1: revision 3 has not been reached, the newest is 0","code":"not_found"}`)
}

// Which provider responds is shown where the deployment says so.
func TestTheModelsThatRespond(t *testing.T) {
	r := newReal(t)
	r.options.ShowModels = true
	r.Handler = httpapi.New(r.runtime, &r.options)
	r.want("agents", `{"agents":[{"id":"demo","model":"m","default":true,"plugins":[],"delegates":[],"tools":["confirm","delegate","meanwhile","where"],`+
		`"context_window":111616,"answers":[{"model":"m","provider":"","name":"m","scripted":true}]}]}`, strings.TrimSpace(r.get("/v1/agents")))
	for path, part := range map[string]string{
		"/v1/agents/demo":  `"context_window":111616,"answers":[{"model":"m","provider":"","name":"m","scripted":true}]}`,
		"/v1/capabilities": `"answers":[{"model":"m","provider":"","name":"m","scripted":true,"input_usd_per_million":null,"output_usd_per_million":null}]}`,
	} {
		if got := r.get(path); !strings.Contains(got, part) {
			t.Errorf("%s is %s, want it to have %s", path, got, part)
		}
	}
}

// What an agent is told stays the deployment's.
func TestAgentsAndCapabilities(t *testing.T) {
	r := newReal(t)
	r.want("agents", `{"agents":[{"id":"demo","model":"m","default":true,"plugins":[],"delegates":[],"tools":["confirm","delegate","meanwhile","where"],"context_window":111616}]}`, strings.TrimSpace(r.get("/v1/agents")))
	agent := r.get("/v1/agents/demo")
	for _, part := range []string{`"tools":[{"name":"confirm","parameters":{"type":"object"`, `{"name":"where"`, `"client":true`, `"max_rounds":16,"execution_mode":"sequential"`} {
		if !strings.Contains(agent, part) {
			t.Errorf("%s has no %s", agent, part)
		}
	}
	if strings.Contains(agent, "prompt") {
		t.Errorf("the agent shows its prompt: %s", agent)
	}
	check(t, do(r, "GET", "/v1/agents/nobody", ""), 404, `{"error":"agent \"nobody\" not found","code":"not_found"}`)
	r.want("capabilities", `{"agents":["demo"],"default_agent":"demo","tools":[{"name":"confirm"},{"name":"delegate"},{"name":"meanwhile"},{"name":"where","client":true}],`+
		`"plugins":[],"models":["m"],"providers":[],"protocols":["native","/v1/ai-sdk/"],"limits":{"max_body":4194304}}`, strings.TrimSpace(r.get("/v1/capabilities")))
	check(t, do(r, "GET", "/v1/agents?limit=1", ""), 400, `{"error":"query has the unknown parameter \"limit\", none is allowed","code":"invalid"}`)
}
