package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core/secret"
)

type provider struct {
	Name string        `json:"name"`
	Key  secret.String `json:"key,omitzero"`
	own  secret.String
}

func TestASecretIsShownAsStars(t *testing.T) {
	key := secret.New("sk-hunter2")
	tests := []struct{ verb, want string }{
		{"%v", "***"}, {"%+v", "***"}, {"%#v", "***"}, {"%s", "***"}, {"%q", "***"}, {"%x", "***"}, {"%d", "***"},
	}
	for _, test := range tests {
		if got := fmt.Sprintf(test.verb, key); got != test.want {
			t.Errorf("%s prints %q, want %q", test.verb, got, test.want)
		}
		if got := fmt.Sprintf(test.verb, secret.String{}); got != "" {
			t.Errorf("%s prints %q of no secret", test.verb, got)
		}
	}
	text, err := json.Marshal(map[string]any{"p": provider{Name: "n", Key: key}, "none": provider{}})
	if want := `{"none":{"name":""},"p":{"name":"n","key":"***"}}`; err != nil || string(text) != want {
		t.Errorf("encodes as %s, %v, want %s", text, err, want)
	}
	if text, err := json.Marshal(map[secret.String]int{}); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestNoLogAndNoFormatShowsASecret(t *testing.T) {
	p := provider{Name: "n", Key: secret.New("sk-hunter2"), own: secret.New("sk-hunter2")}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v %+v %#v %v %v", p, p, p, &p, []provider{p})
	fmt.Fprint(&out, p, p.own, map[string]provider{"p": p}, fmt.Errorf("with %v", p))
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("m", "key", p.Key, "provider", p, "pointer", &p)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("the secret is in\n%s", out.String())
	}
	if strings.Count(out.String(), "***") < 8 {
		t.Errorf("want the stars in\n%s", out.String())
	}
}

func TestASecretIsReadFromAString(t *testing.T) {
	tests := []struct{ name, text, want, err string }{
		{"a string", `"sk-1"`, "sk-1", ""},
		{"nothing", `""`, "", ""},
		{"null", `null`, "", ""},
		{"a number", `12345`, "", "a secret is a string"},
		{"what it shows itself as", `"***"`, "", "*** replaces a redacted secret and is not one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got secret.String
			err := json.Unmarshal([]byte(test.text), &got)
			if fmt.Sprint(err) != test.err && (err != nil || test.err != "") {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if got.Reveal() != test.want || got.IsZero() != (test.want == "") {
				t.Errorf("got %q, want %q", got.Reveal(), test.want)
			}
		})
	}
}

func TestSecretsOfOneTextAreEqual(t *testing.T) {
	a, b := secret.New("x"), secret.New("x")
	if !a.Equal(b) || a.Equal(secret.New("y")) || a.Equal(secret.String{}) || !(secret.String{}).Equal(secret.New("")) {
		t.Error("Equal is wrong")
	}
}
