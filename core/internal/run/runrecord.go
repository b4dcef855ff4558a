package run

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// logPart is what a write does to the log: the entries that it makes visible, and the
// input and summary that come in force with them.
type logPart struct {
	codec    *thread.Records
	from     uint64 // sequence of the log's newest record before the write
	entries  []thread.Entry
	consumed []thread.InboxRef // inbox entries among them
	cut      uint64            // the log is superseded from here on; 0: it is not
	summary  uint64            // the summary that comes in force ends there; 0: the one that is stays
	prompts  *[]store.Record   // of requests, which go with the entries; nil: none
	sum      uint32            // checksum of the log's tail up to from, see thread.Head.TailSum
	schema   uint16            // of the record of that summary
	sealed   [][]byte          // the stored forms of the entries that no result has, from the last seal
	usual    [2][]byte         // room for them, which is enough for most writes
	err      error             // an entry cannot be encoded, found by the last seal
}

// newLogPart returns what the draft's commit does to the log.
func newLogPart(h *holder, d *draft) logPart {
	summary, schema := d.newlySummed(h.head.Summary)
	return logPart{
		codec: &h.records, from: d.from, entries: d.entries, consumed: d.consumed, cut: d.cut, summary: summary, schema: schema, prompts: &d.prompts,
		sum: h.head.TailSum,
	}
}

// seq is the sequence of the log's newest record after the write.
func (p *logPart) seq() uint64 { return p.from + uint64(len(p.entries)) }

// seal encodes the entries, and returns the checksum of the log's tail after the write. It
// comes before Apply, which puts the checksum into the head, and depends on nothing but the
// log: each try of the write has the same one. The first entries are the results of calls,
// which have their payloads already. A turn gets the checksum of what is before it.
func (p *logPart) seal(results []call) uint32 {
	sum := p.sum
	p.sealed, p.err = p.usual[:0], nil
	for i := range p.entries {
		entry, seq := &p.entries[i], p.from+1+uint64(i)
		if i < len(results) {
			sum = thread.NextSum(sum, seq, entry, results[i].result.payload)
			continue
		}
		if entry.Turn() {
			entry.Sum = sum
		}
		payload, err := p.codec.EncodeEntry(entry)
		if err != nil && p.err == nil {
			p.err = err
		}
		p.sealed = append(p.sealed, payload)
		sum = thread.NextSum(sum, seq, entry, payload)
	}
	return sum
}

// addTo starts a plan with records of the sealed entries. Those before them are stored by
// other means. It leaves room for later records: a run's, what lists its thread, and what the run has used.
func (p *logPart) addTo(to *plan) {
	room := 3
	if p.prompts != nil {
		room += len(*p.prompts)
	}
	skip := len(p.entries) - len(p.sealed)
	records := make([]store.Record, len(p.sealed), len(p.entries)+room)
	for i, payload := range p.sealed {
		records[i] = store.Record{Name: store.LogName(p.from + 1 + uint64(skip+i)), Payload: payload}
	}
	to.fails(p.err)
	if p.prompts != nil {
		records = append(records, *p.prompts...)
	}
	to.records = records
}

// encodeRun makes the record of a run. It is rewritten with the fence and version of the
// head that it goes with, so that a late write of a lost claim cannot replace a newer one.
func encodeRun(codec *thread.Records, r *thread.RunRecord) (store.Record, error) {
	payload, err := codec.EncodeRun(r)
	return store.Record{Name: recordname.Run(r.ID), Payload: payload}, err
}

// runPart is the run as a write finds it: the values for its record, and for the
// lists of threads, for each head that may follow from the write.
type runPart struct {
	codec      *thread.Records
	account    *accounting.Run
	env        *env.Env              // its clock says until when a stretch of the run's accounts goes
	user       string                // owner of the thread
	before     *thread.RunRecord     // the record before the write; it is not changed
	totals     *thread.Totals        // of the run; they are not changed while the write is tried
	messages   []core.Message        // of the thread, those that the write adds among them
	answer     *model.ResponseFormat // the form that the run's answer must have; nil: none, or unknown
	end        *core.Termination     // nil: the run continues, or waits
	unfinished *thread.Unfinished    // the step that the end cuts short; nil: none
	times      thread.Times          // of the run, from the head before the write
	lost       uint8                 // claims of the run that were lost
	form       thread.Form           // of its end
	unread     bool                  // what the run has used cannot be read
	unlogged   *accounting.Spent     // usage of models for a turn, which counts unless the log has it; nil: none
	logEnd     uint64                // sequence of the log's newest record before the write
	at         int64                 // when it ends or begins to wait, unix milliseconds: read once for all tries and forms of the write
}

// newRunPart returns the run as the draft's commit finds it. end is how it ends, if it does,
// and at when that is.
func newRunPart(h *holder, b *base, d *draft, end *core.Termination, form thread.Form, at int64) runPart {
	p := runPart{
		codec: &h.records, account: &h.account, env: h.env, user: h.head.Owner, unread: b.conversation == nil,
		before: b.record, totals: &d.totals, messages: d.messages.Slice(), end: end, form: form, logEnd: d.from, at: at,
		times: h.head.Times(), lost: h.head.Run.Lost,
	}
	if b.agent != nil {
		p.answer = b.agent.Spec.ResponseFormat
	}
	return p
}

// record is the run's record for an outcome. The ending names the version of the
// head that starts to close the run: a record that a refused commit has left names
// a version that never did, and does not count.
func (p *runPart) record(next thread.Head, result thread.Result) *thread.RunRecord {
	made := struct { // one allocation has both
		record thread.RunRecord
		ending thread.Ending
	}{record: *p.before}
	r := &made.record
	p.sum(r)
	r.Status, r.InRound, r.Models = core.RunRunning, false, nil // left by a refused end
	switch result.Outcome {
	case thread.Wait:
		r.Status = core.RunWaiting
	case thread.Close:
		made.ending, r.Ending = thread.Ending{Version: next.Closing, Termination: *p.end}, &made.ending
		r.Response = p.response() // the run reads as done from this head on
		p.setModels(r)
	case thread.Done:
		made.ending, r.Ending = thread.Ending{Version: next.Closing, Termination: *p.end}, &made.ending
		p.finish(r)
	}
	return r
}

// sum takes into a record what the run has come to: the log's totals, and the step that its
// end cuts short.
func (p *runPart) sum(r *thread.RunRecord) {
	r.Steps, r.Usage, r.Spend, r.Calls = p.totals.Steps, p.totals.Usage, p.totals.Spend, p.totals.Called
	r.WaitedMS, r.Takeovers, r.Losses, r.Unfinished = p.times.Waited, int(p.lost), p.times.Losses, p.unfinished
	if u := p.unfinished; u != nil { // it is not a step that counts, but its tokens are the run's
		r.Usage = r.Usage.Add(u.Usage)
	}
}

// setModels notes the models of a run that has ended, those of a step that the end cuts short
// among them. A close that another write has begun has them from that.
func (p *runPart) setModels(r *thread.RunRecord) {
	if p.unfinished != nil && p.unlogged == nil {
		return
	}
	used := p.totals.Metered
	if p.unfinished != nil {
		used = p.account.With(used, p.unlogged)
	}
	r.SetModels(used)
}

// finish marks a record as the one of a run that is over, with the time. That is
// the same for all attempts of the write: a record that a refused one has left has
// no other time.
func (p *runPart) finish(r *thread.RunRecord) {
	r.Status, r.Termination, r.FinishedAt = core.RunDone, p.end, p.at
	r.Response = p.response()
	p.setModels(r)
}

// response is the text of the run's last turn. For an answer of a form it is that
// answer alone, as the form means it: text before it in the turn is not of the
// form.
func (p *runPart) response() string {
	turn := lastTurnOf(p.messages, p.before.ID)
	switch {
	case turn == nil:
		return ""
	case p.end.Type == core.TerminationNatural && p.answer != nil:
		return finalanswer.DropNulls(p.answer, finalanswer.Of(turn))
	}
	return turn.Text()
}

// stored is the run's record as the form of the end has it. Parts that the form
// omits stay known to this process: RunEnd and the run's last event have all of it.
func (p *runPart) stored(whole *thread.RunRecord, closing uint64) *thread.RunRecord {
	if p.form == thread.FormWhole {
		return whole
	}
	record := *whole
	record.Ending = &thread.Ending{Version: closing, Termination: *p.end, Form: p.form}
	record.Request, record.Frontend = nil, nil
	if p.form >= thread.FormCut {
		record.Response = cutText(record.Response)
	}
	if p.form >= thread.FormLeast {
		record.Bases, record.Models, record.Unknown, record.Losses = nil, nil, nil, nil
		if u := record.Unfinished; u != nil { // Usage has its tokens: who releases the slot takes them off
			least := *u
			least.Attempts = nil
			record.Unfinished = &least
		}
		record.Ending.Termination.Detail = cutText(p.end.Detail)
		if record.Termination != nil {
			end := record.Ending.Termination
			record.Termination = &end
		}
	}
	return &record
}

// addTo adds to a plan the record of the run, as it is to be stored. If the run
// ends or starts to wait with the write, it also adds what lists of threads show
// from then on. A close is not listed until it is final.
func (p *runPart) addTo(to *plan, next thread.Head, outcome thread.Outcome, r *thread.RunRecord) {
	to.add(encodeRun(p.codec, r))
	if outcome != thread.Wait && outcome != thread.Done {
		return
	}
	said := r.Response
	if outcome == thread.Wait {
		said = lastText(p.messages, r.ID)
	}
	l := thread.Listing{
		List: recordname.ListOf(next.Owner, r.Parent), At: p.at, AgentID: r.AgentID, Excerpt: thread.Excerpt(said), Asked: thread.Asked(p.messages, r.ID),
		Last: &core.LastRun{ID: r.ID, AgentID: r.AgentID, Status: r.Status, Steps: r.Steps, Usage: r.Usage},
	}
	if r.Parent != nil {
		l.Parent = r.Parent.Thread
	}
	if l.Last.Termination = r.Termination; r.Termination != nil && r.Termination.Detail != "" {
		l.Last.Termination = &core.Termination{Type: r.Termination.Type, Code: r.Termination.Code}
	}
	payload, err := p.codec.EncodeListing(&l)
	to.add(store.Record{Name: recordname.Activity, Payload: payload}, err)
}

// lastText is the text of the run's newest assistant turn; empty when the window
// has none of the run any more.
func lastText(messages []core.Message, run core.ID) string {
	if turn := lastTurnOf(messages, run); turn != nil {
		return turn.Text()
	}
	return ""
}

// lastTurnOf is that turn; nil when the window has none.
func lastTurnOf(messages []core.Message, run core.ID) *core.Message {
	for i := len(messages) - 1; i >= 0 && messages[i].RunID == run; i-- {
		if messages[i].Role == core.RoleAssistant {
			return &messages[i]
		}
	}
	return nil
}

// complainOfLeft logs the parts that the write has omitted because no store takes
// them.
func (p *plan) complainOfLeft(ctx context.Context, log *logger) {
	if p.left > 0 {
		log.complain(ctx, "usage record too large for the store", "bytes", p.left)
	}
}

// addAccount adds to a plan that has the run's record what it stores for the run's accounts,
// and notes in the record where the next stretch begins. The records so far are those whose
// cost is estimated. The form in which nothing may be larger than every store takes leaves out
// a record of usage that is.
func (p *runPart) addAccount(to *plan, next thread.Head, result thread.Result) {
	settled, err := p.account.Settle(next, result, accounting.End{
		Run: to.run, User: p.user, Used: p.totals.Metered, Lost: p.unread,
		Unlogged: p.unlogged, LogEnd: p.logEnd, At: p.env.Millis(), Records: to.records,
	})
	if r := settled.Record; p.form >= thread.FormLeast && r.IsUsage() && len(r.Payload) > thread.MinPayload {
		to.left, settled.Record = len(r.Payload), store.Record{}
	}
	if to.addAccounts(settled, err); settled.Bases != nil {
		record := *to.run
		record.Bases, to.run = settled.Bases, &record
	}
}

// cutText cuts a text to MaxLeast bytes as it is encoded, and marks that it
// continues.
func cutText(text string) string {
	const most = thread.MaxLeast - len(`"..."`)
	for cut := text; ; {
		encoded, _ := json.Marshal(cut) // a text always encodes
		if len(encoded) <= most+len(`""`) {
			if len(cut) == len(text) {
				return text
			}
			return cut + "..."
		}
		cut = strings.ToValidUTF8(cut[:len(cut)*most/len(encoded)], "")
	}
}
