package openai_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

// spoken is the provider in a dialect, whose reasoning has the transcript of a name in
// testdata/dialects.
func spoken(dialect openai.Dialect, reasoning, echo string) modeltest.Provider {
	p := provider
	p.Echo, p.Exceptions = echo, maps.Clone(p.Exceptions)
	if reasoning != "" {
		p.Exceptions = nil
	}
	p.Open = func(t *testing.T, play string) modeltest.Opened {
		folder := "testdata/transcripts"
		if play == "reasoning" {
			folder, play = "testdata/dialects", reasoning
		}
		s := wiretest.Serve(t, folder, play)
		m, err := openai.New(openai.Options{APIKey: modeltest.Key, BaseURL: s.URL, Dialect: dialect})
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
	}
	return p
}

func TestDialectsKeepTheContract(t *testing.T) {
	deepseek := spoken(openai.DialectDeepSeek, "deepseek_reasoning", `"reasoning_content":"Let me think."`)
	openrouter := spoken(openai.DialectOpenRouter, "openrouter_reasoning", `"signature":"EqMDCkYIsigned","text":"Let me think."`)
	t.Run("deepseek", func(t *testing.T) { deepseek.Run(t) })
	t.Run("openrouter", func(t *testing.T) { openrouter.Run(t) })
	for _, tt := range []struct {
		name  string
		p     modeltest.Provider
		check func(string) error
	}{
		{"histories of DeepSeek", deepseek, checkDeepSeek},
		{"histories of OpenRouter", openrouter, wiretest.CheckChat},
		{"histories of Mistral", spoken(openai.DialectMistral, "", ""), checkMistral},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.p.Histories(t, tt.check) })
	}
}

// request is what the checks look at.
type request struct {
	Messages []struct {
		Role      string
		Content   any
		Reasoning string                `json:"reasoning_content"`
		Calls     []struct{ ID string } `json:"tool_calls"`
		CallID    string                `json:"tool_call_id"`
	}
	Thinking struct{ Type string }
	Choice   any `json:"tool_choice"`
}

func decode(body string) (r request, err error) {
	if err := wiretest.CheckChat(body); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(body), &r)
}

// checkDeepSeek knows the rules of the thinking mode.
func checkDeepSeek(body string) error {
	r, err := decode(body)
	if err != nil || r.Thinking.Type == "disabled" {
		return err
	}
	if r.Choice != nil {
		return fmt.Errorf("thinking mode does not support the tool choice %v", r.Choice)
	}
	for i, m := range r.Messages {
		if len(m.Calls) > 0 && m.Reasoning == "" {
			return fmt.Errorf("messages[%d]: the reasoning_content in the thinking mode must be passed back", i)
		}
	}
	return nil
}

var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// checkMistral knows who may speak after whom, and the form of ids.
func checkMistral(body string) error {
	r, err := decode(body)
	if err != nil {
		return err
	}
	after := map[string]string{"": "system user", "system": "system user assistant", "user": "user assistant", "assistant": "user assistant tool", "tool": "assistant tool"}
	before := ""
	for i, m := range r.Messages {
		if ok, _ := regexp.MatchString(`\b`+m.Role+`\b`, after[before]); !ok {
			return fmt.Errorf("messages[%d]: unexpected role %s after role %q", i, m.Role, before)
		}
		if m.CallID != "" && !nine.MatchString(m.CallID) {
			return fmt.Errorf("messages[%d]: tool call id was %s", i, m.CallID)
		}
		for _, c := range m.Calls {
			if !nine.MatchString(c.ID) {
				return fmt.Errorf("messages[%d]: tool call id was %s", i, c.ID)
			}
		}
		if m.Role == "assistant" && len(m.Calls) == 0 && m.Content == "" {
			return fmt.Errorf("messages[%d]: assistant message must have either content or tool_calls", i)
		}
		before = m.Role
	}
	if before != "user" && before != "tool" {
		return fmt.Errorf("expected last role user or tool but got %s", before)
	}
	return nil
}
