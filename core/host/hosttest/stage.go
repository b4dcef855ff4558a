package hosttest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// stage is a thread with a run that has called echo for each of some texts, as call
// "c0", "c1" and so on. The test holds its claim and controls the progress of its tool
// round; a runtime over the same store shows the run and continues it.
type stage struct {
	t       *testing.T
	store   *storetest.Faulty
	queue   mailboxtest.Queue
	box     *mailbox.Service
	program *host.Host
	head    thread.Head
	receipt mailbox.Receipt
	calls   []core.ToolCall
	batch   bool
}

// ann owns the thread.
var ann = core.Identity{Tenant: "acme", User: "ann"}

// drainHints returns what was sent since the last time, the delays to the second.
func (s *stage) drainHints() string {
	var hints []string
	for _, m := range s.queue.Messages() {
		hints = append(hints, fmt.Sprint(m.Hint.Thread, " ", m.Delay.Round(time.Second)))
	}
	s.queue.Clear()
	return strings.Join(hints, ", ")
}

// reading makes the stage's reads of records fail with what fails says of the
// name of the record, or of what it begins with.
func (s *stage) reading(fails func(name string) error) {
	s.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		switch op.Method {
		case "Get", "Log", "Records":
			if err := fails(op.Name); err != nil {
				return err
			}
		}
		return do(ctx)
	}
}

// newStage returns a stage with the turn committed and no call started.
func newStage(t *testing.T, o Options, batch bool, texts ...string) *stage {
	t.Helper()
	s := &stage{t: t, store: &storetest.Faulty{Backend: o.Open(t, env.System().Now)}, batch: batch}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.box, err = mailbox.New(mailbox.Options{Env: env.System(), Store: s.store, Waker: &s.queue, Logger: quiet, Worker: "holder"})
	if err != nil {
		t.Fatal(err)
	}
	echo := tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a struct {
		Text string `json:"text"`
	}) (tool.Result, error) {
		return tool.NewResult(a), nil
	})
	s.program, err = host.New(host.Options{
		Env: env.System(), Store: s.store, Waker: &s.queue, Logger: quiet, Worker: "program", FollowInterval: time.Millisecond,
		Agents: agent.Parts{
			Models: map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System()), Name: "scripted"}},
			Tools:  []tool.Tool{echo}, Specs: []agent.Spec{{ID: "demo", Model: "scripted"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.begin(texts)
	return s
}

// begin submits, claims and commits the turn.
func (s *stage) begin(texts []string) {
	s.t.Helper()
	s.receipt = s.submit("parallel: " + strings.Join(texts, ", "))
	s.claim()
	for i, text := range texts {
		arguments, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			s.t.Fatal(err)
		}
		s.calls = append(s.calls, core.ToolCall{ID: fmt.Sprint("c", i), Name: "echo", Arguments: arguments})
	}
	run := s.receipt.RunID
	input := core.UserMessage("parallel: " + strings.Join(texts, ", ")).WithID(s.receipt.DispatchID.String() + ".0")
	input.RunID = run
	turn := core.Message{ID: run.String() + ".1", Role: core.RoleAssistant, RunID: run, Step: 1, ToolCalls: s.calls}
	s.commit(thread.CommitTurn{Fence: s.head.Claim.Fence, Seq: 2, Calls: len(texts), TurnFence: s.head.Claim.Fence, Batch: s.batch},
		s.log(1, thread.Entry{Run: run, Message: &input, Input: s.receipt.DispatchID}),
		s.log(2, thread.Entry{Run: run, Step: 1, Message: &turn, Attempt: 1, Totals: &thread.Totals{Steps: 1}}),
		s.record(recordname.Run(run), thread.RunRecord{Run: core.Run{
			ID: run, ThreadID: theThread.Thread, AgentID: "demo", Status: core.RunRunning, Dispatch: s.receipt.DispatchID, FirstSeq: 1,
		}}),
	)
	s.drainHints()
}

func (s *stage) claim() {
	s.t.Helper()
	head, claimed, err := s.box.Claim(s.t.Context(), core.WakeUp{Tenant: theThread.Tenant, Thread: theThread.Thread}, false)
	if err != nil || !claimed {
		s.t.Fatalf("claim: %v, %v", claimed, err)
	}
	s.head = head
}

func (s *stage) submit(text string) mailbox.Receipt {
	s.t.Helper()
	return s.send(text, mailbox.ModeQueue)
}

func (s *stage) steer(text string) mailbox.Receipt {
	s.t.Helper()
	return s.send(text, mailbox.ModeSteer)
}

func (s *stage) send(text string, mode mailbox.Mode) mailbox.Receipt {
	s.t.Helper()
	receipt, err := s.box.Submit(s.t.Context(), mailbox.Submission{
		Thread: theThread, User: "ann", Opening: mailbox.Opening{AgentID: "demo"}, Mode: mode, Messages: []core.Message{core.UserMessage(text)},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return receipt
}

// commit applies a change of the claim's holder, with records.
func (s *stage) commit(change thread.Change, records ...store.Record) {
	s.t.Helper()
	var err error
	s.head, _, err = s.box.Commit(s.t.Context(), theThread, s.head, change, func(next thread.Head, _ thread.Result) ([]store.Record, error) {
		for i := range records {
			records[i].Fence = s.head.Claim.Fence
			if records[i].Kind() == store.KindRewrite {
				records[i].Version = next.Version
			}
		}
		return records, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) record(name string, v any) store.Record {
	s.t.Helper()
	payload, err := thread.Records{}.Encode("record", v)
	if err != nil {
		s.t.Fatal(err)
	}
	return store.Record{Name: name, Payload: payload}
}

func (s *stage) log(seq uint64, e thread.Entry) store.Record {
	s.t.Helper()
	payload, err := thread.Records{}.EncodeEntry(&e)
	if err != nil {
		s.t.Fatal(err)
	}
	return store.Record{Name: store.LogName(seq), Payload: payload}
}

// result stores the result of a call, which the head does not say yet.
func (s *stage) result(i int) {
	s.t.Helper()
	run := s.receipt.RunID
	m := core.Message{
		ID: run.String() + fmt.Sprint(".1.", i), Role: core.RoleTool, RunID: run, Step: 1,
		ToolResult: &core.ToolResult{CallID: s.calls[i].ID, Name: "echo", Data: s.calls[i].Arguments, Status: core.ResultOK},
	}
	r := s.log(s.head.Run.Base+uint64(i), thread.Entry{Run: run, Step: 1, Message: &m})
	r.Fence = s.head.Claim.Fence
	if err := s.store.Put(s.t.Context(), theThread, r); err != nil {
		s.t.Fatal(err)
	}
}

// suspended are the tickets of calls, under the suspensions "s0", "s1" and so on,
// and their records.
func (s *stage) suspended(calls ...int) (tickets []thread.Ticket, records []store.Record) {
	s.t.Helper()
	for _, i := range calls {
		id := fmt.Sprint("s", i)
		key := thread.TicketKey(s.receipt.RunID, id)
		tickets = append(tickets, thread.Ticket{Call: uint8(i), ID: key})
		records = append(records, s.record(recordname.Suspension(s.receipt.RunID, s.head.Run.Base-1, uint8(i), key), thread.TicketRecord{Ticket: core.Ticket{
			Suspension: core.Suspension{ID: id, Action: "tool:echo"}, CallID: s.calls[i].ID, Tool: s.calls[i].Name, Arguments: s.calls[i].Arguments, Mode: core.ResumeReplay, Kind: core.TicketPerson,
		}}))
	}
	return tickets, records
}

// statuses are the calls with those of done marked so.
func (s *stage) statuses(done []int) []thread.CallStatus {
	calls := append([]thread.CallStatus(nil), s.head.Run.Calls...)
	for _, i := range done {
		calls[i] = thread.CallDone
	}
	return calls
}

// suspend makes results and tickets visible while the round continues.
func (s *stage) suspend(done []int, suspended ...int) {
	s.t.Helper()
	tickets, records := s.suspended(suspended...)
	s.commit(thread.Suspend{Fence: s.head.Claim.Fence, Calls: s.statuses(done), Tickets: tickets}, records...)
}

// wait ends the step: results and tickets become visible, and the run waits.
func (s *stage) wait(done []int, suspended ...int) {
	s.t.Helper()
	for _, i := range done {
		s.result(i)
	}
	tickets, records := s.suspended(suspended...)
	round := thread.RoundRecord{Turn: s.head.Run.Base - 1, Merged: done, Totals: thread.Totals{Steps: 1}}
	for _, ticket := range append(tickets, s.head.Tickets...) {
		if ticket.Decision == 0 {
			round.Waits = append(round.Waits, ticket.ID)
		}
	}
	s.commit(thread.CommitStep{
		Fence: s.head.Claim.Fence, From: s.head.Seq, Seq: s.head.Seq, Outcome: thread.Wait, Round: true, Calls: s.statuses(done), Tickets: tickets,
	}, append(records, s.record(recordname.Round(s.receipt.RunID, s.head.Version+1), round))...)
}

// decided takes a decision that no stream shows.
func (s *stage) decided(call int) {
	s.t.Helper()
	d := resume(call)[0]
	d.User = ann.User
	if _, err := s.box.Decide(s.t.Context(), theThread, d); err != nil {
		s.t.Fatal(err)
	}
}

// failClose makes the next commit fail that closes the round, and counts it.
func (s *stage) failClose() *int {
	s.t.Helper()
	failures := new(int)
	s.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if *failures > 0 || c.Head.Seq == 2 {
			return s.store.Backend.Commit(ctx, key, c)
		}
		*failures++
		return store.Outcome{}, core.Errorf(core.CodeInvalid, "no")
	}
	return failures
}

// finish works on the thread until its run is over.
func (s *stage) finish(ctx context.Context) {
	s.t.Helper()
	for ended := false; !ended; {
		if err := s.program.WorkLocal(ctx, core.WakeUp{Tenant: theThread.Tenant, Thread: theThread.Thread}); err != nil {
			s.t.Fatal(err)
		}
		head, err := s.box.Head(ctx, theThread)
		if ended = !head.Open(); err != nil || !ended && env.System().Sleep(ctx, 10*time.Millisecond) != nil {
			s.t.Fatalf("the run is not over: %v", err)
		}
	}
}

// beside runs f while the test continues; wait returns f's error. The context of
// both ends after a minute.
func (s *stage) beside(f func(ctx context.Context) error) (ctx context.Context, wait func() error) {
	ctx, cancel := env.System().WithTimeout(s.t.Context(), time.Minute)
	group, shared := env.System().Group(ctx)
	group.Go(f)
	return shared, func() error {
		defer cancel()
		return group.Wait()
	}
}

// events records events, one line each; "-" marks those without a position. Events that are
// only live are omitted: they depend on the process that steps the run.
type events struct {
	mu    sync.Mutex
	lines []string
	seen  chan string // of each event, if it is made
}

func (e *events) sink(event core.Event) error {
	if event.Type == core.EventToolCallResumed {
		return nil
	}
	line := string(event.Type)
	if event.CallID != "" {
		line += " " + event.CallID
	}
	if event.Ticket != nil {
		line += " " + event.Ticket.Suspension.ID
	}
	if event.Type == core.EventTextDelta {
		line += " " + event.Delta
	}
	if event.Termination != nil {
		line += " " + string(event.Termination.Type)
	}
	if event.Position == "" {
		line += " -"
	}
	e.mu.Lock()
	e.lines = append(e.lines, line)
	e.mu.Unlock()
	if e.seen != nil {
		e.seen <- line
	}
	return nil
}

// inOnePiece joins the deltas of one text. A follower of another worker's step receives the
// text as the model generates it, or whole if its commit came first.
func inOnePiece(lines []string) []string {
	const delta = "text_delta "
	var all []string
	for _, line := range lines {
		if last := len(all) - 1; last >= 0 && strings.HasPrefix(line, delta) && strings.HasPrefix(all[last], delta) {
			all[last] += strings.TrimPrefix(line, delta)
			continue
		}
		all = append(all, line)
	}
	return all
}
