package template

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// cors is what a front end is told about pages of other origins.
type cors struct {
	AllowOrigins                              string
	AllowMethods, AllowHeaders, ExposeHeaders []string
	MaxAge                                    int
}

// ifOrigins reads a value that is there when origins are configured.
func ifOrigins(t *testing.T, value string) cors {
	t.Helper()
	list, ok := strings.CutPrefix(value, "!If ")
	if !ok {
		t.Fatalf("%q depends on nothing", value)
	}
	parts := decode[[]json.RawMessage](t, []byte(list))
	if len(parts) != 3 || string(parts[0]) != `"HasOrigins"` || string(parts[2]) != `"!Ref AWS::NoValue"` {
		t.Fatalf("%s does not depend on HasOrigins alone", value)
	}
	return decode[cors](t, parts[1])
}

// TestEveryDoorSaysTheSameToForeignPages compares the front ends that speak CORS
// themselves with our code, which speaks it behind the REST API.
func TestEveryDoorSaysTheSameToForeignPages(t *testing.T) {
	h := httpapi.CORS([]string{"https://app.example"}, http.NotFoundHandler())
	header := func(method string) http.Header {
		r := httptest.NewRequest(method, "/", nil)
		r.Header = http.Header{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec.Header()
	}
	words := func(text string) []string { return strings.Split(text, ", ") }
	preflight := header("OPTIONS")
	want := cors{
		AllowOrigins: `!Split [",","!Ref Origins"]`, MaxAge: 600,
		AllowMethods: words(preflight.Get("Access-Control-Allow-Methods")), AllowHeaders: words(preflight.Get("Access-Control-Allow-Headers")),
		ExposeHeaders: words(header("GET").Get("Access-Control-Expose-Headers")),
	}
	if got := preflight.Get("Access-Control-Max-Age"); got != "600" {
		t.Errorf("our preflights are remembered for %s s", got)
	}
	of := read(t)
	api := resources[struct{ CorsConfiguration string }](t, of, "AWS::Serverless::HttpApi")["HttpApi"]
	for name, value := range map[string]string{
		"Function URL": resources[struct{ Cors string }](t, of, "AWS::Lambda::Url")["StreamFunctionUrl"].Cors, "HTTP API": api.CorsConfiguration,
	} {
		if diff := cmp.Diff(want, ifOrigins(t, value)); diff != "" {
			t.Errorf("%s (-our code +template):\n%s", name, diff)
		}
	}
	if got := of.Conditions["HasOrigins"]; got != `!Not ["!Equals [\"!Ref Origins\",\"\"]"]` {
		t.Errorf("condition HasOrigins is %s", got)
	}
}

// TestRefusalsOfTheRestApiCanBeRead: those that no function sees, such as that of
// a wrong signature.
func TestRefusalsOfTheRestApiCanBeRead(t *testing.T) {
	type refusal struct {
		ResponseParameters struct{ Headers map[string]string }
	}
	api := resources[struct{ GatewayResponses map[string]refusal }](t, read(t), "AWS::Serverless::Api")["RestApi"]
	for _, kind := range []string{"DEFAULT_4XX", "DEFAULT_5XX"} {
		got := api.GatewayResponses[kind].ResponseParameters.Headers
		origin := got["Access-Control-Allow-Origin"]
		if !strings.HasPrefix(origin, `!If ["HasOrigins",`) || strings.Contains(origin, "*") || got["Vary"] != "'Origin'" {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
