package modeltest

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Key is the API key that every adapter is opened with. Transcripts quote it, as
// servers do in their refusals, and no error may.
const Key = "sk-contract-4f7a9c1e"

// Idle is the time that a stream may be silent in the cases that wait for its end.
const Idle = 300 * time.Millisecond

// patience is that of all others: a busy machine is no idle stream.
const patience = 30 * time.Second

// Case is one stream, and what it has to come to.
type Case struct {
	Name   string // also of its transcript
	Want   Turn   // before the error, if there is one
	Fail   *Failure
	Silent bool // the stream hangs, and [Idle] is what it may
}

// Turn is what the deltas of a stream add up to.
type Turn struct {
	Text      string
	Reasoning string
	Echoes    int // values that the provider wants back
	Calls     []Call
	Usage     core.Usage // only of the case "usage"
	Stop      core.StopReason
}

// Call is a call of a turn, with its arguments as they came.
type Call struct{ Name, Arguments string }

// Failure is the *model.Error that a stream has to end with.
type Failure struct {
	Kind       model.ErrorKind
	Or         model.ErrorKind // another kind that is as right; empty: none
	RetryAfter time.Duration
	Truncated  bool // errors.Is(err, model.ErrTruncated)
}

// Cases are the streams that every provider has to have a transcript of, or a reason
// why not. Beside them are the stops, see [Provider].
func Cases() []Case {
	truncated := &Failure{Kind: model.KindInterrupted, Truncated: true}
	return []Case{
		{Name: "text", Want: Turn{Text: "Hello, wörld 🌍.", Stop: core.StopEndTurn}},
		{Name: "two_calls", Want: Turn{Text: "I look.", Stop: core.StopToolUse, Calls: []Call{
			{"get_weather", `{"city":"Oslo","days":2}`}, {"get_weather", `{"city":"Rome"}`},
		}}},
		{Name: "call_without_arguments", Want: Turn{Stop: core.StopToolUse, Calls: []Call{{"get_time", ""}}}},
		{Name: "reasoning", Want: Turn{Reasoning: "Let me think.", Echoes: 1, Stop: core.StopToolUse, Calls: []Call{
			{"get_weather", `{"city":"Oslo"}`},
		}}},
		{Name: "usage", Want: Turn{Text: "Hi.", Stop: core.StopEndTurn, Usage: core.Usage{Input: 100, Output: 20, CacheRead: 40, CacheWrite: 10, Reasoning: 5}}},
		{Name: "huge_delta", Want: Turn{Text: repeated("x", 900_000), Stop: core.StopEndTurn}},

		{Name: "rate_limited", Fail: &Failure{Kind: model.KindRateLimited, RetryAfter: 7 * time.Second}},
		{Name: "rate_limited_without_a_time", Fail: &Failure{Kind: model.KindRateLimited}},
		{Name: "quota", Fail: &Failure{Kind: model.KindQuota}},
		{Name: "overloaded", Fail: &Failure{Kind: model.KindOverloaded}},
		{Name: "server_error", Fail: &Failure{Kind: model.KindProvider}},
		{Name: "unauthorized", Fail: &Failure{Kind: model.KindUnauthorized}},
		{Name: "not_found", Fail: &Failure{Kind: model.KindNotFound}},
		{Name: "overflow", Fail: &Failure{Kind: model.KindOverflow}},
		{Name: "invalid", Fail: &Failure{Kind: model.KindInvalid}},
		{Name: "error_in_stream", Want: Turn{Text: "Hel"}, Fail: &Failure{Kind: model.KindOverloaded, Or: model.KindProvider}},
		{Name: "cut", Want: Turn{Text: "Hel"}, Fail: truncated},
		{Name: "no_terminal_event", Want: Turn{Text: "Hel"}, Fail: truncated},
		{Name: "cut_arguments", Want: Turn{Stop: core.StopMaxTokens, Calls: []Call{{"get_weather", `{"city":"Os`}}}},
		{Name: "slow_headers", Silent: true, Fail: &Failure{Kind: model.KindTimeout}},
		{Name: "slow_first_byte", Silent: true, Fail: &Failure{Kind: model.KindTimeout}},
		{Name: "idle", Silent: true, Want: Turn{Text: "Hel"}, Fail: &Failure{Kind: model.KindInterrupted}},
		{Name: "too_huge_delta", Fail: &Failure{Kind: model.KindProvider}},
		{Name: "malformed", Want: Turn{Text: "Hel"}, Fail: &Failure{Kind: model.KindInterrupted, Or: model.KindProvider}},
		{Name: "not_a_stream", Fail: &Failure{Kind: model.KindInvalid, Or: model.KindProvider}},
	}
}

func repeated(text string, n int) string {
	b := make([]byte, 0, n*len(text))
	for range n {
		b = append(b, text...)
	}
	return string(b)
}
