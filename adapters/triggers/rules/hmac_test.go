package rules

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
)

// The signatures were made with openssl: printf '{"order":"o-1"}' | openssl dgst -sha256
// -hmac shop-secret.
const (
	shopBody = `{"order":"o-1"}`
	shopHash = "be2472c17de3278dba7def61413162208d6766b87b68049b98e4f97259dd70f5" // of the body
	shopTime = 1764417600                                                         // 2025-11-29T12:00:00Z

	bySHA256  = "32d800c5c127b42857c0e3c6c3ab784cbab80c3a5d6aab7e8eedc91c509a315a"
	bySHA1    = "7861e9af6900d239262afaeea8980917006b1b6d"
	bySHA512  = "jGyqIFiY4ij2zgF8iPdW6EtyxC61AZXM2Q0+nr4/RNvMrTZgJXHyT+HHAUJaUOyji92zOY5HDpSJmpG+DQvHog=="
	inBase64  = "MtgAxcEntChXwOPGw6t4TLq4DDpdaqt+ju3JHFCaMVo="
	withTime  = "247c9226d5de5bcebe8cf4da2717943bfb2e5b397675ebff1f0bc4e1174b10a8" // 1764417600.BODY
	withOld   = "eb00004d0f1512dc7a30ff97122d8bc96a38e3295645c2911200cb61afc656d3" // the same by old-secret
	withID    = "a5a1892db78521c67555376576c9227a355954f2bf916b20155b909c4399a630" // v1:d-1:1764417600:BODY
	withMilli = "4d54676b6ad7e5382c7c220b1803dbd135c7e8fd77377604ed526a66ba6a536e" // 1764417600000BODY
	withDate  = "5c7eaac76022a240dff11397d0728d264f7da5366d6d9711a69f07c3a1b2a36c" // 2025-11-29T12:00:00ZBODY
	withName  = "b6c1b3681966d1d5cd395a4b62b16e240ae088ea6001325fa5012e2492d539eb" // {body}.BODY
)

// formOf is the webhook of a trigger with scheme hmac.
func formOf(tb testing.TB, hmac string) *webhook {
	tb.Helper()
	all, err := parseFile("test", []byte(`{"triggers":[{"name":"shop","source":"webhook","prompt":"x","webhook":{"scheme":"hmac","hmac":`+hmac+`}}]}`))
	if err != nil {
		tb.Fatal(err)
	}
	if err := all[0].Webhook.check(); err != nil {
		tb.Fatal(err)
	}
	return all[0].Webhook
}

func TestHMACSignatures(t *testing.T) {
	const (
		plain  = `{"header":"X-Shop"}`
		timed  = `{"header":"X-Shop","prefix":"sha256=","timestamp":"X-Time","content":"{timestamp}.{body}"}`
		stripe = `{"header":"Stripe-Signature","prefix":"v1=","timestamp_prefix":"t=","content":"{timestamp}.{body}"}`
		whole  = `{"header":"X-Shop","timestamp":"X-Time","id":"X-ID","content":"v1:{id}:{timestamp}:{body}","tolerance_seconds":60}`
		wrong  = "the request has no valid signature of scheme hmac"
		many   = "x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,"
	)
	tests := []struct {
		name, form string
		header     http.Header
		body       string // empty: shopBody
		now        int64  // after shopTime
		id, err    string
	}{
		{"hex", plain, headers("x-shop", bySHA256), "", 0, shopHash, ""},
		{"hex in capitals", plain, headers("X-Shop", strings.ToUpper(bySHA256)), "", 0, shopHash, ""},
		{"SHA-1", `{"header":"X-Shop","algorithm":"sha1","prefix":"sha1="}`, headers("X-Shop", "sha1="+bySHA1), "", 0, shopHash, ""},
		{"SHA-512 in base64", `{"header":"X-Shop","algorithm":"sha512","encoding":"base64"}`, headers("X-Shop", bySHA512), "", 0, shopHash, ""},
		{"base64", `{"header":"X-Shop","encoding":"base64"}`, headers("X-Shop", inBase64), "", 0, shopHash, ""},
		{"an id that is not signed", `{"header":"X-Shop","id":"X-ID"}`, headers("X-Shop", bySHA256, "X-ID", "d-1"), "", 0, "d-1", ""},
		{"the first of several", plain, headers("X-Shop", bySHA256+", 00"), "", 0, shopHash, ""},
		{"the last of sixteen", plain, headers("X-Shop", many+bySHA256), "", 0, shopHash, ""},
		{"one of seventeen", plain, headers("X-Shop", "x,"+many+bySHA256), "", 0, "", "header X-Shop has 17 values, allowed are 16"},

		{"another body", plain, headers("X-Shop", bySHA256), shopBody + " ", 0, "", wrong},
		{"another algorithm", plain, headers("X-Shop", bySHA1), "", 0, "", wrong},
		{"another encoding", plain, headers("X-Shop", inBase64), "", 0, "", wrong},
		{"base64 with bits that count for nothing", `{"header":"X-Shop","encoding":"base64"}`, headers("X-Shop", "MtgAxcEntChXwOPGw6t4TLq4DDpdaqt+ju3JHFCaMVp="), "", 0, "", wrong},
		{"a part of it", plain, headers("X-Shop", bySHA256[:62]), "", 0, "", wrong},
		{"nothing after the prefix", timed, headers("X-Shop", "sha256=", "X-Time", "1764417600"), "", 0, "", wrong},
		{"no prefix", timed, headers("X-Shop", withTime, "X-Time", "1764417600"), "", 0, "", wrong},
		{"no signature", plain, headers("X-Other", bySHA256), "", 0, "", "header X-Shop is required, exactly once"},
		{"two headers", plain, headers("X-Shop", bySHA256, "X-Shop", bySHA256), "", 0, "", "header X-Shop is required, exactly once"},

		{"a time", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "1764417600"), "", 0, shopHash, ""},
		{"a time, five minutes late", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "1764417600"), "", 300, shopHash, ""},
		{"a time, later", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "1764417600"), "", 301, "", "header X-Time is not within 300 seconds of the server's clock"},
		{"a time, too early", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "1764417600"), "", -301, "", "header X-Time is not within 300 seconds of the server's clock"},
		{"another time", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "1764417601"), "", 0, "", wrong},
		{"no time", timed, headers("X-Shop", "sha256="+withTime), "", 0, "", "header X-Time is required, exactly once"},
		{"a time that is none", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "noon"), "", 0, "", "header X-Time is not a time in seconds or milliseconds, or of RFC 3339"},
		{"a time before 1970", timed, headers("X-Shop", "sha256="+withTime, "X-Time", "-1"), "", 0, "", "header X-Time is not a time in seconds or milliseconds, or of RFC 3339"},
		{"milliseconds", `{"header":"X-Shop","timestamp":"X-Time","content":"{timestamp}{body}"}`, headers("X-Shop", withMilli, "X-Time", "1764417600000"), "", 299, shopHash, ""},
		{"RFC 3339", `{"header":"X-Shop","timestamp":"X-Time","content":"{timestamp}{body}"}`, headers("X-Shop", withDate, "X-Time", "2025-11-29T12:00:00Z"), "", 299, shopHash, ""},
		{"by the older secret", timed, headers("X-Shop", "sha256="+withOld, "X-Time", "1764417600"), "", 0, shopHash, ""},

		{"everything signed", whole, headers("X-Shop", withID, "X-Time", "1764417600", "X-ID", "d-1"), "", 60, "d-1", ""},
		{"everything signed, later", whole, headers("X-Shop", withID, "X-Time", "1764417600", "X-ID", "d-1"), "", 61, "", "header X-Time is not within 60 seconds of the server's clock"},
		{"another id", whole, headers("X-Shop", withID, "X-Time", "1764417600", "X-ID", "d-2"), "", 0, "", wrong},
		{"no id", whole, headers("X-Shop", withID, "X-Time", "1764417600"), "", 0, "", "header X-ID is required, exactly once"},
		{"an id that names the body", `{"header":"X-Shop","id":"X-ID","content":"{id}.{body}"}`, headers("X-Shop", withName, "X-ID", "{body}"), "", 0, "{body}", ""},

		{"a time among the signatures", stripe, headers("Stripe-Signature", "t=1764417600,v1="+withTime+",v0=00"), "", 300, shopHash, ""},
		{"several among them", stripe, headers("Stripe-Signature", "v1=00,t=1764417600,v1="+withTime), "", 0, shopHash, ""},
		{"an old time among them", stripe, headers("Stripe-Signature", "t=1764417600,v1="+withTime), "", 301, "", "header Stripe-Signature is not within 300 seconds of the server's clock"},
		{"another version", stripe, headers("Stripe-Signature", "t=1764417600,v0="+withTime), "", 0, "", wrong},
		{"no time among them", stripe, headers("Stripe-Signature", "v1="+withTime), "", 0, "", "header Stripe-Signature has 0 times with the prefix t=, want 1"},
		{"two times among them", stripe, headers("Stripe-Signature", "t=1764417600,t=1764417600,v1="+withTime), "", 0, "", "header Stripe-Signature has 2 times with the prefix t=, want 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := newVerifier(*formOf(t, tt.form), "shop-secret old-secret")
			if err != nil {
				t.Fatal(err)
			}
			body := shopBody
			if tt.body != "" {
				body = tt.body
			}
			id, err := v.verify(tt.header, []byte(body), time.Unix(shopTime+tt.now, 0))
			got := ""
			if err != nil {
				if got = err.Error(); core.CodeOf(err) != core.CodeUnauthorized {
					t.Errorf("code %q", core.CodeOf(err))
				}
			}
			if got != tt.err || id != tt.id && err == nil {
				t.Errorf("id %q, %q; want %q, %q", id, got, tt.id, tt.err)
			}
		})
	}
}

func TestFormsOfHMACThatAreRefused(t *testing.T) {
	long := strings.Repeat("x", 33)
	tests := []struct{ name, webhook, want string }{
		{"no form", `{"scheme":"hmac"}`, `webhook.hmac is required for scheme hmac, such as {"header": "X-Signature"}`},
		{"the form of another scheme", `{"scheme":"github","hmac":{"header":"X"}}`, `webhook.hmac belongs to scheme hmac, this is github`},
		{"no header", `{"scheme":"hmac","hmac":{}}`, `webhook.hmac.header is required: the header with the signature`},
		{"a header that is none", `{"scheme":"hmac","hmac":{"header":"X Shop"}}`, `webhook.hmac.header "X Shop" is not the name of a header, such as X-Signature`},
		{"a header that ends the line", `{"scheme":"hmac","hmac":{"header":"X\n"}}`, `webhook.hmac.header "X\n" is not the name of a header, such as X-Signature`},
		{"a long header", `{"scheme":"hmac","hmac":{"header":"` + strings.Repeat("x", 65) + `"}}`, `webhook.hmac.header "` + strings.Repeat("x", 61) + `..." is not the name of a header, such as X-Signature`},
		{"a time that is no header", `{"scheme":"hmac","hmac":{"header":"X","timestamp":"a b"}}`, `webhook.hmac.timestamp "a b" is not the name of a header, such as X-Signature`},
		{"an id that is no header", `{"scheme":"hmac","hmac":{"header":"X","id":":"}}`, `webhook.hmac.id ":" is not the name of a header, such as X-Signature`},
		{"an algorithm", `{"scheme":"hmac","hmac":{"header":"X","algorithm":"md5"}}`, `webhook.hmac.algorithm "md5" is unknown, allowed are sha256, sha1, sha512`},
		{"an encoding", `{"scheme":"hmac","hmac":{"header":"X","encoding":"base32"}}`, `webhook.hmac.encoding "base32" is unknown, allowed are hex, base64`},
		{"a prefix with a comma", `{"scheme":"hmac","hmac":{"header":"X","prefix":"a,"}}`, `webhook.hmac.prefix "a," has a comma, a space or another character that no header has, or more than 32 bytes`},
		{"a long prefix", `{"scheme":"hmac","hmac":{"header":"X","prefix":"` + long + `"}}`, `webhook.hmac.prefix "` + long + `" has a comma, a space or another character that no header has, or more than 32 bytes`},
		{"a prefix of two things", `{"scheme":"hmac","hmac":{"header":"X","prefix":"t=","timestamp_prefix":"t=","content":"{timestamp}{body}"}}`, `webhook.hmac.timestamp_prefix is the prefix of signatures too`},
		{"two times", `{"scheme":"hmac","hmac":{"header":"X","timestamp":"T","timestamp_prefix":"t=","content":"{timestamp}{body}"}}`, `webhook.hmac.timestamp_prefix and timestamp are both set, set one of them`},
		{"a negative tolerance", `{"scheme":"hmac","hmac":{"header":"X","timestamp":"T","content":"{timestamp}{body}","tolerance_seconds":-1}}`, `webhook.hmac.tolerance_seconds is -1, allowed are 1 to 3600`},
		{"a large tolerance", `{"scheme":"hmac","hmac":{"header":"X","timestamp":"T","content":"{timestamp}{body}","tolerance_seconds":3601}}`, `webhook.hmac.tolerance_seconds is 3601, allowed are 1 to 3600`},
		{"a tolerance of nothing", `{"scheme":"hmac","hmac":{"header":"X","tolerance_seconds":60}}`, `webhook.hmac.tolerance_seconds needs timestamp or timestamp_prefix`},
		{"a time that is not signed", `{"scheme":"hmac","hmac":{"header":"X","timestamp":"T"}}`, `webhook.hmac.content has no {timestamp}: a time that is not signed protects against nothing`},
		{"a signed time that is not there", `{"scheme":"hmac","hmac":{"header":"X","content":"{timestamp}{body}"}}`, `webhook.hmac.content has {timestamp}, which needs timestamp or timestamp_prefix`},
		{"a signed id that is not there", `{"scheme":"hmac","hmac":{"header":"X","content":"{id}{body}"}}`, `webhook.hmac.content has {id}, which needs id`},
		{"no body", `{"scheme":"hmac","hmac":{"header":"X","id":"I","content":"{id}"}}`, `webhook.hmac.content has {body} 0 times, exactly one is required`},
		{"two bodies", `{"scheme":"hmac","hmac":{"header":"X","content":"{body}{body}"}}`, `webhook.hmac.content has {body} 2 times, exactly one is required`},
		{"another name", `{"scheme":"hmac","hmac":{"header":"X","content":"{url}{body}"}}`, `webhook.hmac.content has {url}, allowed are {body}, {timestamp}, {id}`},
		{"a long content", `{"scheme":"hmac","hmac":{"header":"X","content":"{body}` + strings.Repeat("x", 251) + `"}}`, `webhook.hmac.content has 257 bytes, allowed are 256`},
		{"an unknown key", `{"scheme":"hmac","hmac":{"header":"X","hash":"sha256"}}`, `hash`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, err := parseFile("test", []byte(`{"triggers":[{"name":"shop","source":"webhook","prompt":"x","webhook":`+tt.webhook+`}]}`))
			if err == nil {
				err = all[0].Webhook.check()
			}
			if got := fmt.Sprint(err); got != tt.want && (tt.name != "an unknown key" || !strings.Contains(got, tt.want)) {
				t.Errorf("error %s\nwant  %s", got, tt.want)
			}
		})
	}
}

// What is allowed at the bounds.
func TestFormsOfHMACAtTheirBounds(t *testing.T) {
	formOf(t, `{"header":"`+strings.Repeat("x", 64)+`","prefix":"`+strings.Repeat("x", 32)+`","content":"{body}`+strings.Repeat("x", 250)+`"}`)
	formOf(t, `{"header":"X","timestamp":"T","content":"{timestamp}{body}","tolerance_seconds":3600}`)
	formOf(t, `{"header":"X","timestamp":"T","content":"{timestamp}{body}","tolerance_seconds":1}`)
}

// A form without a signed time is a warning at start, since a recorded request can be sent
// again.
func TestReplaysAreAWarningAtStart(t *testing.T) {
	for form, want := range map[string]string{
		`{"header":"X"}`:                                  "48 hours after the first delivery: no time is signed",
		`{"header":"X","id":"I"}`:                         "at any time with another id: neither a time nor the id is signed",
		`{"header":"X","id":"I","content":"{id}.{body}"}`: "48 hours after the first delivery: no time is signed",
		`{"header":"X","timestamp":"T","content":"{timestamp}.{body}","id":"I"}`: "",
		`{"header":"X","timestamp_prefix":"t=","content":"{timestamp}.{body}"}`:  "",
	} {
		var out bytes.Buffer
		set := &Set{Options: Options{Logger: slog.New(slog.NewTextHandler(&out, nil))}, triggers: []*compiled{{trigger: trigger{Name: "shop", Webhook: formOf(t, form)}}}}
		if _, err := set.Routes(RouteOptions{Secret: func(string) string { return "s" }}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); (got == "") != (want == "") || !strings.Contains(got, want) || want != "" && !strings.Contains(got, `level=WARN msg="recorded webhooks can be sent again" trigger=shop`) {
			t.Errorf("%s: log %q, want %q", form, got, want)
		}
	}
}

// No prompt may have the signature.
func TestTemplatesCannotReadASignatureOfHMAC(t *testing.T) {
	r, err := http.NewRequest("POST", "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = headers("x-shop-signature", "secret", "X-Shop-Topic", "orders")
	got, err := eventOf(r, []byte(`{}`), formOf(t, `{"header":"X-Shop-Signature"}`))
	if want := `{"headers":{"x-shop-topic":"orders"},"body":{}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

// FuzzHMACHeader: no header is accepted without the signature, and none breaks the verifier.
func FuzzHMACHeader(f *testing.F) {
	for _, seed := range []string{"", "t=1764417600,v1=" + withTime, "t=,v1=", ",,,", "v1=" + strings.Repeat("0", 64), "t=9999999999999999999,v1=00", "t=1764417600,v1=\xff"} {
		f.Add(seed)
	}
	form := formOf(f, `{"header":"X","prefix":"v1=","timestamp_prefix":"t=","content":"{timestamp}.{body}"}`)
	v, err := newVerifier(*form, "shop-secret")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		id, err := v.verify(headers("X", header), []byte(shopBody), time.Unix(shopTime, 0))
		if (err == nil) != (id != "") {
			t.Errorf("id %q, %v", id, err)
		}
		if err != nil && core.CodeOf(err) != core.CodeUnauthorized {
			t.Errorf("code %s: %v", core.CodeOf(err), err)
		}
		if err == nil && (!strings.Contains(strings.ToLower(header), withTime) || !strings.Contains(header, "t=1764417600")) {
			t.Errorf("accepted %q", header)
		}
	})
}
