package openai

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// narrow is a group of models that know fewer levels than their server does. Other models
// get every level of the server: for most of them the refused levels are not known.
type narrow struct {
	names  []string
	levels map[model.Effort]string // nil: the model refuses reasoning_effort
}

// The levels of narrow models. A level without a text is the model's default, so that
// nothing is sent.
var (
	someLevels = map[model.Effort]string{model.EffortLow: "low", model.EffortMedium: "medium", model.EffortHigh: "high", model.EffortMax: "high"}
	noneAlone  = map[model.Effort]string{model.EffortNone: ""}
)

// The groups by their server. OpenAI's are as its reference has reasoning_effort: models
// before gpt-5.1 know no "none", and "xhigh" came after gpt-5.1. xAI's are as its guide to
// reasoning had them, and as its server refused them, in 2026-05.
var (
	narrowOpenAI = []narrow{
		{[]string{"gpt-5", "gpt-5-mini", "gpt-5-nano", "o1", "o3", "o3-mini", "o4-mini"}, someLevels},
		{[]string{"gpt-5.1"}, allLevels},
	}
	narrowGroq = []narrow{
		{[]string{"openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-safeguard-20b"}, someLevels},
	}
	narrowXAI = []narrow{
		{[]string{
			"grok-4", "grok-4-0709", "grok-4-latest", "grok-4-fast", "grok-4-fast-reasoning", "grok-4-1-fast", "grok-4-1-fast-reasoning",
			"grok-4.20-reasoning", "grok-4.20-0309-reasoning", "grok-code-fast-1",
		}, nil},
		{[]string{"grok-3", "grok-4-fast-non-reasoning", "grok-4-1-fast-non-reasoning", "grok-4.20-non-reasoning", "grok-4.20-0309-non-reasoning"}, noneAlone},
	}
)

// has reports whether a model is in the group: by its name, or by the name with the date
// of a version after it.
func (n narrow) has(name string) bool {
	return slices.ContainsFunc(n.names, func(known string) bool {
		version, ok := strings.CutPrefix(base(name), known)
		if !ok || version == "" {
			return ok
		}
		_, err := time.Parse("-2006-01-02", version)
		return err == nil
	})
}

// base is the name of the model that a fine-tuned one was made of, ft:NAME:OWNER and more;
// of any other its own.
func base(name string) string {
	tuned, ok := strings.CutPrefix(name, "ft:")
	if !ok {
		return name
	}
	name, _, _ = strings.Cut(tuned, ":")
	return name
}

// levelOf returns what a server calls an effort, "" to send nothing, when it knows levels
// and some of its models are narrow. The error names what the model takes.
func levelOf(name string, effort model.Effort, levels map[model.Effort]string, groups []narrow) (string, error) {
	if i := slices.IndexFunc(groups, func(n narrow) bool { return n.has(name) }); i >= 0 {
		return groups[i].level(name, effort)
	}
	level, known := levels[effort]
	if !known {
		return "", invalid(fmt.Sprintf("reasoning effort %q is not supported by this API, which has levels", core.Excerpt(string(effort))))
	}
	return level, nil
}

// level is what the models of the group call an effort.
func (n narrow) level(name string, effort model.Effort) (string, error) {
	if level, known := n.levels[effort]; known {
		return level, nil
	}
	var allowed []string
	for _, e := range []model.Effort{model.EffortNone, model.EffortLow, model.EffortMedium, model.EffortHigh, model.EffortMax} {
		if _, known := n.levels[e]; known {
			allowed = append(allowed, fmt.Sprintf("%q", e))
		}
	}
	takes := cmp.Or(strings.Join(allowed, ", "), "no reasoning_effort: leave it out")
	return "", invalid(fmt.Sprintf("reasoning_effort is %q, the model %q takes %s", core.Excerpt(string(effort)), core.Excerpt(name), takes))
}
