package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// The prompt tells what the record of a turn keeps of the newest request, see
// sentrecord.go: it made that request, and knows which of its messages are the thread's.

// stable is the part of a request that has a separate record.
func (p *prompt) stable(request *model.Request) sent.Prompt {
	room := p.base.agent.Room()
	return sent.PromptOf(request, p.beside.before, room.Request, room.PerByte)
}

// rest is the part of the newest request that its turn's record has.
func (p *prompt) rest(request *model.Request, origin string) thread.Sent {
	reads := p.base.agent.Reads && window.Shortens(p.shown, *p.window)
	return sent.Turn(request, p.holder.id, origin, p.after(), reads, p.parts)
}

// after are the messages of the newest request after the conversation.
func (p *prompt) after() []core.Message {
	if len(p.said) == 0 {
		return p.beside.behind
	}
	return append(p.said[:len(p.said):len(p.said)], p.beside.behind...)
}
