package wiretest

import (
	"fmt"
	"strings"
)

// The Messages API of Anthropic and Converse of Bedrock have the same rules in other
// words: messages of blocks.

// dialect describes how an API spells its blocks.
type dialect struct {
	kind    func(block object) string // text, call, result, thinking, mark, or another
	id      func(block object) string // of a call or result
	input   func(block object) any
	marked  func(block object) bool // the block has a cache mark
	written func(block object) string
}

var anthropic = dialect{
	kind: func(b object) string {
		switch text(b, "type") {
		case "tool_use":
			return "call"
		case "tool_result":
			return "result"
		case "thinking", "redacted_thinking":
			return "thinking"
		}
		return text(b, "type")
	},
	id: func(b object) string {
		if id := text(b, "id"); id != "" {
			return id
		}
		return text(b, "tool_use_id")
	},
	input:   func(b object) any { return b["input"] },
	marked:  func(b object) bool { return b["cache_control"] != nil },
	written: func(b object) string { return text(b, "text") },
}

var converse = dialect{
	kind: func(b object) string {
		for wire, kind := range map[string]string{"text": "text", "toolUse": "call", "toolResult": "result", "reasoningContent": "thinking", "cachePoint": "mark"} {
			if b[wire] != nil {
				return kind
			}
		}
		return "other"
	},
	id: func(b object) string {
		if call := inner(b, "toolUse"); call != nil {
			return text(call, "toolUseId")
		}
		return text(inner(b, "toolResult"), "toolUseId")
	},
	input:   func(b object) any { return inner(b, "toolUse")["input"] },
	marked:  func(object) bool { return false },
	written: func(b object) string { return text(b, "text") },
}

// CheckAnthropic checks a request of the Messages API. A choice may be forced together
// with adaptive thinking, as models before 5.5 allow it.
func CheckAnthropic(body string) error {
	o, err := decode(body)
	if err != nil {
		return err
	}
	thinking := inner(o, "thinking")
	thinks := thinking != nil && text(thinking, "type") != "disabled"
	limit, _ := o["max_tokens"].(float64)
	if budget, ok := thinking["budget_tokens"].(float64); limit < 1 || ok && (budget < 1024 || budget >= limit) {
		return fmt.Errorf("max_tokens is %v, the budget of thinking %v", o["max_tokens"], thinking["budget_tokens"])
	}
	if choice := text(inner(o, "tool_choice"), "type"); text(thinking, "type") == "enabled" && (choice == "any" || choice == "tool") {
		return fmt.Errorf("thinking may not be enabled when tool_choice forces tool use")
	}
	if t, ok := o["temperature"].(float64); thinks && ok && t != 1 {
		return fmt.Errorf("temperature is %v while thinking", t)
	}
	marks := 0
	for _, list := range []any{o["system"], o["tools"]} {
		for _, b := range objects(list) {
			if b["cache_control"] != nil {
				marks++
			}
		}
	}
	return anthropic.check(objects(o["messages"]), text(thinking, "type") == "enabled", marks)
}

// CheckConverse checks a request of ConverseStream.
func CheckConverse(body string) error {
	o, err := decode(body)
	if err != nil {
		return err
	}
	marks := 0
	for _, list := range []any{o["system"], inner(o, "toolConfig")["tools"]} {
		for _, b := range objects(list) {
			if b["cachePoint"] != nil {
				marks++
			}
		}
	}
	thinking := inner(inner(o, "additionalModelRequestFields"), "thinking")
	return converse.check(objects(o["messages"]), text(thinking, "type") == "enabled", marks)
}

// check checks messages of a model that thinks within a budget if budgeted, and the marks
// for the cache, of which there are so many outside of them.
func (d dialect) check(messages []object, budgeted bool, marks int) error {
	var calls ids
	before := ""
	for i, m := range messages {
		at := fmt.Sprintf("messages[%d]", i)
		role, content := text(m, "role"), objects(m["content"])
		if s, ok := m["content"].(string); ok {
			content = []object{{"type": "text", "text": s}}
		}
		if role != "user" && role != "assistant" || role == before || i == 0 && role != "user" {
			return fmt.Errorf("%s has the role %q after %q", at, role, before)
		}
		before = role
		if len(content) == 0 {
			return fmt.Errorf("%s is empty", at)
		}
		n, err := d.message(at, role, content, &calls)
		if err != nil {
			return err
		}
		marks += n
		if role == "user" {
			if err := calls.closed(at); err != nil {
				return err
			}
		}
	}
	if err := calls.closed("the end"); err != nil {
		return err
	}
	if marks > 4 {
		return fmt.Errorf("%d marks for the cache, at most 4 are allowed", marks)
	}
	if before != "user" {
		return fmt.Errorf("the conversation ends with %q", before)
	}
	if budgeted {
		return d.openLoop(messages)
	}
	return nil
}

// message checks the blocks of a message, and returns how many marks for the cache it has.
func (d dialect) message(at, role string, content []object, calls *ids) (marks int, err error) {
	others := false // blocks that are not results
	for n, b := range content {
		here := fmt.Sprintf("%s.content[%d]", at, n)
		kind := d.kind(b)
		if d.marked(b) || kind == "mark" {
			marks++
		}
		switch kind {
		case "text":
			if strings.TrimSpace(d.written(b)) == "" {
				err = fmt.Errorf("%s: text content blocks must contain non-whitespace text", here)
			}
		case "call":
			if _, ok := d.input(b).(object); !ok || role != "assistant" {
				err = fmt.Errorf("%s: a call of %s with the input %v", here, role, d.input(b))
			} else if err = calls.call(d.id(b)); err != nil {
				err = fmt.Errorf("%s: %w", here, err)
			}
		case "result":
			if others || role != "user" {
				err = fmt.Errorf("%s: results come first in the user's message", here)
			} else if err = calls.result(d.id(b)); err != nil {
				err = fmt.Errorf("%s: %w", here, err)
			}
		case "thinking":
			if role != "assistant" || d.marked(b) {
				err = fmt.Errorf("%s: thinking of %s, or marked for the cache", here, role)
			}
		}
		if err != nil {
			return marks, err
		}
		others = others || kind != "result" && kind != "mark"
	}
	return marks, nil
}

// openLoop checks that a model that thinks within a budget finds its thoughts at the
// start of the tool loop that it is in; adaptive thinking has no such rule. The body does
// not show whether text after results is from a user, which ends the loop, or from a
// plugin, which does not. So the loop may have started on either side of it.
func (d dialect) openLoop(messages []object) error {
	last := len(messages) - 1
	open, _ := d.answers(messages[last])
	if !open {
		return nil
	}
	for i := last - 1; open; i -= 2 {
		var more bool
		open, more = d.answers(messages[i-1])
		if turn := objects(messages[i]["content"]); (!open || more) && d.kind(turn[0]) == "thinking" {
			return nil
		}
	}
	return fmt.Errorf("messages[%d]: a final assistant message must start with a thinking block while thinking is enabled", last-1)
}

// answers reports whether a message has results, and whether it has more than them.
func (d dialect) answers(message object) (results, more bool) {
	for _, b := range objects(message["content"]) {
		kind := d.kind(b)
		results = results || kind == "result"
		more = more || kind != "result" && kind != "mark"
	}
	return results, more
}
