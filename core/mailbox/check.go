package mailbox

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// Check validates a submission before anything is stored.
func (s Submission) Check() error {
	if err := s.Thread.Check(); err != nil {
		return err
	}
	if s.User != "" {
		if err := core.CheckName("user", s.User); err != nil {
			return err
		}
	}
	// Before the messages: a Retake may leave them out, and completes them later.
	if s.Opening.Retake != nil {
		if err := s.Opening.Retake.check(s); err != nil {
			return err
		}
	}
	if s.Opening.AgentID == "" && s.Opening.Retake == nil {
		return core.Errorf(core.CodeInvalid, "agent id is empty")
	}
	if s.Opening.Retake == nil || s.Messages != nil {
		if err := checkMessages(s.Messages); err != nil {
			return err
		}
	}
	if err := checkRequest(s.Opening.Request); err != nil {
		return err
	}
	if err := s.Opening.Frontend.Check(); err != nil {
		return err
	}
	if err := s.Mode.Check(); err != nil {
		return err
	}
	if s.Origin == core.OriginInternal && s.Mode != "" && s.Mode != ModeQueue {
		return core.Errorf(core.CodeInvalid, "mode %q of internal input, allowed is queue", string(s.Mode))
	}
	if err := s.Origin.Check(); err != nil {
		return err
	}
	if err := s.Opening.Parent.check(s.Mode); err != nil {
		return err
	}
	if s.Opening.Fixed != nil && s.Opening.Parent == nil {
		return core.Errorf(core.CodeInvalid, "an id of the run is given, which only a child run may have")
	}
	return s.Opening.checkDelay(s.Mode)
}

// checkDelay checks what needs no clock; see [Opening.start]. mode is the submission's.
func (o Opening) checkDelay(mode Mode) error {
	delayed := o.AvailableAt != 0 || o.Delay != 0
	switch {
	case o.AvailableAt < 0:
		return core.Errorf(core.CodeInvalid, "available_at is %d, allowed are unix milliseconds from 0 on", o.AvailableAt)
	case o.Delay < 0 || o.Delay > maxDelay:
		return core.Errorf(core.CodeInvalid, "delay of %s, allowed are 0 to %s", o.Delay, maxDelay)
	case o.AvailableAt != 0 && o.Delay != 0:
		return core.Errorf(core.CodeInvalid, "both available_at and a delay are given, at most one is allowed")
	case delayed && (mode == ModeSteer || mode == ModeInterrupt):
		return core.Errorf(core.CodeInvalid, "input of mode %s cannot be delayed, only queue and reject can", mode)
	case delayed && o.Parent != nil:
		return core.Errorf(core.CodeInvalid, "a child run cannot be delayed: its parent waits for it")
	}
	return nil
}

// checkRequest validates what a caller sends along for hooks and tools: its size and that
// it is JSON. It is stored as it is, and not interpreted.
func checkRequest(request json.RawMessage) error {
	switch {
	case len(request) > maxRequest:
		return fmt.Errorf("%w: it has %d", errRequestTooLarge, len(request))
	case request != nil && !(json.Valid(request) && utf8.Valid(request)): // json.Valid lets every byte pass inside a string
		return core.Errorf(core.CodeInvalid, "request is not JSON")
	}
	return nil
}

// checkMessages validates messages that a user submits or edits. The error names the
// message by its index. Ids may be empty; inputRecord fills them in.
func checkMessages(messages []core.Message) error {
	if len(messages) == 0 {
		return core.Errorf(core.CodeInvalid, "messages are empty, at least one is required")
	}
	total := 0
	for i, m := range messages {
		size := messageSize(m)
		if total += size; size > maxMessage {
			return fmt.Errorf("messages[%d] has %d bytes: %w", i, size, errMessageTooLarge)
		}
		if m.Role != core.RoleUser {
			return core.Errorf(core.CodeInvalid, "messages[%d]: role %q, only user messages can be submitted", i, core.Excerpt(string(m.Role)))
		}
		if err := checkContent(i, m.Content); err != nil {
			return err
		}
		if m.ID != "" {
			if err := core.CheckName("id", m.ID); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
		}
	}
	if total > maxInput {
		return fmt.Errorf("messages have %d bytes: %w", total, errInputTooLarge)
	}
	return nil
}

// messageSize returns the bytes of a message's texts and files, with data in base64 as in
// its record.
func messageSize(m core.Message) (size int) {
	for _, b := range m.Content {
		size += len(b.Text) + base64.StdEncoding.EncodedLen(len(b.Data)) + len(b.URL) + len(b.MediaType) + len(b.Filename)
	}
	return size
}

// checkContent wants a text or a file, and nothing that only a model says.
// message is the number of its message, for errors.
func checkContent(message int, content []core.Block) error {
	something := false
	for i, b := range content {
		switch b.Type {
		case core.BlockText:
			something = something || !core.Blank(b.Text)
		case core.BlockFile:
			if err := b.CheckFile(fmt.Sprintf("messages[%d].content[%d]", message, i)); err != nil {
				return err
			}
			something = true
		default:
			return core.Errorf(core.CodeInvalid, "messages[%d].content[%d]: type %q, allowed are text and file", message, i, core.Excerpt(string(b.Type)))
		}
	}
	if !something {
		return core.Errorf(core.CodeInvalid, "messages[%d].content has no text and no file", message)
	}
	return nil
}
