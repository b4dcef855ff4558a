package wiretest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// The checks of this file refuse the requests that providers refuse with 400: they report
// errors in the body of a request, by the providers' documented rules.

type object = map[string]any

func decode(body string) (object, error) {
	var o object
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object: %w", err)
	}
	return o, nil
}

func objects(v any) []object {
	list, _ := v.([]any)
	all := make([]object, 0, len(list))
	for _, item := range list {
		o, _ := item.(object)
		all = append(all, o)
	}
	return all
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func inner(o object, name string) object {
	i, _ := o[name].(object)
	return i
}

var idForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// ids keeps the call ids of a request: each is made once, and has one result.
type ids struct {
	used map[string]bool
	open []string
}

func (s *ids) call(id string) error {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	if !idForm.MatchString(id) || s.used[id] {
		return fmt.Errorf("the call id %q is not of the form or there twice", id)
	}
	s.used[id] = true
	s.open = append(s.open, id)
	return nil
}

func (s *ids) result(id string) error {
	for i, open := range s.open {
		if open == id {
			s.open = append(s.open[:i], s.open[i+1:]...)
			return nil
		}
	}
	return fmt.Errorf("the result of %q belongs to no open call", id)
}

func (s *ids) closed(at string) error {
	if len(s.open) > 0 {
		return fmt.Errorf("%s: calls %q have no result", at, s.open)
	}
	return nil
}

// arguments checks those of a call, a text that has to be the JSON of an object: vLLM,
// llama.cpp and the templates of many models parse it.
func arguments(call object) error {
	var read object
	if err := json.Unmarshal([]byte(text(call, "arguments")), &read); err != nil || read == nil {
		return fmt.Errorf("the arguments %v are not the text of a JSON object", call["arguments"])
	}
	return nil
}

// written checks the parts of a content, of which those of a kind are text.
func written(content any, kind string) error {
	for n, part := range objects(content) {
		if text(part, "type") == kind && text(part, "text") == "" {
			return fmt.Errorf("content[%d]: missing required parameter: text", n)
		}
	}
	return nil
}

// CheckChat checks a request of Chat Completions.
func CheckChat(body string) error {
	o, err := decode(body)
	if err != nil {
		return err
	}
	var calls ids
	for i, m := range objects(o["messages"]) {
		at := fmt.Sprintf("messages[%d]", i)
		role := text(m, "role")
		if role != "tool" {
			if err := calls.closed(at); err != nil {
				return err
			}
		}
		switch role {
		case "system", "developer", "user":
			if m["content"] == nil {
				return fmt.Errorf("%s has no content", at)
			}
			if err := written(m["content"], "text"); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		case "tool":
			if _, ok := m["content"].(string); !ok {
				return fmt.Errorf("%s: a result without a text", at)
			}
			if err := calls.result(text(m, "tool_call_id")); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		case "assistant":
			made := objects(m["tool_calls"])
			if m["content"] == nil && len(made) == 0 {
				return fmt.Errorf("%s has neither content nor calls", at)
			}
			for _, c := range made {
				if kind := text(c, "type"); kind != "function" {
					return fmt.Errorf("%s: a call of type %q", at, kind)
				}
				if err := arguments(inner(c, "function")); err != nil {
					return fmt.Errorf("%s: %w", at, err)
				}
				if err := calls.call(text(c, "id")); err != nil {
					return fmt.Errorf("%s: %w", at, err)
				}
			}
		default:
			return fmt.Errorf("%s has the role %q", at, role)
		}
	}
	return calls.closed("the end")
}

// CheckResponses checks a request of the Responses API that stores nothing.
func CheckResponses(body string) error {
	o, err := decode(body)
	if err != nil {
		return err
	}
	if stored, ok := o["store"].(bool); !ok || stored {
		return fmt.Errorf("store is %v, want false", o["store"])
	}
	var calls ids
	thinking := false
	for i, item := range objects(o["input"]) {
		at := fmt.Sprintf("input[%d]", i)
		kind := text(item, "type")
		if kind == "" && item["role"] != nil {
			kind = "message"
		}
		model := kind == "function_call" || kind == "reasoning" || kind == "message" && text(item, "role") == "assistant"
		if thinking && !model {
			return fmt.Errorf("%s: reasoning was provided without its required following item", at)
		}
		thinking = kind == "reasoning"
		switch kind {
		case "message":
			if err := calls.closed(at); err != nil {
				return err
			}
			if s, ok := item["content"].(string); !ok && len(objects(item["content"])) == 0 || ok && s == "" && model {
				return fmt.Errorf("%s has no content", at)
			}
			if err := written(item["content"], "input_text"); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		case "reasoning":
			if text(item, "encrypted_content") == "" {
				return fmt.Errorf("%s: reasoning without encrypted_content cannot be found", at)
			}
			if _, ok := item["summary"].([]any); !ok {
				return fmt.Errorf("%s: reasoning without a summary", at)
			}
		case "function_call":
			if err := arguments(item); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			if err := calls.call(text(item, "call_id")); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		case "function_call_output":
			if _, ok := item["output"].(string); !ok && len(objects(item["output"])) == 0 {
				return fmt.Errorf("%s: a result without a text and without parts", at)
			}
			if err := calls.result(text(item, "call_id")); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		default:
			return fmt.Errorf("%s has the type %q", at, kind)
		}
	}
	if thinking {
		return fmt.Errorf("the input ends with reasoning")
	}
	return calls.closed("the end")
}

// CheckGemini checks a request of generateContent. If signed is true, the model requires
// signatures on the calls of the current turn, as Gemini 3 does.
func CheckGemini(signed bool) func(body string) error {
	return func(body string) error {
		o, err := decode(body)
		if err != nil {
			return err
		}
		contents := objects(o["contents"])
		current := 0 // after the last message of a user
		for i, c := range contents {
			for _, part := range objects(c["parts"]) {
				if text(c, "role") == "user" && part["functionResponse"] == nil {
					current = i
				}
			}
		}
		before, open := "", []string(nil)
		for i, c := range contents {
			at := fmt.Sprintf("contents[%d]", i)
			role, parts := text(c, "role"), objects(c["parts"])
			if role == before || role != "user" && role != "model" || i == 0 && role != "user" {
				return fmt.Errorf("%s has the role %q after %q", at, role, before)
			}
			before = role
			if len(parts) == 0 {
				return fmt.Errorf("%s has no parts", at)
			}
			var made, results []string
			for n, part := range parts {
				switch {
				case part["functionCall"] != nil:
					call := inner(part, "functionCall")
					if _, ok := call["args"].(object); call["args"] != nil && !ok {
						return fmt.Errorf("%s.parts[%d]: arguments are not an object", at, n)
					}
					if signed && i > current && len(made) == 0 && text(part, "thoughtSignature") == "" {
						return fmt.Errorf("%s.parts[%d]: function call is missing a thought_signature", at, n)
					}
					made = append(made, text(call, "name"))
				case part["functionResponse"] != nil:
					response := inner(part, "functionResponse")
					if _, ok := response["response"].(object); !ok {
						return fmt.Errorf("%s.parts[%d]: the response is not an object", at, n)
					}
					results = append(results, text(response, "name"))
				case part["text"] != nil:
					if text(part, "text") == "" && text(part, "thoughtSignature") == "" {
						return fmt.Errorf("%s.parts[%d] is empty", at, n)
					}
				case part["inlineData"] == nil && part["fileData"] == nil:
					return fmt.Errorf("%s.parts[%d] has no data", at, n)
				}
			}
			if strings.Join(results, ",") != strings.Join(open, ",") {
				return fmt.Errorf("%s has the responses %q, the calls before were %q", at, results, open)
			}
			if open = made; role == "user" && len(made) > 0 {
				return fmt.Errorf("%s: a user calls", at)
			}
		}
		if len(open) > 0 || before != "user" {
			return fmt.Errorf("the conversation ends with %q and the calls %q", before, open)
		}
		return nil
	}
}
