package modeltest

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Key is the API key with which every adapter is opened. Transcripts quote it, as servers
// do in refusals; errors must not.
const Key = "sk-contract-4f7a9c1e"

// idle is the time that a stream may be silent in the cases that wait for its end.
const idle = 300 * time.Millisecond

// patience is the timeout of all others: a busy machine is not an idle stream.
const patience = 30 * time.Second

// stream is one of the streams of the suite, with its expected outcome.
type stream struct {
	Name   string  // also of its transcript
	Want   outcome // before the error, if there is one
	Fail   *failure
	Silent bool // the stream hangs, and [idle] is what it may
}

// outcome is what the deltas of a stream add up to.
type outcome struct {
	Text      string
	Reasoning string
	Echoes    int // values that the provider wants back
	Calls     []called
	Usage     core.Usage // only of the case "usage"
	Stop      core.StopReason
}

// called is a call of a turn, with its arguments as they came.
type called struct{ Name, Arguments string }

// failure is the *model.Error that a stream has to end with.
type failure struct {
	Kind       model.ErrorKind
	Or         model.ErrorKind // another kind that is as right; empty: none
	RetryAfter time.Duration
}

// streams are the streams that every provider must have a transcript of, or a reason why
// not. The stops come in addition, see [Provider]. The package comment lists them for
// authors of transcripts.
func streams() []stream {
	truncated := &failure{Kind: model.KindInterrupted}
	return []stream{
		{Name: "text", Want: outcome{Text: "Hello, wörld 🌍.", Stop: core.StopEndTurn}},
		{Name: "two_calls", Want: outcome{Text: "I look.", Stop: core.StopToolUse, Calls: []called{
			{"get_weather", `{"city":"Oslo","days":2}`}, {"get_weather", `{"city":"Rome"}`},
		}}},
		{Name: "split_character", Want: outcome{Text: "Hi 😀.", Stop: core.StopToolUse, Calls: []called{{"get_weather", `{"city":"😀"}`}}}},
		{Name: "call_without_arguments", Want: outcome{Stop: core.StopToolUse, Calls: []called{{"get_time", ""}}}},
		{Name: "reasoning", Want: outcome{Reasoning: "Let me think.", Echoes: 1, Stop: core.StopToolUse, Calls: []called{
			{"get_weather", `{"city":"Oslo"}`},
		}}},
		{Name: "usage", Want: outcome{Text: "Hi.", Stop: core.StopEndTurn, Usage: core.Usage{Input: 100, Output: 20, CacheRead: 40, CacheWrite: 10, Reasoning: 5}}},
		{Name: "huge_delta", Want: outcome{Text: repeated("x", 900_000), Stop: core.StopEndTurn}},

		{Name: "rate_limited", Fail: &failure{Kind: model.KindRateLimited, RetryAfter: 7 * time.Second}},
		{Name: "rate_limited_without_a_time", Fail: &failure{Kind: model.KindRateLimited}},
		{Name: "quota", Fail: &failure{Kind: model.KindQuota}},
		{Name: "overloaded", Fail: &failure{Kind: model.KindOverloaded}},
		{Name: "server_error", Fail: &failure{Kind: model.KindProvider}},
		{Name: "unauthorized", Fail: &failure{Kind: model.KindUnauthorized}},
		{Name: "not_found", Fail: &failure{Kind: model.KindNotFound}},
		{Name: "overflow", Fail: &failure{Kind: model.KindOverflow}},
		{Name: "invalid", Fail: &failure{Kind: model.KindInvalid}},
		{Name: "error_in_stream", Want: outcome{Text: "Hel"}, Fail: &failure{Kind: model.KindOverloaded, Or: model.KindProvider}},
		{Name: "cut", Want: outcome{Text: "Hel"}, Fail: truncated},
		{Name: "no_terminal_event", Want: outcome{Text: "Hel"}, Fail: truncated},
		{Name: "cut_arguments", Want: outcome{Stop: core.StopMaxTokens, Calls: []called{{"get_weather", `{"city":"Os`}}}},
		{Name: "slow_headers", Silent: true, Fail: &failure{Kind: model.KindTimeout}},
		{Name: "slow_first_byte", Silent: true, Fail: &failure{Kind: model.KindTimeout}},
		{Name: "idle", Silent: true, Want: outcome{Text: "Hel"}, Fail: &failure{Kind: model.KindInterrupted}},
		{Name: "too_huge_delta", Fail: &failure{Kind: model.KindInvalid}},
		{Name: "malformed", Want: outcome{Text: "Hel"}, Fail: &failure{Kind: model.KindInterrupted, Or: model.KindProvider}},
		{Name: "not_a_stream", Fail: &failure{Kind: model.KindInvalid, Or: model.KindProvider}},
	}
}

func repeated(text string, n int) string {
	b := make([]byte, 0, n*len(text))
	for range n {
		b = append(b, text...)
	}
	return string(b)
}
