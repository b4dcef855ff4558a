package rules

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
)

// What the schemes' own documentation shows.
const (
	githubSecret    = "It's a Secret to Everybody"
	githubBody      = "Hello, World!"
	githubSignature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

	standardSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	standardBody      = `{"test": 2432232314}`
	standardID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	standardTime      = "1614265330"
	standardSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

	slackSecret = "8f742231b10e8888abcd99yyyzzz85a5"
	slackBody   = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner" +
		"&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
	slackTime      = "1531420618"
	slackSignature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
	slackID        = "390eeeff8d0cb7c9f6ecf8a88c3df6452fea0914eb02f64844369f3758d8d330" // the body's hash
)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestSignatures(t *testing.T) {
	github := &verifier{scheme: schemeGitHub, secrets: [][]byte{[]byte("another"), []byte(githubSecret)}}
	standard, err := newVerifier(webhook{Scheme: schemeStandard}, "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE= "+standardSecret)
	if err != nil {
		t.Fatal(err)
	}
	slack, err := newVerifier(webhook{Scheme: schemeSlack}, slackSecret)
	if err != nil {
		t.Fatal(err)
	}
	standardHeader := func(id, at, signature string) http.Header {
		return headers("webhook-id", id, "webhook-timestamp", at, "webhook-signature", signature)
	}
	slackHeader := func(at, signature string) http.Header {
		return headers("X-Slack-Request-Timestamp", at, "X-Slack-Signature", signature)
	}
	const wrong = "the request has no valid signature of scheme "
	tests := []struct {
		name   string
		v      *verifier
		header http.Header
		body   string
		now    int64
		id     string
		err    string
	}{
		{"GitHub", github, headers("X-Hub-Signature-256", githubSignature, "X-GitHub-Delivery", "d1"), githubBody, 0, "d1", ""},
		{"GitHub, by the older secret", &verifier{scheme: schemeGitHub, secrets: [][]byte{[]byte(githubSecret), []byte("another")}}, headers("X-Hub-Signature-256", githubSignature, "X-GitHub-Delivery", "d1"), githubBody, 0, "d1", ""},
		{"GitHub, in capitals", github, headers("X-Hub-Signature-256", "sha256="+strings.ToUpper(githubSignature[7:]), "X-GitHub-Delivery", "d1"), githubBody, 0, "d1", ""},
		{"GitHub, another body", github, headers("X-Hub-Signature-256", githubSignature, "X-GitHub-Delivery", "d1"), githubBody + " ", 0, "", wrong + "github"},
		{"GitHub, its old hash", github, headers("X-Hub-Signature-256", "sha1="+githubSignature[7:], "X-GitHub-Delivery", "d1"), githubBody, 0, "", wrong + "github"},
		{"GitHub, cut off", github, headers("X-Hub-Signature-256", githubSignature[:69], "X-GitHub-Delivery", "d1"), githubBody, 0, "", wrong + "github"},
		{"GitHub, an empty hash", github, headers("X-Hub-Signature-256", "sha256=", "X-GitHub-Delivery", "d1"), githubBody, 0, "", wrong + "github"},
		{"GitHub, no signature", github, headers("X-GitHub-Delivery", "d1"), githubBody, 0, "", "header X-Hub-Signature-256 is required, exactly once"},
		{"GitHub, two signatures", github, headers("X-Hub-Signature-256", "x", "X-Hub-Signature-256", githubSignature, "X-GitHub-Delivery", "d1"), githubBody, 0, "", "header X-Hub-Signature-256 is required, exactly once"},
		{"GitHub, no delivery", github, headers("X-Hub-Signature-256", githubSignature), githubBody, 0, "", "header X-GitHub-Delivery is required, exactly once"},

		{"Standard", standard, standardHeader(standardID, standardTime, standardSignature), standardBody, 1614265330, standardID, ""},
		{"Standard, one of several", standard, standardHeader(standardID, standardTime, "v1a,xx v1,AAAA "+standardSignature), standardBody, 1614265330, standardID, ""},
		{"Standard, the first of several", standard, standardHeader(standardID, standardTime, standardSignature+" v1,AAAA"), standardBody, 1614265330, standardID, ""},
		{"Standard, by the older secret", standard, standardHeader(standardID, standardTime, "v1,n5DaN+gA2MAYX907WDJCkFssG5llG4OqYhJ+3q5ij4M="), standardBody, 1614265330, standardID, ""},
		{"Standard, five minutes late", standard, standardHeader(standardID, standardTime, standardSignature), standardBody, 1614265330 + 300, standardID, ""},
		{"Standard, later", standard, standardHeader(standardID, standardTime, standardSignature), standardBody, 1614265330 + 301, "", "header Webhook-Timestamp is not within 5 minutes of the server's clock"},
		{"Standard, too early", standard, standardHeader(standardID, standardTime, standardSignature), standardBody, 1614265330 - 301, "", "header Webhook-Timestamp is not within 5 minutes of the server's clock"},
		{"Standard, another id", standard, standardHeader("msg_2", standardTime, standardSignature), standardBody, 1614265330, "", wrong + "standard"},
		{"Standard, another time", standard, standardHeader(standardID, "1614265331", standardSignature), standardBody, 1614265330, "", wrong + "standard"},
		{"Standard, another version", standard, standardHeader(standardID, standardTime, "v2"+standardSignature[2:]), standardBody, 1614265330, "", wrong + "standard"},
		{"Standard, no time", standard, standardHeader(standardID, "now", standardSignature), standardBody, 1614265330, "", "header Webhook-Timestamp is not a time in seconds"},
		{"Standard, no id", standard, headers("webhook-timestamp", standardTime, "webhook-signature", standardSignature), standardBody, 1614265330, "", "header Webhook-Id is required, exactly once"},

		{"Slack", slack, slackHeader(slackTime, slackSignature), slackBody, 1531420618, slackID, ""},
		{"Slack, another time", slack, slackHeader("1531420619", slackSignature), slackBody, 1531420618, "", wrong + "slack"},
		{"Slack, old", slack, slackHeader(slackTime, slackSignature), slackBody, 1531420618 + 301, "", "header X-Slack-Request-Timestamp is not within 5 minutes of the server's clock"},
		{"Slack, no signature", slack, headers("X-Slack-Request-Timestamp", slackTime), slackBody, 1531420618, "", "header X-Slack-Signature is required, exactly once"},
		{"Slack, an event's id", slack, slackHeader(slackTime, "v0=7f7e3a3092096b95290532e2dda09f1109d4100299886e84b5527cf31670d8bf"), `{"event_id":"Ev08MFMKH6"}`, 1531420618, "Ev08MFMKH6", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := tt.v.verify(tt.header, []byte(tt.body), time.Unix(tt.now, 0))
			got := ""
			if err != nil {
				if got = err.Error(); core.CodeOf(err) != core.CodeUnauthorized {
					t.Errorf("code %q", core.CodeOf(err))
				}
			}
			if got != tt.err || err == nil && id != tt.id {
				t.Errorf("id %q, %q; want %q, %q", id, got, tt.id, tt.err)
			}
		})
	}
}

func TestSecretsThatAreRefused(t *testing.T) {
	tests := []struct {
		w            webhook
		secret, want string
	}{
		{webhook{Scheme: schemeGitHub}, " ", "environment variable WEBHOOK_SECRET is required: it is the secret that signs requests"},
		{webhook{Scheme: schemeStandard, Secret: "BILLING"}, "whsec_not-base64", "environment variable BILLING: secret 1 is not whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has them"},
		{webhook{Scheme: schemeStandard, Secret: "BILLING"}, standardSecret + " whsec_c2VjcmV0", "environment variable BILLING: secret 2 is not whsec_ and the base64 of 24 to 64 bytes, as Standard Webhooks has them"},
	}
	for _, tt := range tests {
		if _, err := newVerifier(tt.w, tt.secret); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v, want %s", tt.secret, err, tt.want)
		}
	}
}
