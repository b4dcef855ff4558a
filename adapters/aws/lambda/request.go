package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// httpEvent is an HTTP request as Lambda delivers it, in either of two shapes: payload
// format 1.0 (API Gateway REST APIs) and 2.0 (Function URLs, API Gateway HTTP APIs).
// Fields of one shape are empty in the other; unused fields are omitted.
type httpEvent struct {
	v2Door door // the front end of events in format 2.0

	Version         string            `json:"version"`
	Headers         map[string]string `json:"headers"`
	Body            jsonText          `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
	RequestContext  struct {
		DomainName string          `json:"domainName"`
		RequestID  string          `json:"requestId"`
		Stage      string          `json:"stage"`
		Authorizer json.RawMessage `json:"authorizer"`
		HTTP       struct {        // 2.0
			Method   string `json:"method"`
			SourceIP string `json:"sourceIp"`
		} `json:"http"`
		Identity identityV1 `json:"identity"` // 1.0
	} `json:"requestContext"`

	// 2.0
	RawPath        string   `json:"rawPath"`
	RawQueryString string   `json:"rawQueryString"`
	Cookies        []string `json:"cookies"`

	// 1.0
	HTTPMethod        string              `json:"httpMethod"`
	Path              string              `json:"path"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Query             map[string]string   `json:"queryStringParameters"`
	MultiValueQuery   map[string][]string `json:"multiValueQueryStringParameters"`
}

type identityV1 struct {
	SourceIP  string `json:"sourceIp"`
	AccountID string `json:"accountId"`
	User      string `json:"user"`
	UserARN   string `json:"userArn"`

	// For users of a Cognito identity pool.
	PoolID             string `json:"cognitoIdentityPoolId"`
	IdentityID         string `json:"cognitoIdentityId"`
	AuthenticationType string `json:"cognitoAuthenticationType"`
}

var errNoHTTPEvent = errors.New("the event is neither an HTTP request of payload format 1.0 (REST API) nor 2.0 (Function URL, HTTP API)")

func readHTTPEvent(payload json.RawMessage, v2 door) (*httpEvent, error) {
	e := httpEvent{v2Door: v2}
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHTTPEvent, err)
	}
	if e.method() == "" {
		return nil, errNoHTTPEvent
	}
	return &e, nil
}

func (e *httpEvent) v2() bool { return e.Version == "2.0" }

func (e *httpEvent) door() door {
	if e.v2() {
		return e.v2Door
	}
	return doorREST
}

func (e *httpEvent) method() string {
	if e.v2() {
		return e.RequestContext.HTTP.Method
	}
	return e.HTTPMethod
}

// request builds the request that a handler of net/http would get. An error has code
// [core.CodeInvalid]. The body is decoded while the handler reads it: base64 with a wrong
// character is an error of that read.
func (e *httpEvent) request(ctx context.Context) (*http.Request, error) {
	body, size, err := e.Body.body(e.IsBase64Encoded)
	if err != nil {
		return nil, err
	}
	e.Body = nil // only the reader of the body keeps the event
	r, err := http.NewRequestWithContext(ctx, e.method(), "/", http.NoBody)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "request: %w", err)
	}
	if size > 0 {
		r.Body, r.ContentLength = io.NopCloser(body), int64(size)
	}
	r.URL = e.url()
	r.RequestURI = r.URL.RequestURI()
	r.Header = e.header()
	r.Host = r.Header.Get("Host")
	r.Header.Del("Host")
	if r.Host == "" {
		r.Host = e.RequestContext.DomainName
	}
	source := e.RequestContext.Identity.SourceIP
	if e.v2() {
		source = e.RequestContext.HTTP.SourceIP
	}
	r.RemoteAddr = net.JoinHostPort(source, "0") // the form of net/http; the port is not known
	return r, nil
}

func (e *httpEvent) url() *url.URL {
	raw, query := e.Path, e.queryV1()
	if e.v2() {
		raw, query = e.pathV2(), e.RawQueryString
	}
	if !strings.HasPrefix(raw, "/") {
		raw = "/" + raw
	}
	// REST APIs and Function URLs leave the path escaped; HTTP APIs decode it, so
	// that it may hold a bare '%'.
	path, err := url.PathUnescape(raw)
	if err != nil {
		return &url.URL{Path: raw, RawQuery: query}
	}
	return &url.URL{Path: path, RawPath: raw, RawQuery: query}
}

// pathV2 is the path without the stage that an HTTP API puts in front of it
// under its own domain (never under a custom one, and not for $default).
func (e *httpEvent) pathV2() string {
	stage := e.RequestContext.Stage
	if stage == "" || stage == "$default" || !strings.Contains(e.RequestContext.DomainName, ".execute-api.") {
		return e.RawPath
	}
	if rest, ok := strings.CutPrefix(e.RawPath, "/"+stage); ok && (rest == "" || rest[0] == '/') {
		return rest
	}
	return e.RawPath
}

// queryV1 encodes the query again, since a REST API decodes it.
func (e *httpEvent) queryV1() string {
	if len(e.MultiValueQuery) > 0 {
		return url.Values(e.MultiValueQuery).Encode()
	}
	query := url.Values{}
	for name, value := range e.Query {
		query.Set(name, value)
	}
	return query.Encode()
}

// header keeps a comma-joined value of payload format 2.0 as it is: only the
// handler knows whether its commas separate.
func (e *httpEvent) header() http.Header {
	header := http.Header{}
	for name, values := range e.MultiValueHeaders {
		for _, value := range values {
			header.Add(name, value) // two spellings of a name are one header
		}
	}
	if len(header) == 0 {
		for name, value := range e.Headers {
			header.Add(name, value)
		}
	}
	if len(e.Cookies) > 0 {
		header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	return header
}
