package window

import "github.com/reveille-run/reveille/core"

// DefaultBudget is the window of an agent that says nothing, in tokens.
const DefaultBudget = 32_000

// Tokens estimates what a message costs: a token for every four bytes, and a
// few for its frame. It needs no tokenizer and errs by less than half for what
// people, models and tools write.
func Tokens(m core.Message) int {
	const frame, bytesPerToken = 8, 4
	size := 0
	for _, b := range m.Content {
		size += len(b.Text) + len(b.Echo)
	}
	for _, c := range m.ToolCalls {
		size += len(c.Name) + len(c.Arguments)
	}
	if r := m.ToolResult; r != nil {
		size += len(r.Data) + len(r.Message)
	}
	return frame + size/bytesPerToken
}

// Gauge fills up with messages from the newest to the oldest.
type Gauge struct {
	budget, tokens int
	messages       int
	begun          bool
}

// NewGauge returns an empty gauge; a budget of 0 or less is [DefaultBudget].
func NewGauge(budget int) *Gauge {
	if budget <= 0 {
		budget = DefaultBudget
	}
	return &Gauge{budget: budget}
}

// Add takes the next older message. fits says that the window may begin with
// it; full that no older message belongs to the window. The newest turn always
// fits, however large it is.
func (g *Gauge) Add(m core.Message) (fits, full bool) {
	g.tokens += Tokens(m)
	g.messages++
	if m.Role == core.RoleTool { // it goes with the turn before it
		return false, false
	}
	if g.begun && g.tokens > g.budget {
		return false, true
	}
	g.begun = true
	return true, g.tokens >= g.budget
}

// Room estimates how many messages more the window holds, if they are as large
// as those before them; 0 when it is full or nothing is known.
func (g *Gauge) Room() int {
	if g.messages == 0 {
		return 0
	}
	return max(0, (g.budget-g.tokens)*g.messages/g.tokens)
}

// Cut returns the index of the first message of the window: 0 when all of them
// fit.
func Cut(messages []core.Message, budget int) int {
	g, first := NewGauge(budget), len(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		fits, full := g.Add(messages[i])
		if fits {
			first = i
		}
		if full {
			break
		}
	}
	return first
}
