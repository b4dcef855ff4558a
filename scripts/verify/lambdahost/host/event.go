package host

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// Shape is the front end of AWS that invokes a function.
type Shape string

// The shapes: a Function URL (payload format 2.0), an API Gateway REST API
// (1.0), an API Gateway HTTP API (2.0, with the path decoded).
const (
	ShapeURL  Shape = "url"
	ShapeREST Shape = "rest"
	ShapeHTTP Shape = "http"
)

// Check validates a shape that came from outside; empty is ShapeURL.
func (s Shape) Check() error {
	switch s {
	case "", ShapeURL, ShapeREST, ShapeHTTP:
		return nil
	}
	return fmt.Errorf("shape %q is unknown, allowed are url, rest, http", string(s))
}

const timeLayout = "02/Jan/2006:15:04:05 -0700"

// eventV2 is payload format 2.0.
type eventV2 struct {
	Version         string            `json:"version"`
	RouteKey        string            `json:"routeKey"`
	RawPath         string            `json:"rawPath"`
	RawQueryString  string            `json:"rawQueryString"`
	Cookies         []string          `json:"cookies,omitempty"`
	Headers         map[string]string `json:"headers"`
	Query           map[string]string `json:"queryStringParameters,omitempty"`
	RequestContext  contextV2         `json:"requestContext"`
	Body            string            `json:"body,omitempty"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

type contextV2 struct {
	AccountID  string          `json:"accountId"`
	APIID      string          `json:"apiId"`
	Authorizer json.RawMessage `json:"authorizer,omitempty"`
	DomainName string          `json:"domainName"`
	RequestID  string          `json:"requestId"`
	RouteKey   string          `json:"routeKey"`
	Stage      string          `json:"stage"`
	Time       string          `json:"time"`
	TimeEpoch  int64           `json:"timeEpoch"`
	HTTP       httpV2          `json:"http"`
}

type httpV2 struct {
	Method    string `json:"method"`
	Path      string `json:"path"`
	Protocol  string `json:"protocol"`
	SourceIP  string `json:"sourceIp"`
	UserAgent string `json:"userAgent"`
}

// eventV1 is payload format 1.0. Absent parts are null in it.
type eventV1 struct {
	Resource        string              `json:"resource"`
	Path            string              `json:"path"`
	HTTPMethod      string              `json:"httpMethod"`
	Headers         map[string]string   `json:"headers"`
	MultiHeaders    map[string][]string `json:"multiValueHeaders"`
	Query           map[string]string   `json:"queryStringParameters"`
	MultiQuery      map[string][]string `json:"multiValueQueryStringParameters"`
	PathParameters  map[string]string   `json:"pathParameters"`
	StageVariables  map[string]string   `json:"stageVariables"`
	RequestContext  contextV1           `json:"requestContext"`
	Body            *string             `json:"body"`
	IsBase64Encoded bool                `json:"isBase64Encoded"`
}

type contextV1 struct {
	AccountID        string          `json:"accountId"`
	APIID            string          `json:"apiId"`
	Authorizer       json.RawMessage `json:"authorizer,omitempty"`
	DomainName       string          `json:"domainName"`
	HTTPMethod       string          `json:"httpMethod"`
	Identity         identityV1      `json:"identity"`
	Path             string          `json:"path"`
	Protocol         string          `json:"protocol"`
	RequestID        string          `json:"requestId"`
	RequestTime      string          `json:"requestTime"`
	RequestTimeEpoch int64           `json:"requestTimeEpoch"`
	ResourcePath     string          `json:"resourcePath"`
	Stage            string          `json:"stage"`
}

type identityV1 struct {
	SourceIP  string `json:"sourceIp"`
	UserAgent string `json:"userAgent"`
}

const (
	account  = "123456789012"
	resource = "/{proxy+}"
	stage    = "local"
)

func (f Front) event(r *http.Request, body []byte) ([]byte, error) {
	if err := f.Shape.Check(); err != nil {
		return nil, err
	}
	var event any = f.eventV2(r, body)
	if f.Shape == ShapeREST {
		event = f.eventV1(r, body)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(event)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func (f Front) eventV2(r *http.Request, body []byte) eventV2 {
	path := r.URL.EscapedPath()
	if f.Shape == ShapeHTTP {
		path = r.URL.Path
	}
	text, encoded := bodyText(r, body)
	now := time.Now()
	e := eventV2{
		Version: "2.0", RouteKey: "$default", RawPath: path, RawQueryString: r.URL.RawQuery,
		Headers: map[string]string{}, Query: map[string]string{}, Body: text, IsBase64Encoded: encoded,
		RequestContext: contextV2{
			AccountID: account, APIID: f.Function, Authorizer: f.Authorizer, DomainName: r.Host, RequestID: newRequestID(),
			RouteKey: "$default", Stage: "$default", Time: now.Format(timeLayout), TimeEpoch: now.UnixMilli(),
			HTTP: httpV2{Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent()},
		},
	}
	for name, values := range frontHeader(r) {
		if name == "Cookie" {
			for _, value := range values {
				e.Cookies = append(e.Cookies, strings.Split(value, "; ")...)
			}
			continue
		}
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	for name, values := range r.URL.Query() {
		e.Query[name] = strings.Join(values, ",")
	}
	return e
}

func (f Front) eventV1(r *http.Request, body []byte) eventV1 {
	path := r.URL.EscapedPath()
	now := time.Now()
	e := eventV1{
		Resource: resource, Path: path, HTTPMethod: r.Method, MultiHeaders: frontHeader(r), Headers: map[string]string{},
		PathParameters: map[string]string{"proxy": strings.TrimPrefix(path, "/")},
		RequestContext: contextV1{
			AccountID: account, APIID: f.Function, Authorizer: f.Authorizer, DomainName: r.Host, HTTPMethod: r.Method,
			Identity: identityV1{SourceIP: sourceIP(r), UserAgent: r.UserAgent()}, Path: "/" + stage + path, Protocol: r.Proto,
			RequestID: newRequestID(), RequestTime: now.Format(timeLayout), RequestTimeEpoch: now.UnixMilli(), ResourcePath: resource, Stage: stage,
		},
	}
	for name, values := range e.MultiHeaders {
		e.Headers[name] = values[len(values)-1]
	}
	if query := r.URL.Query(); len(query) > 0 {
		e.MultiQuery, e.Query = query, map[string]string{}
		for name, values := range query {
			e.Query[name] = values[len(values)-1]
		}
	}
	if len(body) > 0 { // template.yaml makes every media type of the REST API a binary one
		text := base64.StdEncoding.EncodeToString(body)
		e.Body, e.IsBase64Encoded = &text, true
	}
	return e
}

// frontHeader is the request's header with what a front end adds.
func frontHeader(r *http.Request) http.Header {
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	header.Add("X-Forwarded-For", sourceIP(r))
	header.Set("X-Forwarded-Proto", "https")
	header.Set("X-Forwarded-Port", "443")
	return header
}

func sourceIP(r *http.Request) string {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return ip
}

// bodyText encodes bodies that are not known to be text.
func bodyText(r *http.Request, body []byte) (text string, encoded bool) {
	if len(body) == 0 {
		return "", false
	}
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case strings.HasPrefix(mediaType, "text/"), mediaType == "application/json", mediaType == "application/xml",
		mediaType == "application/javascript", strings.HasSuffix(mediaType, "+json"), strings.HasSuffix(mediaType, "+xml"):
		return string(body), false
	}
	return base64.StdEncoding.EncodeToString(body), true
}
