package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/tool"
)

// nursery starts children: it notes them.
type nursery struct {
	started []tool.Child
	of      []string // the calls that have started them
	above   []string // the agents of the lineage
}

func (n *nursery) StartChild(_ context.Context, call tool.Call, child tool.Child) (core.ID, error) {
	n.started, n.of = append(n.started, child), append(n.of, call.Name)
	return core.ID{15: 7}, nil
}

func (n *nursery) Lineage() tool.Lineage { return tool.Lineage{Agents: n.above} }

func TestACallStartsAChild(t *testing.T) {
	for name, test := range map[string]struct {
		child tool.Child
		none  bool // the host starts no runs
		above []string
		code  core.Code
		text  string
	}{
		"a child":                 {child: tool.Child{Agent: "poet", Thread: "other", Background: true}},
		"on a thread, awaited":    {child: tool.Child{Agent: "poet", Thread: "other"}, code: core.CodeInvalid, text: `child: thread "other" is for a child in the background; a call waits only for one on its own child threads, see Kept`},
		"on a kept thread":        {child: tool.Child{Agent: "poet", Kept: "notes", Detached: true}},
		"with no name of one":     {child: tool.Child{Agent: "poet", Kept: "a b"}, code: core.CodeInvalid, text: `child: kept "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
		"on two threads":          {child: tool.Child{Agent: "poet", Thread: "other", Kept: "notes", Background: true}, code: core.CodeInvalid, text: `child: there is both thread "other" and kept "notes"`},
		"at depth 4":              {child: tool.Child{Agent: "poet"}, above: []string{"a", "b", "c", "d", "e"}},
		"at depth 5":              {child: tool.Child{Agent: "poet"}, above: []string{"a", "b", "c", "d", "e", "f"}, code: core.CodeInvalid, text: "child: the run is at depth 5 (a -> b -> c -> d -> e -> f), where no run starts another"},
		"without a thread":        {child: tool.Child{Agent: "poet"}},
		"with a name":             {child: tool.Child{Agent: "poet", Name: "first"}},
		"with none that may be":   {child: tool.Child{Agent: "poet", Name: "a#b"}, code: core.CodeInvalid, text: `child: name "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		"on the call's thread":    {child: tool.Child{Agent: "poet", Thread: "t"}, code: core.CodeInvalid, text: `child: thread "t" is that of the call, for whose end it would wait`},
		"where no run is started": {child: tool.Child{Agent: "poet"}, none: true, code: core.CodeUnsupported, text: "tool delegate cannot start a run here"},
	} {
		n := &nursery{above: test.above}
		c := tool.Call{Name: "delegate", Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Children: n}
		if test.none {
			c.Children = nil
		}
		run, err := c.Start(t.Context(), test.child)
		if test.code != "" {
			if core.CodeOf(err) != test.code || err.Error() != test.text || len(n.started) > 0 || !run.IsZero() {
				t.Errorf("%s: %s, %v, started %+v; want %s", name, run, err, n.started, test.text)
			}
			continue
		}
		if diff := cmp.Diff([]tool.Child{test.child}, n.started); diff != "" || err != nil || run != (core.ID{15: 7}) || n.of[0] != "delegate" {
			t.Errorf("%s: %s, %v (-want +got):\n%s", name, run, err, diff)
		}
	}
}

func TestACallWaitsForItsChild(t *testing.T) {
	run := core.ID{15: 7}
	got := tool.AwaitChild(run, core.ResumeReplay)
	want := &core.TicketRequest{ID: "00000000-0000-0000-0000-000000000007", Action: "run:Child", Mode: core.ResumeReplay, Kind: core.TicketChild}
	if diff := cmp.Diff(want, got.Suspend); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	payload := json.RawMessage(`{"run_id":"00000000-0000-0000-0000-000000000007","agent_id":"poet","response":"Roses.","steps":2}`)
	for name, test := range map[string]struct {
		resume *core.Resume
		ok     bool
		agent  string
	}{
		"not yet":            {nil, false, ""},
		"its end":            {&core.Resume{Suspension: run.String(), Decision: core.Decision{Payload: payload}}, true, "poet"},
		"another child's":    {&core.Resume{Suspension: core.ID{15: 8}.String(), Decision: core.Decision{Payload: payload}}, false, "poet"},
		"no end":             {&core.Resume{Suspension: run.String(), Decision: core.Decision{Payload: json.RawMessage(`"yes"`)}}, false, ""},
		"a decision alone":   {&core.Resume{Suspension: run.String()}, false, ""},
		"damaged in between": {&core.Resume{Suspension: run.String(), Decision: core.Decision{Payload: json.RawMessage(`{"agent_id":"poet","steps":"x"}`)}}, false, ""},
	} {
		identified := false
		end, ok := tool.Call{Resume: test.resume, KeyRead: func() { identified = true }}.ChildEnd()
		if identified != ok {
			t.Errorf("%s: a test learns %v of it, want %v", name, identified, ok)
		}
		if ok != test.ok || end.AgentID != test.agent {
			t.Errorf("%s: %+v, %t", name, end, ok)
		}
	}
}

// A tool that is prepared does not decode its arguments again, unless they are larger than
// what a tool may be given: then the check has its error.
func TestArgumentsUpToTheirBoundArePrepared(t *testing.T) {
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct {
		Text string `json:"text"`
	}) (string, error) {
		return a.Text, nil
	})
	for size, refused := range map[int]bool{tool.MaxArguments: false, tool.MaxArguments + 1: true} {
		arguments := json.RawMessage(`{"text":"` + strings.Repeat("x", size-len(`{"text":""}`)) + `"}`)
		_, err := toolrun.Prepare(echo, arguments)
		if (err != nil) != refused || len(arguments) != size {
			t.Errorf("%d bytes: %v", len(arguments), err)
		}
	}
	large := json.RawMessage(`{"text":` + strings.Repeat(" ", tool.MaxArguments) + `7}`)
	if _, err := toolrun.Prepare(echo, large); err == nil || !strings.Contains(err.Error(), "262144") && !strings.Contains(err.Error(), "large") {
		t.Errorf("too many bytes of another type: %.200v", err)
	}
}

func TestMetadataThatCannotBeStored(t *testing.T) {
	before := tool.NewResult("x").WithMetadata("a", 1)
	after := before.WithMetadata("b", func() {})
	if after.Err == nil || !strings.HasPrefix(after.Err.Error(), `metadata "b": `) || len(after.Metadata) != 1 {
		t.Errorf("%v, %v", after.Err, after.Metadata)
	}
	if again := after.WithMetadata("c", func() {}); !errors.Is(again.Err, after.Err) {
		t.Errorf("the second error is %v", again.Err)
	}
	for name, bad := range map[string]bool{"a": false, "": true, "\xff": true} {
		err := toolcall.CheckResult(core.ToolResult{Metadata: map[string]json.RawMessage{name: json.RawMessage("1")}})
		if (err != nil) != bad {
			t.Errorf("metadata %q: %v", name, err)
		}
	}
}

// What a tool takes where nobody says it: any object.
func TestToolsThatTakeAnyObject(t *testing.T) {
	client := tool.NewClient[map[string]any](tool.Spec{Name: "where"}).Spec()
	if err := client.Check(); err != nil || string(client.Parameters) != `{"type":"object","properties":{}}` || !client.Client {
		t.Errorf("%+v, %v", client, err)
	}
	own := tool.NewClient[map[string]any](tool.Spec{Name: "where", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}).Spec()
	if err := own.Check(); err != nil || string(own.Parameters) != `{"type":"object","properties":{"a":{"type":"string"}}}` {
		t.Errorf("%+v, %v", own, err)
	}
	open := tool.New(tool.Spec{Name: "open"}, func(context.Context, tool.Call, map[string]any) (string, error) { return "", nil })
	if got := string(open.Spec().Parameters); got != `{"type":"object","properties":{}}` {
		t.Errorf("a map takes %s", got)
	}
	closed := tool.New(tool.Spec{Name: "closed"}, func(context.Context, tool.Call, struct{}) (string, error) { return "", nil })
	if got := string(closed.Spec().Parameters); got != schema.NoParameters {
		t.Errorf("an empty struct takes %s", got)
	}
}

// A part may be as large as a result.
func TestAPartUpToItsBound(t *testing.T) {
	for size, refused := range map[int]bool{toolcall.MaxResult: false, toolcall.MaxResult + 1: true} {
		value, err := tool.Call{}.Once(t.Context(), "part", func(context.Context) (json.RawMessage, error) {
			return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`), nil
		})
		if errors.Is(err, toolcall.ErrResultTooLarge) != refused || !refused && len(value) != size {
			t.Errorf("%d bytes: %d, %v", size, len(value), err)
		}
	}
}

// A panic is the call's result, also when its time is over.
func TestAToolThatPanicsAtTheEndOfItsTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	panics := tool.New(tool.Spec{Name: "panics"}, func(context.Context, tool.Call, struct{}) (string, error) {
		cancel()
		panic("boom")
	})
	r, err := toolrun.Execute(ctx, panics, tool.Call{ID: "a", Name: "panics", Arguments: json.RawMessage(`{}`)})
	if err != nil || r.Message != "execution failed: the tool panicked" || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
}

// Arguments that were never checked are refused when they are decoded.
func TestArgumentsThatWereNotChecked(t *testing.T) {
	echo := tool.New(tool.Spec{Name: "echo"}, func(context.Context, tool.Call, struct {
		Text string `json:"text"`
	}) (string, error) {
		t.Error("it runs")
		return "", nil
	})
	if _, err := echo.Run(t.Context(), tool.Call{Name: "echo", Arguments: json.RawMessage(`{"text":7}`)}); err == nil {
		t.Error("no error")
	}
}
