package scripted

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// prompt is the argument of the tool of a delegate.
type prompt struct {
	Prompt string `json:"prompt"`
}

// team calls the tool of each delegate that the list names, all in one step, and then says
// their responses, one a line.
func (s *script) team(list string) error {
	var names, prompts []string
	for part := range strings.SplitSeq(list, "|") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, rest := part, ""
		if i := strings.IndexAny(part, " \t\r\n"); i >= 0 {
			name, rest = part[:i], strings.TrimSpace(part[i:])
		}
		names, prompts = append(names, name), append(prompts, rest)
	}
	switch {
	case len(names) == 0:
		return s.say("team takes an agent and a prompt, or several: team: NAME PROMPT | NAME PROMPT")
	case len(s.results) > 0:
		return s.say(responses(names, s.results))
	}
	for i, name := range names {
		arguments, err := encode(prompt{prompts[i]})
		if err != nil {
			return err
		}
		s.start(i, "agent_run_"+name, arguments)
	}
	s.usage.Output = len(names)
	return s.stop(core.StopToolUse)
}

// responses are what the agents have responded, one a line, in the order of their calls.
func responses(names []string, results []core.ToolResult) string {
	lines := make([]string, 0, len(names))
	for i, r := range results[:min(len(results), len(names))] {
		lines = append(lines, names[i]+": "+response(r))
	}
	return strings.Join(lines, "\n")
}

// response is the member response of the data of a result, or the result as people read it.
func response(r core.ToolResult) string {
	var answer struct{ Response *string }
	if json.Unmarshal(r.Data, &answer) == nil && answer.Response != nil {
		return *answer.Response
	}
	return output(r)
}
