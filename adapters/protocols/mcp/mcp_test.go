package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/adapters/protocols/mcp"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
)

// eras runs a test against clients of both eras. Every request goes to another server
// over the same store, as it does behind a load balancer.
func eras(t *testing.T, test func(t *testing.T, w *world, url, era string)) {
	for _, era := range []string{modern, legacy} {
		t.Run(era, func(t *testing.T) {
			w := newWorld(t)
			servers := []http.Handler{w.handler(nil), w.handler(nil)}
			var mu sync.Mutex
			next := 0
			test(t, w, w.serve(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				mu.Lock()
				h := servers[next%len(servers)]
				next++
				mu.Unlock()
				h.ServeHTTP(rw, r)
			})), era)
		})
	}
}

func TestEachAgentAndEachExposedToolIsATool(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		c := w.client(url, "acme", era, nil)
		if got := c.InitializeResult().ProtocolVersion; got != era {
			t.Fatalf("protocol version %s, want %s", got, era)
		}
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range list.Tools {
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s | %s | %s", tool.Name, tool.Description, schema))
			if hint := tool.Annotations != nil && tool.Annotations.ReadOnlyHint; hint != (tool.Name == "echo" || tool.Name == "get_run") {
				t.Errorf("tool %s has the hint of a read-only tool: %t", tool.Name, hint)
			}
		}
		const argument = ` | {"additionalProperties":false,"properties":{"text":{"description":"what it is about","type":"string"}},"required":["text"],"type":"object"}`
		want := []string{
			"broken | Never works." + argument,
			"danger | Does something risky." + argument,
			`demo | Talks, and calls tools. | {"additionalProperties":false,"properties":{"message":{"description":"What to say to the agent.","type":"string"},` +
				`"thread_id":{"description":"The conversation to go on with: the thread_id of an earlier result. Absent: a new one. A message to a conversation that waits for a decision takes the place of that decision.","type":"string"}},"required":["message"],"type":"object"}`,
			"echo | Says a text back." + argument,
			`get_run | Returns how a run stands that another tool has reported as waiting, running or queued, and its answer once it is done. It changes nothing. | ` +
				`{"additionalProperties":false,"properties":{"run_id":{"description":"The run_id of an earlier result.","type":"string"}},"required":["run_id"],"type":"object"}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	})
}

func TestACallOfAnAgentIsARunOfIt(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		c := w.client(url, "acme", era, nil)
		first := w.call(c, "demo", map[string]any{"message": "hello"})
		want := answer{Text: "You said: hello", Status: "done", Run: first.Run, Thread: first.Thread, Content: map[string]any{
			"run_id": first.Run, "thread_id": first.Thread, "agent_id": "demo", "status": "done", "termination": map[string]any{"type": "natural_end"},
		}}
		if diff := cmp.Diff(want, first); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		if first.Run == "" || first.Thread == "" {
			t.Fatalf("run %q, thread %q", first.Run, first.Thread)
		}
		second := w.call(c, "demo", map[string]any{"message": "echo: again", "thread_id": first.Thread})
		if second.Text != "Echo: again" || second.Thread != first.Thread || second.Run == first.Run {
			t.Errorf("on the same thread: %+v", second)
		}
		if other := w.call(c, "demo", map[string]any{"message": "hello"}); other.Thread == first.Thread {
			t.Error("a call without a thread went on with another's")
		}
		if again := w.call(c, "get_run", map[string]any{"run_id": first.Run}); !cmp.Equal(again, first) {
			t.Errorf("get_run returned %+v, want %+v", again, first)
		}
	})
}

func TestProgressIsToldToWhoAsksForIt(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		told := make(chan string, 100)
		c := w.client(url, "acme", era, func(text string) { told <- text })
		w.call(c, "demo", map[string]any{"message": "hello"})
		if len(told) > 0 {
			t.Errorf("told without a token: %s", <-told)
		}
		done := w.call(c, "demo", map[string]any{"message": "echo: hello"}, "progressToken", "p1")
		want := []string{"run " + done.Run, "step 1", "calling echo", "echo: ok", "step 2"}
		var got []string
		for range want {
			select {
			case text := <-told:
				got = append(got, text)
			case <-time.After(10 * time.Second):
				t.Fatalf("told %q, want %q", got, want)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
	})
}

func TestARunThatWaitsIsReportedDecidedAndAskedAgain(t *testing.T) {
	for _, how := range []struct{ name, tool, message, answer string }{
		{"agent", "demo", "approve: ship it", "Done: ship it"},
		{"tool", "danger", "", `{"text":"ship it"}`},
	} {
		t.Run(how.name, func(t *testing.T) {
			eras(t, func(t *testing.T, w *world, url, era string) {
				w.worker()
				c := w.client(url, "acme", era, nil)
				arguments := map[string]any{"message": how.message}
				if how.message == "" {
					arguments = map[string]any{"text": "ship it"}
				}
				waits := w.call(c, how.tool, arguments)
				if waits.Status != "waiting" || waits.IsError || w.ran.Load() != 0 {
					t.Fatalf("danger ran %d times: %+v", w.ran.Load(), waits)
				}
				ticket := waits.Content["tickets"].([]any)[0].(map[string]any)
				path := "/v1/runs/" + waits.Run + "/decision"
				want := map[string]any{
					"suspension_id": ticket["suspension_id"], "tool_call_id": ticket["tool_call_id"], "kind": "person", "resume_mode": "replay_tool_call", "created_at": ticket["created_at"], "tool_name": "danger", "arguments": map[string]any{"text": "ship it"},
					"action": "tool:PermissionConfirm", "message": ticket["message"], "parameters": ticket["parameters"], "response_schema": ticket["response_schema"],
					"decide": map[string]any{"method": "POST", "path": path, "body": map[string]any{"suspension_id": ticket["suspension_id"], "action": "resume"}},
				}
				for name, value := range want {
					if value == nil {
						delete(want, name)
					}
				}
				if ticket["tool_call_id"] == nil || ticket["created_at"] == nil {
					t.Errorf("the ticket lacks its call or its time: %v", ticket)
				}
				if diff := cmp.Diff(want, ticket); diff != "" {
					t.Errorf("ticket (-want +got):\n%s", diff)
				}
				if !strings.Contains(waits.Text, `danger {"text":"ship it"}`) || !strings.Contains(waits.Text, "POST "+path) || !strings.Contains(waits.Text, "get_run") {
					t.Errorf("text %q does not say what it waits for and how to go on", waits.Text)
				}
				if again := w.call(c, "get_run", map[string]any{"run_id": waits.Run}); !cmp.Equal(again, waits) {
					t.Errorf("get_run says %+v, want %+v", again, waits)
				}
				body, err := json.Marshal(ticket["decide"].(map[string]any)["body"])
				if err != nil {
					t.Fatal(err)
				}
				if status, _, text := send(t, http.MethodPost, url+path, string(body)); status != http.StatusAccepted {
					t.Fatalf("decision: %d %s", status, text)
				}
				done := w.call(c, "get_run", map[string]any{"run_id": waits.Run})
				if done.Text != how.answer || done.Status != "done" || done.IsError || w.ran.Load() != 1 {
					t.Errorf("danger ran %d times: %+v", w.ran.Load(), done)
				}
			})
		})
	}
}

func TestAMessageToARunThatWaitsTakesThePlaceOfItsDecision(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		w.worker()
		c := w.client(url, "acme", era, nil)
		waits := w.call(c, "demo", map[string]any{"message": "approve: ship it"})
		next := w.call(c, "demo", map[string]any{"message": "hello", "thread_id": waits.Thread})
		if next.Run != waits.Run || next.Text != "You said: hello" || w.ran.Load() != 0 {
			t.Errorf("danger ran %d times, run %s, want %s: %q", w.ran.Load(), next.Run, waits.Run, next.Text)
		}
	})
}

func TestWhatFailsIsAnErrorThatQuotesNothing(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		c := w.client(url, "acme", era, nil)
		failed := w.call(c, "demo", map[string]any{"message": "fail"})
		want := "Run " + failed.Run + " ended without an answer: error: model: scripted model failure"
		if !failed.IsError || failed.Text != want || failed.Status != "done" {
			t.Errorf("%+v, want %q", failed, want)
		}
		tests := []struct {
			name, tool string
			arguments  map[string]any
			status     string // of the call; empty: it came to no run
			text       string
		}{
			{"a tool's error", "broken", map[string]any{"text": "x"}, "error", "execution failed: out of order: x"},
			{"a tool's panic", "broken", map[string]any{"text": "panic"}, "error", "execution failed: the tool panicked"},
			{"a wrong type", "echo", map[string]any{"text": 1}, "invalid", ""},
			{"a wrong name", "echo", map[string]any{"texts": "x"}, "invalid", ""},
			{"no message", "demo", map[string]any{}, "", "argument message is missing or empty"},
			{"an unknown argument", "demo", map[string]any{"message": "x", "mode": "steer"}, "", `argument "mode" is unknown, allowed are: message, thread_id`},
			{"a message of another type", "demo", map[string]any{"message": 1}, "", "argument message is not a string"},
			{"a bad thread", "demo", map[string]any{"message": "x", "thread_id": "a b"}, "", `argument thread_id "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
			{"an empty thread", "demo", map[string]any{"message": "x", "thread_id": ""}, "", "argument thread_id is empty"},
			{"a blank message", "demo", map[string]any{"message": " "}, "", "messages[0].content has no text and no file"},
			{"no run", "get_run", map[string]any{"run_id": "x"}, "", "run x not found"},
			{"another run", "get_run", map[string]any{"run_id": "01890000-0000-7000-8000-000000000001"}, "", "run 01890000-0000-7000-8000-000000000001 not found"},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				got := w.call(c, test.tool, test.arguments)
				status, _ := got.Content["tool_status"].(string)
				if !got.IsError || status != test.status || strings.Contains(got.Text, "10.0.0.7") {
					t.Errorf("%+v", got)
				}
				if test.text != "" && got.Text != test.text {
					t.Errorf("text %q, want %q", got.Text, test.text)
				}
			})
		}
		var refusal *jsonrpc.Error
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "nothing"}); !errors.As(err, &refusal) || refusal.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("an unknown tool: %v, want the error %d", err, jsonrpc.CodeInvalidParams)
		}
		if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "helper", Arguments: map[string]any{"message": "x"}}); !errors.As(err, &refusal) {
			t.Errorf("a hidden agent: %v, want an error", err)
		}
	})
}

func TestALimitOfTheTenantIsNamed(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		c := w.client(url, "few", era, nil)
		w.call(c, "demo", map[string]any{"message": "hello"})
		got := w.call(c, "demo", map[string]any{"message": "hello"})
		if !got.IsError || got.Status != "refused" || got.Content["code"] != "tenant_limit" || got.Content["limit"] != "runs_a_day" || got.Content["ends_at"] == nil {
			t.Errorf("%+v", got)
		}
	})
}

func TestAToolByItselfReturnsItsData(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		got := w.call(w.client(url, "acme", era, nil), "echo", map[string]any{"text": "hello"})
		want := answer{Text: `{"text":"hello"}`, Status: "done", Run: got.Run, Thread: got.Thread, Content: map[string]any{
			"run_id": got.Run, "thread_id": got.Thread, "agent_id": "tool:echo", "status": "done", "termination": map[string]any{"type": "natural_end"},
			"tool_status": "ok", "result": map[string]any{"text": "hello"},
		}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		mine := w.call(w.client(url, "acme", era, nil), "demo", map[string]any{"message": "approve: ship it"})
		other := w.client(url, "globex", era, nil)
		if got := w.call(other, "get_run", map[string]any{"run_id": mine.Run}); !got.IsError || got.Text != "run "+mine.Run+" not found" {
			t.Errorf("another's run: %+v", got)
		}
		theirs := w.call(other, "demo", map[string]any{"message": "hello", "thread_id": mine.Thread})
		if theirs.Run == mine.Run || theirs.Text != "You said: hello" {
			t.Errorf("a thread of the same id: %+v", theirs)
		}
		status, _, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "X-Tenant", "")
		if status != http.StatusUnauthorized {
			t.Errorf("nobody: %d %s", status, body)
		}
	})
}

func TestTheSameKeyIsTheSameRun(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		c := w.client(url, "acme", era, nil)
		first := w.call(c, "demo", map[string]any{"message": "hello"}, "idempotencyKey", "order-42")
		if again := w.call(c, "demo", map[string]any{"message": "hello"}, "idempotencyKey", "order-42"); !cmp.Equal(first, again) {
			t.Errorf("the same again: %+v, want %+v", again, first)
		}
		if other := w.call(c, "demo", map[string]any{"message": "hello"}, "idempotencyKey", "order-43"); other.Run == first.Run {
			t.Error("another key came to the same run")
		}
		if other := w.call(c, "demo", map[string]any{"message": "bye"}, "idempotencyKey", "order-42"); !other.IsError || other.Content["code"] != string(core.CodeConflict) {
			t.Errorf("the same key for another message: %+v", other)
		}
		if bad := w.call(c, "demo", map[string]any{"message": "bye"}, "idempotencyKey", "a b"); !bad.IsError || bad.Content["code"] != string(core.CodeInvalid) {
			t.Errorf("a bad key: %+v", bad)
		}
	})
}

func TestABufferedCallIsAnsweredInTimeOrToldThatItGoesOn(t *testing.T) {
	for _, era := range []string{modern, legacy} {
		t.Run(era, func(t *testing.T) {
			w := newWorld(t)
			wait := func(d time.Duration) func(*mcp.Options) {
				return func(o *mcp.Options) { o.Buffered, o.Wait = true, d }
			}
			short := w.client(w.serve(w.handler(wait(20*time.Millisecond))), "acme", era, nil)
			queued := w.call(short, "demo", map[string]any{"message": "hello"}) // nobody works yet
			if queued.Status != "queued" || queued.IsError || queued.Run == "" || queued.Text != "Run "+queued.Run+" goes on. Ask get_run for its answer." {
				t.Errorf("nobody works: %+v", queued)
			}
			w.worker()
			long := w.client(w.serve(w.handler(wait(time.Minute))), "acme", era, nil)
			if got := w.call(long, "get_run", map[string]any{"run_id": queued.Run}, "progressToken", "p"); got.Status != "done" || got.Text != "You said: hello" {
				t.Errorf("later: %+v", got)
			}
			if got := w.call(long, "demo", map[string]any{"message": "echo: hello"}); got.Status != "done" || got.Text != "Echo: hello" {
				t.Errorf("in time: %+v", got)
			}
			if got := w.call(long, "demo", map[string]any{"message": "approve: ship it"}); got.Status != "waiting" || got.IsError {
				t.Errorf("a run that waits: %+v", got)
			}
		})
	}
}

func TestABufferedResponseIsPlainJSON(t *testing.T) {
	w := newWorld(t)
	w.worker()
	url := w.serve(w.handler(func(o *mcp.Options) { o.Buffered = true }))
	status, kind, body := post(t, url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo","arguments":{"message":"hello"}}}`)
	var got struct {
		ID     int
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || kind != "application/json" {
		t.Fatalf("%d %s %s: %v", status, kind, body, err)
	}
	if got.ID != 7 || len(got.Result.Content) != 1 || got.Result.Content[0].Text != "You said: hello" {
		t.Errorf("%s", body)
	}
}

func TestWhatIsNoCallIsRefusedInWordsOfJSONRPC(t *testing.T) {
	w := newWorld(t)
	url := w.serve(w.handler(nil))
	const version = "Mcp-Protocol-Version"
	tests := []struct {
		name, method, body string
		header             []string
		status             int
		want               string
	}{
		{"no JSON", "POST", `{"jsonrpc":`, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not JSON"}}`},
		{"nothing", "POST", ``, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not JSON"}}`},
		{"a batch", "POST", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not taken, send one message at a time"}}`},
		{"a text", "POST", `"ping"`, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body is not an object"}}`},
		{"another JSON-RPC", "POST", `{"id":1,"method":"ping"}`, nil, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}`},
		{"an id of nothing", "POST", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string or a number"}}`},
		{"a method of another type", "POST", `{"jsonrpc":"2.0","id":1,"method":1}`, nil, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method is a number, want a string"}}`},
		{"an unknown method", "POST", `{"jsonrpc":"2.0","id":"a","method":"prompts/list"}`, nil, 200, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"method prompts/list is unknown"}}`},
		{"the same without a handshake", "POST", `{"jsonrpc":"2.0","id":"a","method":"prompts/list"}`, []string{version, modern}, 404, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"method prompts/list is unknown"}}`},
		{"a version that never was", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{version, "1999-01-01"}, 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Bad Request: Unsupported protocol version (supported versions: 2026-07-28,2025-11-25,2025-06-18,2025-03-26,2024-11-05)"}}`},
		{"a client that takes no events", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Accept", "application/json"}, 400,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Accept must contain both 'application/json' and 'text/event-stream'"}}`},
		{"headers that say something else", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			[]string{version, modern, "Mcp-Method", "tools/call"}, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"header mismatch: Mcp-Method header value 'tools/call' does not match body value 'tools/list'"}}`},
		{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil, 202, ``},
		{"a response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 202, ``},
		{"GET", "GET", ``, nil, 405, `{"error":"GET is not allowed here, allowed are POST","code":"method_not_allowed"}`},
		{"DELETE", "DELETE", ``, nil, 405, `{"error":"DELETE is not allowed here, allowed are POST","code":"method_not_allowed"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, _, body := send(t, test.method, url+"/v1/mcp", test.body, test.header...)
			if status != test.status || body != test.want {
				t.Errorf("%d %s\nwant %d %s", status, body, test.status, test.want)
			}
		})
	}
}

func TestAnAgentOfTheServersOwnNameIsRefusedAtStart(t *testing.T) {
	defer func() {
		if v := recover(); v != `mcp: "get_run" is the name of a tool of the server, rename the agent or tool` {
			t.Errorf("panic %v", v)
		}
	}()
	mcp.New(offered(agent.Exposed{Name: "get_run", Agent: "get_run"}), nil)
}

func TestACallSurvivesItsClient(t *testing.T) {
	w := newWorld(t)
	url := w.serve(w.handler(nil))
	c := w.client(url, "acme", modern, nil)
	told := make(chan string, 100)
	slow := w.client(url, "acme", modern, func(text string) { told <- text })
	params := &sdk.CallToolParams{Meta: sdk.Meta{"progressToken": "p", "idempotencyKey": "k"}, Name: "demo", Arguments: map[string]any{"message": "slow: 5"}}
	ctx, leave := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { _, _ = slow.CallTool(ctx, params) })
	run := strings.TrimPrefix(<-told, "run ")
	leave()
	done.Wait()
	got := w.call(c, "get_run", map[string]any{"run_id": run})
	if got.Status != "done" || got.Text != "w1 w2 w3 w4 w5" {
		t.Errorf("%+v", got)
	}
	if again := w.call(c, "demo", map[string]any{"message": "slow: 5"}, "idempotencyKey", "k"); again.Run != run {
		t.Errorf("the call again is run %s, want %s", again.Run, run)
	}
}

func TestParametersThatTheProtocolRefusesAreRefusedAtStart(t *testing.T) {
	for _, name := range []string{`x-mcp-header`, `\u0078-mcp-header`} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				const want = `AddTool "weather": invalid parameter header annotations: property "city": x-mcp-header value "a b" contains invalid character ' '`
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panic %s\nwant  %s", got, want)
				}
			}()
			mcp.New(offered(agent.Exposed{
				Name: "weather", Agent: "tool:weather", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string","` + name + `":"a b"}}}`),
			}), nil)
		})
	}
}

// A function whose clients do not speak the protocol pays for none of the SDK at its start.
func BenchmarkNew(b *testing.B) {
	host := offered(agent.Exposed{Name: "demo", Agent: "demo"}, agent.Exposed{
		Name: "echo", Agent: "tool:echo", Parameters: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	})
	b.ReportAllocs()
	for b.Loop() {
		mcp.New(host, nil)
	}
}

// A run that waits for a time is reported with that time, and asks for no decision.
func TestARunThatWaitsForATimeIsReportedWithIt(t *testing.T) {
	eras(t, func(t *testing.T, w *world, url, era string) {
		w.worker()
		c := w.client(url, "acme", era, nil)
		waits := w.call(c, "demo", map[string]any{"message": "call: nap {}"})
		text := "Run " + waits.Run + " waits.\n- nap {}: back soon, until " + napsUntil.UTC().Format("2006-01-02T15:04:05Z") + "\nIt continues by itself. Ask get_run afterwards."
		if waits.Status != "waiting" || waits.IsError || waits.Text != text {
			t.Errorf("%+v, want %q", waits, text)
		}
		ticket := waits.Content["tickets"].([]any)[0].(map[string]any)
		want := map[string]any{
			"suspension_id": ticket["suspension_id"], "tool_call_id": ticket["tool_call_id"], "kind": "timer", "resume_mode": "replay_tool_call", "created_at": ticket["created_at"],
			"wakes_at": float64(napsUntil.UnixMilli()), "tool_name": "nap", "arguments": map[string]any{}, "action": "tool:nap", "message": "back soon",
		}
		if diff := cmp.Diff(want, ticket); diff != "" {
			t.Errorf("ticket (-want +got):\n%s", diff)
		}
		next := w.call(c, "demo", map[string]any{"message": "hello", "thread_id": waits.Thread})
		if next.Run != waits.Run || next.Text != "You said: hello" {
			t.Errorf("run %s, want %s: %q", next.Run, waits.Run, next.Text)
		}
	})
}
