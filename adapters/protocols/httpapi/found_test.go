package httpapi_test

import (
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// A thread is called by its first input, whatever is said or renamed later; a fork by its
// own, and until it has one by that of its origin.
func TestAThreadHasItsFirstInput(t *testing.T) { synctest.Test(t, aThreadHasItsFirstInput) }

func aThreadHasItsFirstInput(t *testing.T) {
	r := newReal(t)
	r.says("t1", "Plan a trip to Rome")
	r.says("t1", "And back")
	r.ok("PATCH", "/v1/threads/t1", `{"title":"Trip"}`)
	r.want("after a rename", []string{"Plan a trip to Rome"}, names(r.get("/v1/threads/summaries"), "first_asked"))
	r.want("of the last run", []string{"And back"}, names(r.get("/v1/threads/summaries"), "asked"))
	for text, want := range map[string][]string{"ROME": {"t1"}, "back": {"t1"}, "trip": {"t1"}, "oslo": nil} {
		r.want("found by "+text, want, names(r.get("/v1/threads?q="+text), "thread_id"))
	}
	at := regexp.MustCompile(`"id":"([^"]*)"`).FindStringSubmatch(r.get("/v1/threads/t1/messages?order=desc&limit=1"))[1]
	r.ok("POST", "/v1/threads/t1/fork", `{"at":"`+at+`","thread_id":"f"}`)
	r.want("of a fork", []string{"Plan a trip to Rome", "Plan a trip to Rome"}, names(r.get("/v1/threads/summaries"), "first_asked"))
	r.says("f", "By train")
	r.want("of a fork with a run", []string{"By train", "Plan a trip to Rome"}, names(r.get("/v1/threads/summaries"), "first_asked"))
	r.ok("DELETE", "/v1/threads/t1", "")
	r.want("after a delete", []string{"By train"}, names(r.get("/v1/threads/summaries"), "first_asked"))
}

// A run is found by what a person remembers of it, and says whose child it is.
func TestRunsAreFound(t *testing.T) { synctest.Test(t, runsAreFound) }

func runsAreFound(t *testing.T) {
	r := newReal(t)
	r.user = "ann"
	r.says("t1", "Plan a trip")
	r.ok("PATCH", "/v1/threads/t1", `{"title":"Rome"}`)
	time.Sleep(time.Second)
	r.says("t2", "hello")
	time.Sleep(time.Second)
	r.child("t1", "c1")
	r.work()
	run := regexp.MustCompile(`"run_id":"([^"]*)","thread_id":"t1"`).FindStringSubmatch(r.get("/v1/threads/t1/runs/latest"))[1]
	r.want("one run", `{"run_id":"ID","thread_id":"t1","agent_id":"demo","status":"done","steps":1,"usage":{"input":3,"output":5},"response":"You said: Plan a trip",`+
		`"termination":{"type":"natural_end"},"dispatch_id":"ID","first_seq":1,"created_at":946684800001,"started_at":946684800001,"finished_at":946684800001,`+
		`"asked":"Plan a trip","thread_title":"Rome","cost_usd":null}`, settled(regexp.MustCompile(`"resolution":"[^"]*",`).ReplaceAllString(r.get("/v1/runs/"+run), "")))
	for query, want := range map[string][]string{
		"q=TRIP": {"t1"}, "q=rome": {"t1"}, "q=t2": {"t2"}, "q=" + run[:18]: {"t1"}, "q=oslo": nil,
		"since=946684801000&until=946684802000": {"t2"}, "until=946684801000": {"t1"}, "origin=user": {"t2", "t1"}, "origin=internal": {"c1", "t1"},
		"parent=00000000-0000-0000-0000-000000000001": nil, "min_ms=3600000": nil, "min_cost=0.000000001": nil,
	} {
		r.want(query, want, names(r.get("/v1/runs?"+query), "thread_id"))
	}
	for query, want := range map[string]string{
		"since=x":        `since \"x\" is not a number of milliseconds: want 0 to 9007199254740991`,
		"min_ms=-1":      `min_ms \"-1\" is not a number of milliseconds: want 0 to 9007199254740991`,
		"origin=moon":    `origin \"moon\" is unknown, allowed are user and internal`,
		"parent=p":       `parent: id \"p\" is not a UUID`,
		"min_cost=null":  `min_cost \"null\" is not an amount of dollars: want digits, at most nine after a point, such as 0.25`,
		"min_cost=-0.25": `min_cost is negative, allowed is 0 or more`,
	} {
		check(t, do(r, "GET", "/v1/runs?"+query, ""), 400, `{"error":"`+want+`","code":"invalid"}`)
	}
}
