package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadLists(t *testing.T) {
	tests := []struct {
		name, pair     string
		hosts, origins []string
	}{
		{"nothing", "REVEILLE_HOSTS=", nil, nil},
		{"a name", "REVEILLE_HOSTS=dev.example", []string{"dev.example"}, nil},
		{"names and addresses", "REVEILLE_HOSTS=Dev, 10.0.0.7,::1,[FD00::1]", []string{"dev", "10.0.0.7", "[::1]", "[fd00::1]"}, nil},
		{"an origin", "REVEILLE_ORIGINS=https://app.example", nil, []string{"https://app.example"}},
		{"origins with ports", "REVEILLE_ORIGINS=http://localhost:5173, http://[::1]:5173", nil, []string{"http://localhost:5173", "http://[::1]:5173"}},
		{"the origin of an extension", "REVEILLE_ORIGINS=chrome-extension://abcdef", nil, []string{"chrome-extension://abcdef"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Read([]string{test.pair})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.hosts, got.Hosts); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.origins, got.Origins); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadRefusesListsThatNeverMatch(t *testing.T) {
	const (
		hosts   = "REVEILLE_HOSTS"
		origins = "REVEILLE_ORIGINS"
	)
	allowed := map[string]string{
		hosts:   "names or addresses without port, separated by commas",
		origins: "scheme://host[:port] as browsers write it, separated by commas",
	}
	tests := []struct{ name, variable, value string }{
		{"every name", hosts, "*"},
		{"a port", hosts, "dev.example:3000"},
		{"a port behind an address", hosts, "[::1]:3000"},
		{"a scheme", hosts, "http://dev.example"},
		{"brackets around a name", hosts, "[dev]"},
		{"brackets around IPv4", hosts, "[10.0.0.7]"},
		{"a zone", hosts, "fe80::1%eth0"},
		{"an empty name between", hosts, "a,,b"},
		{"a comma at the end", hosts, "a,"},
		{"every origin", origins, "*"},
		{"a pattern", origins, "https://*.example"},
		{"null", origins, "null"},
		{"no scheme", origins, "app.example"},
		{"no scheme but slashes", origins, "//app.example"},
		{"a path", origins, "https://app.example/"},
		{"a query", origins, "https://app.example?a"},
		{"a user", origins, "https://me@app.example"},
		{"capital letters", origins, "https://App.example"},
		{"the scheme's own port", origins, "https://app.example:443"},
		{"the port of http", origins, "http://app.example:80"},
		{"an empty port", origins, "http://app.example:"},
		{"no host", origins, "https://"},
		{"one of two", origins, "https://a.example,b.example"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]string{test.variable + "=" + test.value})
			want := "environment variable " + test.variable + ` is "` + test.value + `", allowed: ` + allowed[test.variable]
			if got := short(err); got != want {
				t.Errorf("error %s\nwant  %s", got, want)
			}
		})
	}
}
