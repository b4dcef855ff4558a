package thread

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Usual is a payload that is nearly always encoded without reflection. AddTo appends what
// encoding/json would write for the fields of the payload. It returns false if a field has a
// value that it does not know to write: then encoding/json encodes the payload.
type Usual interface {
	AddTo(m *wire.Members) bool
}

// AddTo implements [Usual].
func (q *Queued) AddTo(m *wire.Members) bool {
	if q.Messages == nil || q.Frontend != nil {
		return false
	}
	addID(m, "run", q.Run)
	addAnyID(m, "dispatch", q.Dispatch)
	m.Text("agent_id", q.AgentID)
	m.Text("origin", string(q.Origin))
	m.OpenList("messages")
	for i := range q.Messages {
		begin := m.Item(i == 0)
		if !addInput(m, &q.Messages[i]) {
			return false
		}
		m.Close(begin)
	}
	m.CloseList()
	m.AnyInt("created_at", q.CreatedAt)
	m.Uint("supersede", q.Supersede)
	addID(m, "retakes", q.Retakes)
	addID(m, "takes_up", q.TakesUp)
	m.Text("resolution", q.Resolution)
	m.JSON("request", q.Request)
	q.Parent.addTo(m)
	return true
}

// addInput adds the members of a message of text, as inputs have them.
func addInput(m *wire.Members, message *core.Message) bool {
	if len(message.ToolCalls) > 0 || message.ToolResult != nil || message.Usage != nil || message.Repair || message.Pending || message.Decided {
		return false
	}
	m.AnyText("id", message.ID)
	m.AnyText("role", string(message.Role))
	if len(message.Content) > 0 {
		m.OpenList("content")
		for i := range message.Content {
			b := &message.Content[i]
			if len(b.Data) > 0 || len(b.Annotations) > 0 {
				return false
			}
			begin := m.Item(i == 0)
			m.AnyText("type", string(b.Type))
			m.Text("text", b.Text)
			m.Text("media_type", b.MediaType)
			m.Text("url", b.URL)
			m.Text("filename", b.Filename)
			m.JSON("echo", b.Echo)
			m.Text("origin", b.Origin)
			m.Close(begin)
		}
		m.CloseList()
	}
	addID(m, "run_id", message.RunID)
	m.Int("step", int64(message.Step))
	m.Text("model", message.Model)
	m.Text("provider", message.Provider)
	m.Text("stop_reason", string(message.StopReason))
	m.Int("created_at", message.CreatedAt)
	return true
}

// addTo adds a parent; nil: none.
func (p *Parent) addTo(m *wire.Members) {
	if p == nil {
		return
	}
	begin := m.Open("parent")
	m.AnyText("thread", p.Thread)
	addAnyID(m, "run", p.Run)
	m.AnyInt("call", int64(p.Call))
	m.Text("tool_call", p.ToolCall)
	m.True("listed", p.Listed)
	m.True("detached", p.Detached)
	addID(m, "root", p.Root)
	m.Texts("agents", p.Agents)
	m.Int("max_tokens", p.MaxTokens)
	m.Int("deadline", p.Deadline)
	m.Close(begin)
}

// AddTo implements [Usual].
func (r *RunRecord) AddTo(m *wire.Members) bool {
	if r.WorkedMS != 0 || r.Asked != "" || r.ThreadTitle != "" || r.Cost != nil || len(r.Tickets) > 0 || r.Children != nil {
		return false // they are never stored
	}
	if r.Frontend != nil || r.Spend != 0 || len(r.Bases) > 0 || r.Unfinished != nil || len(r.Losses) > 0 || r.Trace != (TraceID{}) ||
		r.Ending != nil && r.Ending.Form != FormWhole {
		return false
	}
	addAnyID(m, "run_id", r.ID)
	m.AnyText("thread_id", r.ThreadID)
	m.AnyText("agent_id", r.AgentID)
	m.Text("origin", string(r.Origin))
	m.AnyText("status", string(r.Status))
	m.AnyInt("steps", int64(r.Steps))
	addUsage(m, r.Usage)
	m.Text("response", r.Response)
	addTermination(m, r.Termination)
	addID(m, "dispatch_id", r.Dispatch)
	m.Text("resolution", r.Resolution)
	m.Uint("first_seq", r.FirstSeq)
	m.AnyInt("created_at", r.CreatedAt)
	m.Int("started_at", r.StartedAt)
	m.Int("finished_at", r.FinishedAt)
	m.Int("waited_ms", r.WaitedMS)
	m.Int("takeovers", int64(r.Takeovers))
	m.Int("calls", int64(r.Calls))
	if r.Ending != nil {
		begin := m.Open("ending")
		m.AnyUint("version", r.Ending.Version)
		addTermination(m, &r.Ending.Termination)
		m.Close(begin)
	}
	m.JSON("request", r.Request)
	r.Parent.addTo(m)
	m.True("trace_sampled", r.Sampled)
	m.True("run_end_skipped", r.Skipped)
	m.True("ended_in_round", r.InRound)
	AddModels(m, r.Models)
	return true
}

// AddTo implements [Usual].
func (l *Listing) AddTo(m *wire.Members) bool {
	m.AnyText("list", l.List)
	m.AnyInt("at", l.At)
	m.Text("agent_id", l.AgentID)
	m.Text("parent", l.Parent)
	m.Text("origin", string(l.Origin))
	if last := l.Last; last != nil {
		begin := m.Open("last")
		addAnyID(m, "run_id", last.ID)
		m.AnyText("agent_id", last.AgentID)
		m.AnyText("status", string(last.Status))
		addTermination(m, last.Termination)
		m.AnyInt("steps", int64(last.Steps))
		addUsage(m, last.Usage)
		m.Close(begin)
	}
	m.Text("excerpt", l.Excerpt)
	m.Text("asked", l.Asked)
	return true
}

// AddModels adds the member models, the usage of models; none is omitted.
func AddModels(m *wire.Members, models []core.ModelUse) {
	if len(models) == 0 {
		return
	}
	m.OpenList("models")
	for i := range models {
		u := &models[i]
		begin := m.Item(i == 0)
		m.Text("provider", u.Provider)
		m.AnyText("model", u.Model)
		addUsage(m, u.Usage)
		m.Int("inferences", int64(u.Inferences))
		m.Int("millis", u.Millis)
		m.Close(begin)
	}
	m.CloseList()
}

// addUsage adds the member usage; none is omitted.
func addUsage(m *wire.Members, u core.Usage) {
	if u == (core.Usage{}) {
		return
	}
	begin := m.Open("usage")
	m.Int("input", int64(u.Input))
	m.Int("output", int64(u.Output))
	m.Int("cache_read", int64(u.CacheRead))
	m.Int("cache_write", int64(u.CacheWrite))
	m.Int("reasoning", int64(u.Reasoning))
	m.Int("cache_write_hour", int64(u.CacheWriteHour))
	if l := u.Long; l != nil {
		long := m.Open("long")
		m.Int("input", int64(l.Input))
		m.Int("output", int64(l.Output))
		m.Int("cache_read", int64(l.CacheRead))
		m.Int("cache_write", int64(l.CacheWrite))
		m.Int("cache_write_hour", int64(l.CacheWriteHour))
		m.Close(long)
	}
	m.Close(begin)
}

// addTermination adds the member termination; nil: it is omitted.
func addTermination(m *wire.Members, t *core.Termination) {
	if t == nil {
		return
	}
	begin := m.Open("termination")
	m.AnyText("type", string(t.Type))
	m.Text("code", t.Code)
	m.Text("detail", t.Detail)
	m.Close(begin)
}

// addID adds an id; the zero id is omitted.
func addID(m *wire.Members, name string, id core.ID) {
	if !id.IsZero() {
		m.ID(name, id)
	}
}

// addAnyID adds an id; the zero id is an empty text.
func addAnyID(m *wire.Members, name string, id core.ID) {
	if id.IsZero() {
		m.AnyText(name, "")
		return
	}
	m.ID(name, id)
}
