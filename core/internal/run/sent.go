package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// A turn's record has the request that its model received, see package sent: the hash of
// the stable part, of which the thread has one record, and the rest that the log lacks.
// That record is put with the turn, unless the turn before names the same hash: then the
// thread has it. So the writes of a step follow from the log alone.
//
// The request is for people: no step reads it. If a store has no room for it, the turn is
// stored without it.

// noteSent adds the request to the entry of the turn that answers it.
func (m *machine) noteSent(entry *thread.Entry) {
	request, origin := m.unsaid.Request()
	prompt := m.prompt.stable(request)
	known := m.draft.past.Sent
	if known == nil || !known.Same(&prompt) {
		known = m.holder.s.prompts.Find(m.base.agent.Spec.ID, prompt)
	}
	if err := m.draft.addSent(entry, m.holder.records, known, m.prompt.rest(request, origin)); err != nil {
		m.draft.prompts, entry.Prompt, entry.Sent = nil, "", &thread.Sent{Missing: thread.SentNotEncoded}
	}
}

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

// addSent sets the fields of an entry that are about its request, and adds the records
// that the thread lacks. The error means that a part of the request has no stored form.
func (d *draft) addSent(entry *thread.Entry, codec thread.Records, prompt *sent.Prompt, rest thread.Sent) error {
	payload, hash, err := prompt.Encode(codec)
	switch {
	case err != nil:
		return err
	case len(payload) > thread.MaxSent:
		entry.Sent = &thread.Sent{Missing: thread.SentTooLarge}
		return nil
	case hash != d.past.Prompt:
		d.addPrompt(hash, payload)
	}
	d.asked = prompt
	if entry.Prompt = hash; rest.IsZero() {
		return nil
	}
	kept := rest
	entry.Sent = &kept
	if len(rest.After) == 0 && rest.Parts == nil { // a few numbers
		return nil
	}
	payload, hash, err = codec.EncodeSent(&kept)
	switch {
	case err != nil:
		return err
	case len(payload) > thread.MaxSent:
		d.prompts, entry.Prompt, entry.Sent = nil, "", &thread.Sent{Missing: thread.SentTooLarge}
	case len(payload) > thread.MaxSentInline:
		d.addPrompt(hash, payload)
		entry.Sent = &thread.Sent{Stored: hash}
	}
	return nil
}

func (d *draft) addPrompt(hash string, payload []byte) {
	d.prompts = append(d.prompts, store.Record{Name: recordname.Prompt(hash), Payload: payload})
}

// dropSent takes the request out of the draft, for a store that has no room for it. It
// reports whether there was one.
func (d *draft) dropSent() bool {
	for i := range d.entries {
		if e := &d.entries[i]; e.Prompt != "" {
			d.prompts, e.Prompt, e.Sent = nil, "", nil // not even a reason: there may be no room
			return true
		}
	}
	return false
}
