package anthropic

import (
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
)

// kin is what models of one kind take and do, as the provider's pages on thinking, effort,
// structured outputs and each model's changes have it (2026-10).
type kin struct {
	output int // the most tokens of a turn

	budgets  bool   // thinks within a budget of tokens
	levels   bool   // thinks as it sees fit, bounded by a level of effort
	always   bool   // thinks where the request says nothing
	off      string // the thinking.type with which such a model does not; empty: it always does
	forced   bool   // takes a forced choice of tools while it thinks as it sees fit, or could
	open     bool   // thinks perhaps where the request says nothing
	bound    bool   // refuses thinking whose conversation has changed since, unless a request asks to drop it
	sampling bool   // takes temperature and top_p
	either   bool   // but not both at once
	formats  bool   // takes output_config.format
}

var (
	early    = kin{output: 4096, sampling: true}
	budgeted = kin{output: 64_000, budgets: true, sampling: true}
	// newest is also what a Claude model is taken for that is not in the table.
	newest = kin{output: 128_000, levels: true, always: true, bound: true, formats: true}
	// other is a model of another vendor with the same API.
	other = kin{output: 8192, budgets: true, open: true, sampling: true, formats: true}
)

// kins are the models by the beginnings of their names; of two that fit the longer counts.
var kins = map[string]kin{
	"claude-2":        early,
	"claude-instant":  early,
	"claude-3-":       early,
	"claude-3-5-":     {output: 8192, sampling: true},
	"claude-3-7-":     budgeted,
	"claude-opus-4":   {output: 32_000, budgets: true, sampling: true},
	"claude-sonnet-4": budgeted,
	"claude-opus-4-1": {output: 32_000, budgets: true, sampling: true, either: true},

	"claude-haiku-4-5":  {output: 64_000, budgets: true, sampling: true, either: true, formats: true},
	"claude-sonnet-4-5": {output: 64_000, budgets: true, sampling: true, either: true, formats: true},
	"claude-opus-4-5":   {output: 64_000, budgets: true, sampling: true, either: true, formats: true},
	"claude-sonnet-4-6": {output: 64_000, budgets: true, levels: true, forced: true, sampling: true, either: true, formats: true},
	"claude-opus-4-6":   {output: 128_000, budgets: true, levels: true, forced: true, sampling: true, either: true, formats: true},
	"claude-opus-4-7":   {output: 128_000, levels: true, forced: true, formats: true},
	"claude-opus-4-8":   {output: 128_000, levels: true, forced: true, formats: true},

	"claude-opus-5":   {output: 128_000, levels: true, always: true, off: "disabled", forced: true, formats: true},
	"claude-sonnet-5": {output: 128_000, levels: true, always: true, off: "disabled", forced: true, formats: true},
	"claude-fable-5":  {output: 128_000, levels: true, always: true, forced: true, formats: true},
	"claude-mythos-5": {output: 128_000, levels: true, always: true, forced: true, formats: true},

	"claude-fable-5-1":  newest,
	"claude-fable-5-2":  newest,
	"claude-mythos-5-1": newest,
	"claude-mythos-5-2": newest,
	"claude-opus-5-5":   newest,
	"claude-sonnet-5-5": {output: 128_000, levels: true, always: true, off: "between_tools", bound: true, formats: true},
	"claude-haiku-5-5":  {output: 128_000, levels: true, always: true, off: "disabled", forced: true, bound: true, formats: true},
}

// kinOf returns what the model of a name takes. Gateways put a vendor before the name,
// which does not count.
func kinOf(model string) kin {
	at := strings.LastIndex(model, "claude-")
	if at < 0 {
		return other
	}
	found, length := newest, 0
	for prefix, k := range kins {
		if len(prefix) > length && strings.HasPrefix(model[at:], prefix) {
			found, length = k, len(prefix)
		}
	}
	return found
}

// canStop reports whether the model can be kept from thinking.
func (k kin) canStop() bool { return !k.always || k.off != "" }

// plainName reports whether the API takes the name of a tool.
func plainName(name string) bool { return wire.PlainName(name, maxName) }

// maxName is the longest name of a tool, and nameForm describes a valid name.
const (
	maxName  = 128
	nameForm = "1 to 128 of A-Z a-z 0-9 _ -"
)
