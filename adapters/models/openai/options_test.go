package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
)

func TestOptionsAreChecked(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    string // of the error; "" none
	}{
		{"zero", Options{}, ""},
		{"trailing slash", Options{BaseURL: "http://127.0.0.1:8080/v1/"}, ""},
		{"no scheme", Options{BaseURL: "localhost:8080/v1"}, `openai: base URL "localhost:8080/v1" is not an absolute http or https URL`},
		{"no host", Options{BaseURL: "https:///v1"}, `openai: base URL "https:///v1" is not an absolute http or https URL`},
		{"other scheme", Options{BaseURL: "ftp://u:secret@x/v1"}, `openai: base URL "ftp://u:xxxxx@x/v1" is not an absolute http or https URL`},
		{"no URL", Options{BaseURL: "http://u:secret@x:y/"}, "openai: base URL is not a URL"},
		{"query", Options{BaseURL: "https://x/v1?a=b"}, "openai: base URL has a user, a query or a fragment; it may have a path only"},
		{"user", Options{BaseURL: "https://u:secret@x/v1"}, "openai: base URL has a user, a query or a fragment; it may have a path only"},
		{"key with a line end", Options{APIKey: testKey + "\n"}, "openai: API key has a space, a line end or another character that a header cannot carry"},
		{"organization with a space", Options{Organization: "a b"}, "openai: organization has a space, a line end or another character that a header cannot carry"},
		{"negative timeout", Options{IdleTimeout: -time.Second}, "openai: idle timeout -1s is negative"},
		{"dialect", Options{Dialect: "klingon"}, `openai: dialect "klingon" is unknown, allowed are azure, compatible, deepseek, groq, llamacpp, mistral, ollama, openai, openrouter, vllm, xai, zai`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := openChat(test.options)
			got := ""
			if err != nil {
				got = err.Error()
				if core.CodeOf(err) != core.CodeInvalid {
					t.Errorf("code %q, want invalid", core.CodeOf(err))
				}
			}
			if got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	tests := []struct {
		name     string
		options  Options
		endpoint string
		dialect  Dialect
	}{
		{"OpenAI", Options{}, "https://api.openai.com/v1/chat/completions", DialectOpenAI},
		{"OpenAI in a region", Options{BaseURL: "https://eu.api.openai.com/v1"}, "https://eu.api.openai.com/v1/chat/completions", DialectOpenAI},
		{"a host that only ends so", Options{BaseURL: "https://myapi.openai.com.example/v1"}, "https://myapi.openai.com.example/v1/chat/completions", DialectCompatible},
		{"Azure", Options{BaseURL: "https://me.openai.azure.com/openai/v1/"}, "https://me.openai.azure.com/openai/v1/chat/completions", DialectAzure},
		{"Groq", Options{BaseURL: "https://api.groq.com/openai/v1"}, "https://api.groq.com/openai/v1/chat/completions", DialectGroq},
		{"OpenRouter", Options{BaseURL: "https://openrouter.ai/api/v1"}, "https://openrouter.ai/api/v1/chat/completions", DialectOpenRouter},
		{"DeepSeek", Options{BaseURL: "https://api.deepseek.com"}, "https://api.deepseek.com/chat/completions", DialectDeepSeek},
		{"Z.ai", Options{BaseURL: "https://api.z.ai/api/paas/v4"}, "https://api.z.ai/api/paas/v4/chat/completions", DialectZAI},
		{"xAI", Options{BaseURL: "https://api.x.ai/v1"}, "https://api.x.ai/v1/chat/completions", DialectXAI},
		{"Mistral", Options{BaseURL: "https://api.mistral.ai/v1"}, "https://api.mistral.ai/v1/chat/completions", DialectMistral},
		{"another", Options{BaseURL: "http://localhost:11434/v1"}, "http://localhost:11434/v1/chat/completions", DialectCompatible},
		{"said", Options{BaseURL: "http://localhost:11434/v1", Dialect: DialectOllama}, "http://localhost:11434/v1/chat/completions", DialectOllama},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := openChat(test.options)
			if err != nil {
				t.Fatal(err)
			}
			if m.endpoint != test.endpoint || m.dialect != test.dialect || m.client.Idle != 60*time.Second || m.client.HTTP.Timeout != 0 {
				t.Errorf("endpoint %q, dialect %q, idle %v, timeout %v", m.endpoint, m.dialect, m.client.Idle, m.client.HTTP.Timeout)
			}
		})
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	options := Options{APIKey: testKey}
	m, err := openChat(options)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "options", options, "pointer", &options)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "options", options, "model", m)
	encoded, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	printed := log.String() + string(encoded)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{options, &options, []Options{options}, m, *m, struct{ m *chatProvider }{m}, struct{ M chatProvider }{*m}} {
			printed += fmt.Sprintf(verb, value)
		}
	}
	if strings.Contains(printed, testKey) || strings.Contains(printed, fmt.Sprintf("%x", testKey)) {
		t.Error("the key is in: " + printed)
	}
	if got, want := fmt.Sprint(options), "{APIKey:*** BaseURL: Organization: Dialect: IdleTimeout:0s}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
