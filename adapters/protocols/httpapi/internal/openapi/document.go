package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The parts of an OpenAPI document that ours has, in the order in which they are written.
type (
	openAPI struct {
		OpenAPI    string                           `json:"openapi"`
		Info       info                             `json:"info"`
		Servers    []server                         `json:"servers"`
		Security   []map[string][]string            `json:"security"`
		Paths      map[string]map[string]*operation `json:"paths"`
		Components components                       `json:"components"`
	}
	info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	server struct {
		URL string `json:"url"`
	}
	components struct {
		Schemas         map[string]*jsonschema.Schema `json:"schemas"`
		Responses       map[string]response           `json:"responses"`
		Links           map[string]link               `json:"links"`
		SecuritySchemes map[string]securityScheme     `json:"securitySchemes"`
	}
	securityScheme struct {
		Type         string `json:"type"`
		Description  string `json:"description"`
		Scheme       string `json:"scheme,omitempty"`
		BearerFormat string `json:"bearerFormat,omitempty"`
		In           string `json:"in,omitempty"`
		Name         string `json:"name,omitempty"`
	}
	operation struct {
		OperationID string                 `json:"operationId"`
		Summary     string                 `json:"summary"`
		Description string                 `json:"description"`
		Security    *[]map[string][]string `json:"security,omitempty"` // present and empty: none
		Parameters  []parameter            `json:"parameters,omitempty"`
		RequestBody *requestBody           `json:"requestBody,omitempty"`
		Responses   map[string]response    `json:"responses"`
	}
	parameter struct {
		Name        string             `json:"name"`
		In          string             `json:"in"`
		Required    bool               `json:"required,omitempty"`
		Description string             `json:"description,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	requestBody struct {
		Required bool             `json:"required,omitempty"`
		Content  map[string]media `json:"content"`
	}
	response struct {
		Ref         string           `json:"$ref,omitempty"`
		Description string           `json:"description,omitempty"`
		Headers     map[string]media `json:"headers,omitempty"`
		Content     map[string]media `json:"content,omitempty"`
		Links       map[string]link  `json:"links,omitempty"`
	}
	link struct {
		Ref         string            `json:"$ref,omitempty"`
		OperationID string            `json:"operationId,omitempty"`
		Parameters  map[string]string `json:"parameters,omitempty"`
	}
	media struct {
		Schema *jsonschema.Schema `json:"schema"`
	}
)

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"
)

const about = "The native routes of Reveille. Request bodies are decoded strictly: an unknown, repeated or misplaced key is refused. " +
	"A body has at most 4 MB, unless limits.max_body of /v1/capabilities differs, and at most 64 levels of nesting; a larger body is refused with 413. The messages of a request have at most 1 MB together. An error response is {\"error\": text, \"code\": code}. Programs use the code, whose meaning never changes. " +
	"Records of another user or tenant are 404, like records that do not exist. This document does not describe the protocols that are mounted next to these routes."

// Document is the OpenAPI document of routes. Root is the module's folder, whose sources
// describe types and fields. problem is the body of every error response.
func Document(root string, routes []Route, problem any) ([]byte, error) {
	s := &schemas{
		problem:    reflect.TypeOf(problem),
		source:     &source{root: root, packages: map[string]*texts{}},
		components: map[string]*jsonschema.Schema{}, responses: map[string]response{}, made: map[reflect.Type]string{},
	}
	d := openAPI{
		OpenAPI: "3.1.0", Info: info{Title: "Reveille", Version: "1", Description: about}, Servers: []server{{URL: "/"}},
		Security: []map[string][]string{{"bearer": {}}, {"signature": {}}, {}},
		Paths:    map[string]map[string]*operation{},
		Components: components{Schemas: s.components, Responses: s.responses, Links: links(routes), SecuritySchemes: map[string]securityScheme{
			"bearer":    {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A token of the configured issuer (REVEILLE_AUTH jwt or gateway)."},
			"signature": {Type: "apiKey", In: "header", Name: "Authorization", Description: "AWS Signature Version 4 (REVEILLE_AUTH iam)."},
		}},
	}
	for _, route := range routes {
		made, err := s.operation(route, d.Components.Links)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", route.Method, route.Path, err)
		}
		path := d.Paths[route.Path]
		if path == nil {
			path = map[string]*operation{}
			d.Paths[route.Path] = path
		}
		path[strings.ToLower(route.Method)] = made
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(d)
	return text.Bytes(), err
}

func (s *schemas) operation(r Route, links map[string]link) (*operation, error) {
	o := &operation{OperationID: r.Name, Summary: summary(r.Text), Description: r.Text, Responses: map[string]response{}}
	if r.Open {
		o.Security = &[]map[string][]string{}
	}
	for _, takes := range r.Takes {
		properties, err := s.properties(reflect.TypeOf(takes))
		if err != nil {
			return nil, err
		}
		for _, p := range properties {
			o.Parameters = append(o.Parameters, parameter{Name: p.name, In: p.in, Required: !p.optional, Description: p.schema.Description, Schema: bare(p.schema)})
		}
	}
	if r.Body != nil {
		schema, err := s.body(reflect.TypeOf(r.Body))
		if err != nil {
			return nil, err
		}
		o.RequestBody = &requestBody{Required: !r.Empty, Content: map[string]media{jsonType: {schema}}}
	}
	for _, a := range r.Answers {
		if err := s.answer(o, a); err != nil {
			return nil, err
		}
		if r.Method == http.MethodPost && a.Body != nil && !a.Stream {
			s.link(o.Responses[strconv.Itoa(a.Status)], reflect.TypeOf(a.Body), links)
		}
	}
	return o, s.refusals(o, r)
}

func (s *schemas) answer(o *operation, a Answer) error {
	made := response{Description: cmp.Or(a.Text, http.StatusText(a.Status)), Links: map[string]link{}}
	schema, kind := &jsonschema.Schema{Type: "object"}, jsonType
	if a.Body != nil {
		var err error
		if schema, err = s.of(reflect.TypeOf(a.Body)); err != nil {
			return err
		}
	}
	if a.Stream {
		kind = streamType
		made.Description = "Server-sent events of this schema. The data of each is the JSON of an event, and the id is its position."
		schema = &jsonschema.Schema{
			Type: "object", Required: []string{"data"}, PropertyOrder: []string{"id", "data"},
			Properties: map[string]*jsonschema.Schema{
				"id":   {Type: "string"},
				"data": {Type: "string", ContentMediaType: jsonType, ContentSchema: schema},
			},
		}
	}
	if a.Body != nil || a.Raw {
		made.Content = map[string]media{kind: {schema}}
	}
	o.Responses[strconv.Itoa(a.Status)] = made
	return nil
}

// named are the parameters of paths that responses name, and by which key.
var named = map[string]string{"thread": "thread_id", "run": "run_id", "input": "dispatch_id"}

// links lead from a response to the operations on what it names.
func links(routes []Route) map[string]link {
	all := map[string]link{}
	for _, r := range routes {
		parameters := map[string]string{}
		for _, part := range strings.Split(r.Path, "/") {
			if name, is := strings.CutPrefix(part, "{"); is {
				name = strings.TrimSuffix(name, "}")
				if named[name] == "" {
					parameters = nil
					break
				}
				parameters[name] = "$response.body#/" + named[name]
			}
		}
		if len(parameters) > 0 {
			all[r.Name] = link{OperationID: r.Name, Parameters: parameters}
		}
	}
	return all
}

// link adds to a response the links for which its body has all values, always.
func (s *schemas) link(to response, body reflect.Type, links map[string]link) {
	required := s.components[s.made[body]].Required
	for name, l := range links {
		missing := func(parameter string) bool { return !slices.Contains(required, named[parameter]) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(l.Parameters)), missing) {
			to.Links[name] = link{Ref: "#/components/links/" + name}
		}
	}
}

// refusals documents the refusals of a route: one response a status, with the codes that
// it may have.
// Routes share those that have the same codes.
func (s *schemas) refusals(o *operation, r Route) error {
	problem, err := s.of(s.problem)
	if err != nil {
		return err
	}
	codes := map[int][]any{}
	for _, refusal := range r.Refuses {
		codes[refusal.Status] = append(codes[refusal.Status], string(refusal.Code))
	}
	for _, status := range slices.Sorted(maps.Keys(codes)) {
		if _, taken := o.Responses[strconv.Itoa(status)]; taken {
			return fmt.Errorf("status %d is a success and a refusal", status)
		}
		schema := &jsonschema.Schema{AllOf: []*jsonschema.Schema{problem, {Properties: map[string]*jsonschema.Schema{"code": {Enum: codes[status]}}}}}
		name := strconv.Itoa(status)
		for _, code := range codes[status] {
			name += "-" + code.(string)
		}
		s.responses[name] = response{Description: http.StatusText(status), Headers: headers(status), Content: map[string]media{jsonType: {schema}}}
		o.Responses[strconv.Itoa(status)] = response{Ref: "#/components/responses/" + name}
	}
	return nil
}

// headers are those that a refusal with a status has.
func headers(status int) map[string]media {
	switch status {
	case http.StatusServiceUnavailable:
		return map[string]media{"Retry-After": {&jsonschema.Schema{Type: "integer"}}}
	case http.StatusUnauthorized:
		return map[string]media{"WWW-Authenticate": {&jsonschema.Schema{Type: "string"}}}
	}
	return nil
}
