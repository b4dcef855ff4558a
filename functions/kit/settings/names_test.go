package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnUnknownNameHasTheClosestKnownOne(t *testing.T) {
	known := []string{"REVEILLE_ADDR", "REVEILLE_AUTH", "REVEILLE_MODEL", "REVEILLE_MODEL_BASE_URL", "REVEILLE_TENANT", "REVEILLE_TENANTS", "AWS_REGION"}
	const list = ", known are: REVEILLE_ADDR, REVEILLE_AUTH, REVEILLE_MODEL, REVEILLE_MODEL_BASE_URL, REVEILLE_TENANT, REVEILLE_TENANTS"
	tests := []struct {
		name  string
		given map[string]string
		want  string
	}{
		{"known names", map[string]string{"REVEILLE_ADDR": ":1", "OTHER": "x"}, ""},
		{"a missing letter", map[string]string{"REVEILLE_ADR": ":1"}, "unknown environment variable REVEILLE_ADR (did you mean REVEILLE_ADDR?)" + list},
		{"swapped letters", map[string]string{"REVEILLE_MODLE": "m"}, "unknown environment variable REVEILLE_MODLE (did you mean REVEILLE_MODEL?)" + list},
		{"a missing underscore", map[string]string{"REVEILLE_MODEL_BASEURL": "u"}, "unknown environment variable REVEILLE_MODEL_BASEURL (did you mean REVEILLE_MODEL_BASE_URL?)" + list},
		{"another name", map[string]string{"REVEILLE_COLOUR": "red"}, "unknown environment variable REVEILLE_COLOUR" + list},
		{"two letters", map[string]string{"REVEILLE_ADDRES": ":1"}, "unknown environment variable REVEILLE_ADDRES (did you mean REVEILLE_ADDR?)" + list},
		{"three letters", map[string]string{"REVEILLE_ADRESS": ":1"}, "unknown environment variable REVEILLE_ADRESS" + list},
		{"four letters of a long name", map[string]string{"REVEILLE_MODEL_BZZZ_ZRL": "u"}, "unknown environment variable REVEILLE_MODEL_BZZZ_ZRL (did you mean REVEILLE_MODEL_BASE_URL?)" + list},
		{"five letters of a long name", map[string]string{"REVEILLE_MODEL_BZZZ_ZZL": "u"}, "unknown environment variable REVEILLE_MODEL_BZZZ_ZZL" + list},
		{"many names", map[string]string{"REVEILLE_PEAR": "u", "REVEILLE_FIG": "u", "REVEILLE_KIWI": "u", "REVEILLE_LIME": "u", "REVEILLE_PLUM": "u", "REVEILLE_GUAVA": "u"},
			"unknown environment variable REVEILLE_FIG, REVEILLE_GUAVA, REVEILLE_KIWI, REVEILLE_LIME, REVEILLE_PEAR, REVEILLE_PLUM" + list},
		{"two names", map[string]string{"REVEILLE_TENANTZ": "a", "REVEILLE_ADDRESS": ":1"}, "unknown environment variable REVEILLE_ADDRESS, REVEILLE_TENANTZ (did you mean REVEILLE_TENANT?)" + list},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := checkNames(test.given, known); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "ab", 2},
		{"ADDR", "ADDR", 0},
		{"ADR", "ADDR", 1},
		{"ADDRS", "ADDR", 1},
		{"ADXR", "ADDR", 1},
		{"DADR", "ADDR", 1},
		{"MODEL", "MDOLE", 2},
		{"ABC", "XYZ", 3},
	}
	for _, test := range tests {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.b, test.a, got, test.want)
		}
	}
}

func TestNamesLikeThoseOfKeysAreFound(t *testing.T) {
	tests := []struct{ name, pair, want string }{
		{"an underscore too many", "OPEN_AI_KEY=k", "OPENAI_API_KEY"},
		{"an underscore too few", "OPENAI_APIKEY=k", "OPENAI_API_KEY"},
		{"without API", "ANTHROPIC_KEY=k", "ANTHROPIC_API_KEY"},
		{"a token", "MISTRAL_API_TOKEN=k", "MISTRAL_API_KEY"},
		{"small letters", "openai_api_key=k", "OPENAI_API_KEY"},
		{"a letter too few", "ANTROPIC_API_KEY=k", "ANTHROPIC_API_KEY"},
		{"two letters too few", "ANTRPIC_API_KEY=k", ""},
		{"a letter too few of six", "GEMNI_API_KEY=k", "GEMINI_API_KEY"},
		{"a letter of four", "GROG_API_KEY=k", ""},
		{"several keys", "OPENAI_API_KEYS=k", "OPENAI_API_KEY"},
		{"a secret key", "OPENAI_SECRET_KEY=k", "OPENAI_API_KEY"},
		{"a token without API", "MISTRAL_TOKEN=k", "MISTRAL_API_KEY"},
		{"an end alone", "API_KEY=k", ""},
		{"the company of the model", "GOOGLE_API_KEY=k", "GEMINI_API_KEY"},
		{"the model of the company", "GROK_API_KEY=k", "XAI_API_KEY"},
		{"a short name that is close", "VAI_API_KEY=k", ""},
		{"the name itself", "OPENAI_API_KEY=k", ""},
		{"no value", "OPEN_AI_KEY=", ""},
		{"another service", "TAVILY_API_KEY=k", ""},
		{"another end", "OPENAI_ORG=o", ""},
		{"AWS", "AWS_SECRET_ACCESS_KEY=k", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Read([]string{test.pair})
			if err != nil {
				t.Fatal(err)
			}
			name, _, _ := strings.Cut(test.pair, "=")
			if got := s.Misnamed[name]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	s, err := Read([]string{"OPENAI_API_KEY=k", "OPENAI_KEY=k"})
	if err != nil || len(s.Misnamed) != 0 {
		t.Errorf("beside the key itself: %v, %v", s.Misnamed, err)
	}
}
