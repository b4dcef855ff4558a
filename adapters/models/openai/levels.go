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

// narrow is a group of models that know fewer levels than their server does, and whose
// levels the catalog does not have.
type narrow struct {
	names  []string
	levels map[model.Effort]string // nil: the model refuses reasoning_effort
}

// noneAlone are the levels of models that do not reason. A level without a text is the
// model's default, so that nothing is sent.
var noneAlone = map[model.Effort]string{model.EffortNone: ""}

// narrowXAI are as xAI's guide to reasoning had them, and as its server refused them, in
// 2026-05.
var narrowXAI = []narrow{
	{[]string{
		"grok-4", "grok-4-0709", "grok-4-latest", "grok-4-fast", "grok-4-fast-reasoning", "grok-4-1-fast", "grok-4-1-fast-reasoning",
		"grok-4.20-reasoning", "grok-4.20-0309-reasoning", "grok-code-fast-1",
	}, nil},
	{[]string{"grok-3", "grok-4-fast-non-reasoning", "grok-4-1-fast-non-reasoning", "grok-4.20-non-reasoning", "grok-4.20-0309-non-reasoning"}, noneAlone},
}

// has reports whether a model is in the group: by its name, or by the name with the date
// of a version after it.
func (n narrow) has(name string) bool {
	return slices.ContainsFunc(n.names, func(known string) bool {
		version, ok := strings.CutPrefix(name, known)
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

// levelOf returns what the model of a request calls its effort, else what its server does; ""
// to send nothing. The error names what the model takes.
func levelOf(request model.Request, levels map[model.Effort]string, groups []narrow) (string, error) {
	if level, known := request.Level(); known {
		return level, nil
	}
	name, effort := request.Model, request.ReasoningEffort
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
