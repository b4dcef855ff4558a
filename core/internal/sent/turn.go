package sent

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// Turn returns the rest of a request of a run: what neither the log nor its prompt has.
// origin is the one that the request has unless a transform has changed it, and after are
// the messages after the conversation.
func Turn(r *model.Request, run core.ID, origin string, after []core.Message, reads bool, parts []thread.SentPart) thread.Sent {
	s := thread.Sent{
		MaxTokens: r.MaxTokens, Temperature: r.Temperature, TopP: r.TopP, Effort: string(r.ReasoningEffort),
		ToolMode: string(r.ToolChoice.Mode), ToolName: r.ToolChoice.Name, Reads: reads, Parts: parts,
	}
	if r.Origin != origin {
		s.Origin = r.Origin
	}
	if len(after) > 0 {
		s.After = withoutRun(after, run)
	}
	return s
}

// Parts returns what transforms made of messages: stretches of those that stay, and the
// others whole. nil: they stay as they are.
func Parts(given, made []core.Message) []thread.SentPart {
	if len(given) == len(made) {
		same := len(made) == 0 || &given[0] == &made[0]
		for i := 0; !same && i < len(made) && window.Same(&given[i], &made[i]); i++ {
			same = i == len(made)-1
		}
		if same {
			return nil
		}
	}
	parts, next := []thread.SentPart{}, 0
	for i := range made {
		at := next
		for at < len(given) && !window.Same(&given[at], &made[i]) {
			at++
		}
		if at == len(given) {
			parts = append(parts, thread.SentPart{Message: &made[i]})
			continue
		}
		next = at + 1
		if n := len(parts) - 1; n >= 0 && parts[n].Message == nil && parts[n].From+parts[n].Count == at {
			parts[n].Count++
			continue
		}
		parts = append(parts, thread.SentPart{From: at, Count: 1})
	}
	return parts
}

// transformed returns the messages that transforms made of the given ones.
func transformed(given []core.Message, parts []thread.SentPart) ([]core.Message, error) {
	if parts == nil {
		return given, nil
	}
	made := []core.Message{}
	for _, p := range parts {
		switch {
		case p.Message != nil:
			made = append(made, *p.Message)
		case p.From < 0 || p.Count < 0 || p.Count > len(given) || p.From > len(given)-p.Count:
			return nil, core.Errorf(core.CodeCorrupt, "a stored request names messages %d to %d of %d", p.From, p.From+p.Count, len(given))
		default:
			made = append(made, given[p.From:p.From+p.Count]...)
		}
	}
	return made, nil
}
