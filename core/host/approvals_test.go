package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// confirming is a process with the tools confirm, which a person decides on, and
// where, which the client runs.
func confirming(t *testing.T, over store.Backend, change ...func(*host.Options)) *host.Host {
	t.Helper()
	r := newRig(t)
	confirm := tool.New(tool.Spec{Name: "confirm"}, func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
		return tool.Suspended(core.TicketRequest{
			Action: "tool:confirm", Message: a.Text, Mode: core.ResumeAsResult,
		}), nil
	})
	where := tool.NewClient[map[string]any](tool.Spec{Name: "where"})
	if over == nil {
		over = r.store
	}
	return r.process("w", over, append(change, func(c *host.Options) { c.Agents.Tools = append(c.Agents.Tools, confirm, where) })...)
}

// ask makes a thread's run call a tool, and works until it waits.
func ask(t *testing.T, p *host.Host, tenant, name, user, call string) mailbox.Receipt {
	t.Helper()
	return say(t, p, tenant, name, user, "call: "+call)
}

func say(t *testing.T, p *host.Host, tenant, name, user, text string) mailbox.Receipt {
	t.Helper()
	receipt, err := p.Submit(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Tenant: tenant, Thread: name}, User: user, Opening: mailbox.Opening{AgentID: "demo"},
		Messages: []core.Message{core.UserMessage(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WorkLocal(t.Context(), core.WakeUp{Tenant: tenant, Thread: name, Dispatch: receipt.DispatchID}); err != nil {
		t.Fatal(err)
	}
	return receipt
}

// messages lists what a page asks, by thread.
func messages(page host.Page[host.Approval]) []string {
	list := []string{}
	for _, a := range page.Items {
		list = append(list, a.ThreadID+": "+a.Ticket.Suspension.Message)
	}
	return list
}

func approvals(t *testing.T, p *host.Host, tenant, user string, q host.ApprovalQuery) host.Page[host.Approval] {
	t.Helper()
	page, err := p.Approvals(t.Context(), core.Identity{Tenant: tenant, User: user}, q)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

const confirmed = `confirm {"text":"%s"}`

func TestApprovalsAreWhatThePersonMayReadAndDecide(t *testing.T) {
	p := confirming(t, nil)
	first := ask(t, p, "acme", "a", "", fmt.Sprintf(confirmed, "one"))
	ask(t, p, "acme", "b", "ann", fmt.Sprintf(confirmed, "two"))
	ask(t, p, "acme", "c", "bob", fmt.Sprintf(confirmed, "three"))
	ask(t, p, "acme", "d", "", `where {}`) // a tool of its client
	ask(t, p, "acme", "e", "", `echo {"text":"done"}`)
	ask(t, p, "other", "f", "", fmt.Sprintf(confirmed, "theirs"))
	tests := []struct {
		tenant, user string
		want         []string
	}{
		{"acme", "", []string{"a: one", "d: "}},
		{"acme", "ann", []string{"a: one", "b: two", "d: "}},
		{"acme", "bob", []string{"a: one", "c: three", "d: "}},
		{"other", "ann", []string{"f: theirs"}},
		{"nobody", "", []string{}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, messages(approvals(t, p, tt.tenant, tt.user, host.ApprovalQuery{}))); diff != "" {
			t.Errorf("%s of %s (-want +got):\n%s", tt.user, tt.tenant, diff)
		}
	}
	got := approvals(t, p, "acme", "", host.ApprovalQuery{}).Items[0]
	if got.RunID != first.RunID || got.AgentID != "demo" || got.Ticket.Tool != "confirm" || string(got.Ticket.Arguments) != `{"text":"one"}` || got.Ticket.CreatedAt == 0 {
		t.Errorf("the approval is %+v", got)
	}

	_, err := p.Decide(t.Context(), core.Identity{Tenant: "acme"}, first.RunID, mailbox.Deciding{
		Target: got.Ticket.Suspension.ID, Decision: core.Decision{Action: core.DecisionResume, Payload: []byte(`"yes"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b: two", "d: "}, messages(approvals(t, p, "acme", "ann", host.ApprovalQuery{}))); diff != "" {
		t.Errorf("after the decision on one (-want +got):\n%s", diff)
	}
	if _, err := p.Approvals(t.Context(), core.Identity{Tenant: "a#b"}, host.ApprovalQuery{}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("a tenant that is no name returns the error %v, want code invalid", err)
	}
}

// A page ends at its limit or its bytes, never within a thread's tickets, and the
// next one goes on behind it whatever was decided meanwhile.
func TestApprovalsComeInPages(t *testing.T) {
	p := confirming(t, nil)
	for i := range 25 {
		ask(t, p, "acme", fmt.Sprintf("t%02d", i), map[bool]string{true: "bob"}[i%5 == 4], fmt.Sprintf(confirmed, "x"))
	}
	for _, q := range []host.ApprovalQuery{{Limit: 1}, {Limit: 7}, {}, {Bytes: 1}, {Bytes: 3000}} {
		var got []string
		pages := 0
		for ; ; pages++ {
			page := approvals(t, p, "acme", "", q)
			if q.Limit > 0 && len(page.Items) > q.Limit {
				t.Fatalf("%+v: a page has %d", q, len(page.Items))
			}
			got = append(got, messages(page)...)
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if len(got) != 20 {
			t.Errorf("%+v lists %d in %d pages, want the 20 that are not another user's: %v", q, len(got), pages+1, got)
		}
		if q.Limit+q.Bytes != 0 && pages < 2 {
			t.Errorf("%+v needs %d pages more than one", q, pages)
		}
	}
	for _, q := range []host.ApprovalQuery{{Limit: -1}, {Limit: 201}, {Bytes: -1}, {Bytes: 3_000_001}} {
		if _, err := p.Approvals(t.Context(), core.Identity{Tenant: "acme"}, q); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%+v returns the error %v, want code invalid", q, err)
		}
	}
}

// The tickets of one thread are on one page, in call order, also over its limit.
func TestAThreadsApprovalsStayTogether(t *testing.T) {
	waits := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a echoArguments) (tool.Result, error) {
		return tool.Suspended(core.TicketRequest{Action: "tool:confirm", Message: a.Text}), nil
	})
	p := newRig(t).process("w", newWatched(t), func(c *host.Options) {
		c.Agents.Tools, c.Agents.Specs[0].ExecutionMode = []tool.Tool{waits}, agent.ParallelStreaming
	})
	for _, name := range []string{"a", "b"} {
		say(t, p, "acme", name, "", "parallel: one, two, three")
	}
	all := []string{"a: one", "a: two", "a: three", "b: one", "b: two", "b: three"}
	for limit, want := range map[int][]int{1: {3, 3}, 3: {3, 3}, 5: {3, 3}, 6: {6}, 50: {6}} {
		q := host.ApprovalQuery{Limit: limit}
		var got []string
		var sizes []int
		for {
			page := approvals(t, p, "acme", "", q)
			got, sizes = append(got, messages(page)...), append(sizes, len(page.Items))
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if diff := cmp.Diff(all, got); diff != "" || !slices.Equal(sizes, want) {
			t.Errorf("limit %d gives pages of %v, want %v (-want +got):\n%s", limit, sizes, want, diff)
		}
	}
}

// The index is late: it lists what was decided, what waits since another time, and
// what never waited.
func TestApprovalsAreConfirmedByTheirHeads(t *testing.T) {
	watched := newWatched(t)
	p := confirming(t, &storetest.Faulty{Backend: watched, OnWaiting: func(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
		if after != nil {
			return nil, nil
		}
		list, err := watched.Waiting(ctx, tenant, nil, 100)
		stale := []store.Waiting{{Thread: "absent", Since: 1}, {Thread: "done", Since: 2}}
		for _, w := range list {
			stale = append(stale, store.Waiting{Thread: w.Thread, Since: w.Since - 1}, w)
		}
		return stale, err
	}})
	ask(t, p, "acme", "t", "", fmt.Sprintf(confirmed, "one"))
	ask(t, p, "acme", "done", "", `echo {"text":"x"}`)
	if diff := cmp.Diff([]string{"t: one"}, messages(approvals(t, p, "acme", "", host.ApprovalQuery{}))); diff != "" {
		t.Errorf("a late index (-want +got):\n%s", diff)
	}
}

// What others keep waiting does not make a request read without end: it comes to a
// page that has nothing, and its Next.
func TestAPageOfApprovalsLooksAtSoManyThreads(t *testing.T) {
	looked := 0
	watched := newWatched(t)
	p := confirming(t, &storetest.Faulty{Backend: watched, OnWaiting: func(_ context.Context, _ string, after *store.Waiting, limit int) (list []store.Waiting, _ error) {
		from := int64(1)
		if after != nil {
			from = after.Since + 1
		}
		for i := range int64(limit) {
			list = append(list, store.Waiting{Thread: "absent", Since: from + i})
		}
		looked += limit
		return list, nil
	}})
	page := approvals(t, p, "acme", "", host.ApprovalQuery{})
	if want := "200:absent"; len(page.Items) != 0 || page.Next != want || looked != 200 {
		t.Errorf("%d threads were looked at, the page is %+v, want 200 and its Next behind them", looked, page)
	}
}

// One thread that cannot be read hides no other.
func TestAnUnreadableThreadIsLeftOutOfApprovals(t *testing.T) {
	var log bytes.Buffer
	watched, damaged := newWatched(t), false
	f := &storetest.Faulty{Backend: watched, OnRecord: func(op storetest.Operation, found store.Record) store.Record {
		if damaged && op.Key.Thread == "b" && strings.HasPrefix(found.Name, "C#") {
			found.Payload = []byte("{")
		}
		return found
	}}
	p := confirming(t, f, func(c *host.Options) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, name := range []string{"a", "b", "c"} {
		ask(t, p, "acme", name, "", fmt.Sprintf(confirmed, "x"))
	}
	damaged = true
	if diff := cmp.Diff([]string{"a: x", "c: x"}, messages(approvals(t, p, "acme", "", host.ApprovalQuery{}))); diff != "" {
		t.Errorf("beside a thread that is damaged (-want +got):\n%s", diff)
	}
	if got := log.String(); !strings.Contains(got, `level=WARN msg="waiting thread cannot be read" tenant=acme thread=b`) {
		t.Errorf("the log says nothing of it:\n%s", got)
	}
}
