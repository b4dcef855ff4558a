package run

import (
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A turn's record has the request that its model received, see package sent: the hash of
// the stable part, of which the thread has one record, and the rest that the log lacks.
// That record is put with the turn, unless the turn before names the same hash: then the
// thread has it. So the writes of a step follow from the log alone.
//
// The request is for people: no step reads it. If a store has no room for it, the turn is
// stored without it.

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
