package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/internal/caller"
)

// seenBy is what a handler is told about the sender of an event.
func seenBy(t *testing.T, handle func(Handlers, http.Handler) func(context.Context, json.RawMessage) (any, error), event string) (c caller.Caller, d door) {
	t.Helper()
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { c, d = caller.From(r.Context()), doorOf(r.Context()) })
	response, err := handle(Handlers{Logger: quiet}, h)(t.Context(), json.RawMessage(event))
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := response.(interface{ Close() error }); ok {
		_ = closer.Close()
	}
	return c, d
}

const (
	poolID     = "us-east-1:0f1e2d3c-4b5a-4697-8877-665544332211"
	identityID = "us-east-1:5b2c1f0e-3d4a-4c5b-8e6f-7a8b9c0d1e2f"
	sub        = "8a6f1d3e-7b1f-4a2c-9d3e-0c5b8f7a6e21"
)

func TestCallerOfEveryDoorAndAuthorizer(t *testing.T) {
	cognito := func(more caller.Claims) caller.Token {
		all := caller.Claims{
			"aud": "1example23456789", "custom:tenant": "acme", "email_verified": "true", "sub": sub, "token_use": "id",
			"iss": "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_EXAMPLE",
		}
		for name, value := range more {
			all[name] = value
		}
		return caller.Token{Claims: all, Audience: []string{"1example23456789"}}
	}
	user := caller.Signer{ID: "AIDACKCEVSQ6C2EXAMPLE", Account: "111122223333"}
	tests := []struct {
		file string
		want caller.Caller
	}{
		{"url-none", nil},
		{"url-iam-user", user},
		{"url-iam-role", caller.Signer{ID: "AROACKCEVSQ6C2EXAMPLE:bob", Account: "111122223333"}},
		{"url-iam-pool", caller.PoolUser{}},
		{"http-jwt", cognito(caller.Claims{"cognito:groups": "[admins editors]", "exp": "1795237980", "iat": "1795234380"})},
		{"http-lambda", caller.Context{Claims: caller.Claims{"tenant": "acme", "user": "ada"}}},
		{"http-iam-user", user},
		{"http-iam-pool", caller.PoolUser{Pool: poolID, Identity: identityID, Authenticated: true}},
		{"http-iam-guest", caller.PoolUser{Pool: poolID, Identity: identityID}},
		{"rest-none", nil},
		{"rest-cognito", cognito(caller.Claims{
			"auth_time": "1795234380", "cognito:groups": "admins,editors", "cognito:username": "ada",
			"exp": "Sat Nov 21 05:13:00 UTC 2026", "iat": "Sat Nov 21 04:13:00 UTC 2026",
		})},
		{"rest-lambda", caller.Context{Claims: caller.Claims{"principalId": "ada", "tenant": "acme", "level": "7", "admin": "true"}}},
		{"rest-iam-user", user},
		{"rest-iam-pool", caller.PoolUser{Pool: poolID, Identity: identityID, Authenticated: true}},
		{"rest-iam-guest", caller.PoolUser{Pool: poolID, Identity: identityID}},
		{"rest-test", nil},
	}
	doors := map[string]door{"url": doorURL, "http": doorHTTP, "rest": doorREST}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			event := string(readEvent[json.RawMessage](t, "callers/"+tt.file+".json"))
			kind, _, _ := strings.Cut(tt.file, "-")
			handle := Handlers.Stream
			if kind == "http" {
				handle = Handlers.Buffered
			}
			got, door := seenBy(t, handle, event)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if door != doors[kind] {
				t.Errorf("door %q, want %q", door, doors[kind])
			}
		})
	}
	files, err := os.ReadDir("testdata/callers")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d events for %d tests, %v", len(files), len(tests), err)
	}
}

// TestEventsAreOfTheLibrarysTypes reads the events strictly into the types that
// aws-lambda-go has for them.
func TestEventsAreOfTheLibrarysTypes(t *testing.T) {
	files, err := os.ReadDir("testdata/callers")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var event any = &events.APIGatewayProxyRequest{}
		switch kind, _, _ := strings.Cut(file.Name(), "-"); kind {
		case "url", "http": // that of Function URLs lacks routeKey and cognitoIdentity
			event = &events.APIGatewayV2HTTPRequest{}
		}
		d := json.NewDecoder(bytes.NewReader(readEvent[json.RawMessage](t, "callers/"+file.Name())))
		d.DisallowUnknownFields()
		if err := d.Decode(event); err != nil && !strings.Contains(err.Error(), `unknown field "principalOrgId"`) {
			t.Errorf("%s: %v", file.Name(), err)
		}
	}
}

func TestWhatDoesNotBelongToADoorIsNobody(t *testing.T) {
	v2 := func(authorizer string) string {
		return `{"version":"2.0","requestContext":{"http":{"method":"GET"},"authorizer":` + authorizer + `}}`
	}
	v1 := func(rest string) string {
		return `{"httpMethod":"GET","path":"/","requestContext":{` + rest + `}}`
	}
	tests := []struct {
		name  string
		door  door
		event string
		want  caller.Caller
	}{
		{"a token at a Function URL", doorURL, v2(`{"jwt":{"claims":{"sub":"u"}}}`), nil},
		{"a context at a Function URL", doorURL, v2(`{"lambda":{"user":"u"}}`), nil},
		{"two authorizers at a Function URL", doorURL, v2(`{"iam":{"userId":"AIDA1"},"jwt":{"claims":{"sub":"u"}}}`), nil},
		{"two authorizers", doorHTTP, v2(`{"lambda":{"user":"u"},"jwt":{"claims":{"sub":"u"}}}`), nil},
		{"one and a null", doorHTTP, v2(`{"lambda":null,"jwt":{"claims":{"sub":"u"}}}`), caller.Token{Claims: caller.Claims{"sub": "u"}}},
		{"the claims of a REST API", doorHTTP, v2(`{"claims":{"sub":"u"}}`), nil},
		{"the user of a REST API", doorHTTP, `{"version":"2.0","requestContext":{"http":{"method":"GET"},"identity":{"user":"AIDA1","userArn":"a"}}}`, nil},
		{"an authorizer that is no object", doorHTTP, v2(`"jwt"`), nil},
		{"a token that is no object", doorHTTP, v2(`{"jwt":7}`), nil},
		{"claims that are no object", doorHTTP, v2(`{"jwt":{"claims":[1]}}`), caller.Token{Claims: caller.Claims{}}},
		{"numbers, lists and nulls", doorHTTP, v2(`{"jwt":{"claims":{"exp":1795237980,"aud":["a"],"sub":null,"ok":"yes"}}}`), caller.Token{Claims: caller.Claims{"ok": "yes"}}},
		{"a signer that is no object", doorHTTP, v2(`{"iam":"AIDA1"}`), nil},
		{"a pool's user at a Function URL", doorURL, v2(`{"iam":{"userId":"AROA1:x","cognitoIdentity":{"amr":["authenticated"],"identityId":"i","identityPoolId":"p"}}}`), caller.PoolUser{}},
		{"a pool's user without identity", doorHTTP, v2(`{"iam":{"userId":"AROA1:CognitoIdentityCredentials","cognitoIdentity":null}}`), caller.PoolUser{}},
		{"an identity that is no object", doorHTTP, v2(`{"iam":{"userId":"AROA1:x","cognitoIdentity":"i"}}`), caller.PoolUser{}},
		{"the authorizers of an HTTP API", doorREST, v1(`"authorizer":{"jwt":{"claims":{"sub":"u"}}}`), caller.Context{Claims: caller.Claims{}}},
		{"an authorizer that is no object, REST", doorREST, v1(`"authorizer":7,"identity":{"user":"AIDA1"}`), nil},
		{"claims that are text", doorREST, v1(`"authorizer":{"claims":"u","user":"ada"}`), caller.Context{Claims: caller.Claims{"claims": "u", "user": "ada"}}},
		{"an API key", doorREST, v1(`"identity":{"apiKey":"secret","apiKeyId":"id"}`), nil},
		{"an identity without pool", doorREST, v1(`"identity":{"cognitoIdentityId":"i","user":"AROA1:x","userArn":"a"}`), caller.PoolUser{Identity: "i"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handle := Handlers.Stream
			if tt.door == doorHTTP {
				handle = Handlers.Buffered
			}
			got, door := seenBy(t, handle, tt.event)
			if diff := cmp.Diff(tt.want, got); diff != "" || door != tt.door {
				t.Errorf("door %q, caller:\n%s", door, diff)
			}
		})
	}
}

func TestHeadersThatAreGivenTwiceStayTwo(t *testing.T) {
	tests := []struct{ name, event string }{
		{"many values", `{"httpMethod":"GET","headers":{"Authorization":"b"},"multiValueHeaders":{"Authorization":["a","b"]}}`},
		{"two spellings, many values", `{"httpMethod":"GET","headers":{"authorization":"b"},"multiValueHeaders":{"Authorization":["a"],"authorization":["b"]}}`},
		{"two spellings", `{"httpMethod":"GET","headers":{"Authorization":"a","authorization":"b"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			event, err := readHTTPEvent(json.RawMessage(tt.event), doorURL)
			if err != nil {
				t.Fatal(err)
			}
			if got := event.header().Values("Authorization"); len(got) != 2 {
				t.Errorf("values %q, want two", got)
			}
		})
	}
}
