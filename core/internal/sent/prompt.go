package sent

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// Prompt is the mostly stable part of a request. It shares the slices of the request, and
// is not changed.
type Prompt struct {
	System  string
	Tools   []model.ToolDefinition
	Context []core.Message // before the conversation
	Format  *model.ResponseFormat
	Stop    []string
	Options []byte // the provider's
	Inputs  []string
	NoCache bool
	Idle    time.Duration
	Limit   int // of the request, in tokens
	PerByte int // see window.Request

	encoded *encoded // its record, which is made once
}

// encoded is the record of a prompt.
type encoded struct {
	sync.Once
	payload []byte
	hash    string
	err     error
}

// PromptOf returns that part of a request. context are its messages before the
// conversation.
func PromptOf(r *model.Request, context []core.Message, limit, perByte int) Prompt {
	return Prompt{
		System: r.System, Tools: r.Tools, Context: context, Format: r.ResponseFormat, Stop: r.StopSequences, Options: r.ProviderOptions,
		Inputs: r.Inputs, NoCache: r.NoPromptCache, Idle: r.StreamIdleTimeout, Limit: limit, PerByte: perByte,
	}
}

// Same reports whether two prompts have the same record. It allocates nothing: a step
// compares its prompt with that of the step before.
func (p *Prompt) Same(q *Prompt) bool {
	return p.System == q.System && p.NoCache == q.NoCache && p.Idle == q.Idle && p.Limit == q.Limit && p.PerByte == q.PerByte &&
		slices.EqualFunc(p.Tools, q.Tools, sameTool) && sameFormat(p.Format, q.Format) && slices.Equal(p.Stop, q.Stop) &&
		bytes.Equal(p.Options, q.Options) && sameInputs(p.Inputs, q.Inputs) && slices.EqualFunc(p.Context, q.Context, sameContext)
}

// sameInputs compares inputs, of which nil means that they are unknown.
func sameInputs(a, b []string) bool { return (a == nil) == (b == nil) && slices.Equal(a, b) }

func sameTool(a, b model.ToolDefinition) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}

func sameFormat(a, b *model.ResponseFormat) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Strict == b.Strict && bytes.Equal(a.Schema, b.Schema)
}

// sameContext compares two context messages, which have a text, and differ in nothing else
// than their run.
func sameContext(a, b core.Message) bool {
	return a.ID == b.ID && a.Role == b.Role && a.Text() == b.Text()
}

// Encode returns the record of a prompt, and its hash. The record does not name the run
// of the context messages: another run, and another thread, shares it.
func (p *Prompt) Encode(records thread.Records) (payload []byte, hash string, err error) {
	e := p.encoded
	e.Do(func() { e.payload, e.hash, e.err = p.encode(records) })
	return e.payload, e.hash, e.err
}

func (p *Prompt) encode(records thread.Records) (payload []byte, hash string, err error) {
	r := thread.PromptRecord{
		System: p.System, Context: slices.Clone(p.Context), Stop: p.Stop, Inputs: inputsOf(p.Inputs), NoCache: p.NoCache, Idle: int64(p.Idle),
		Limit: p.Limit, PerByte: p.PerByte,
	}
	for i := range r.Context {
		r.Context[i].RunID = core.ID{}
	}
	r.Options, r.OptionsText = thread.Exact(p.Options)
	for _, t := range p.Tools {
		kept := thread.PromptTool{Name: t.Name, Description: t.Description}
		kept.Parameters, kept.Text = thread.Exact(t.Parameters)
		r.Tools = append(r.Tools, kept)
	}
	if f := p.Format; f != nil {
		r.Format = &thread.PromptFormat{Name: f.Name, Strict: f.Strict}
		r.Format.Schema, r.Format.Text = thread.Exact(f.Schema)
	}
	return records.EncodePrompt(&r)
}

// inputsOf tells no inputs from unknown ones in a record.
func inputsOf(inputs []string) *[]string {
	if inputs == nil {
		return nil
	}
	return &inputs
}

// Memory has the newest prompt of each agent, so that most threads of a process share one,
// and its record is made once. It is safe for concurrent use. Its zero value is empty.
type Memory struct {
	lock   sync.Mutex
	newest map[string]*Prompt
}

// mostAgents bounds a Memory: an agent's prompt may have some 10 KB.
const mostAgents = 64

// Find returns a prompt of an agent that is the same as the given one, or that one.
func (m *Memory) Find(agent string, prompt Prompt) *Prompt {
	m.lock.Lock()
	defer m.lock.Unlock()
	if known := m.newest[agent]; known != nil && known.Same(&prompt) {
		return known
	}
	if m.newest == nil || len(m.newest) >= mostAgents {
		m.newest = map[string]*Prompt{}
	}
	made := prompt
	made.encoded = new(encoded)
	m.newest[agent] = &made
	return &made
}

// apply sets the fields of a request that a prompt's record has.
func apply(r *model.Request, p *thread.PromptRecord) {
	if p.Inputs != nil {
		r.Inputs = *p.Inputs
	}
	r.System, r.StopSequences, r.NoPromptCache, r.StreamIdleTimeout = p.System, p.Stop, p.NoCache, time.Duration(p.Idle)
	r.ProviderOptions = thread.Given(p.Options, p.OptionsText)
	for _, t := range p.Tools {
		r.Tools = append(r.Tools, model.ToolDefinition{Name: t.Name, Description: t.Description, Parameters: thread.Given(t.Parameters, t.Text)})
	}
	if f := p.Format; f != nil {
		r.ResponseFormat = &model.ResponseFormat{Name: f.Name, Schema: thread.Given(f.Schema, f.Text), Strict: f.Strict}
	}
}

// withoutRun returns messages of a run as records have them.
func withoutRun(messages []core.Message, run core.ID) []core.Message {
	kept := slices.Clone(messages)
	for i := range kept {
		if kept[i].RunID == run {
			kept[i].RunID = core.ID{}
		}
	}
	return kept
}

// ofRun is the inverse of withoutRun.
func ofRun(messages []core.Message, run core.ID) []core.Message {
	for i := range messages {
		if messages[i].RunID.IsZero() {
			messages[i].RunID = run
		}
	}
	return messages
}
