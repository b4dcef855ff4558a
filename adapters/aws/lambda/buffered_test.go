package lambda

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

func TestBufferedResponds(t *testing.T) {
	const http2 = `{"version":"2.0","rawPath":"/","requestContext":{"http":{"method":"GET"}}}`
	hello := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-A", "1")
		w.Header().Add("X-A", "2")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "1")
		_, _ = io.WriteString(w, "hello")
	}
	tests := []struct {
		name    string
		event   string
		handler http.HandlerFunc
		want    any
	}{
		{"REST API", restGet, hello, events.APIGatewayProxyResponse{
			StatusCode:        201,
			MultiValueHeaders: map[string][]string{"X-A": {"1", "2"}, "Set-Cookie": {"a=1"}, "Content-Type": {"text/plain; charset=utf-8"}},
			Body:              "hello",
		}},
		{"HTTP API", http2, hello, events.APIGatewayV2HTTPResponse{
			StatusCode: 201, Headers: map[string]string{"X-A": "1,2", "Content-Type": "text/plain; charset=utf-8"}, Cookies: []string{"a=1"}, Body: "hello",
		}},
		{"binary", restGet, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0x00}) }, events.APIGatewayProxyResponse{
			StatusCode: 200, MultiValueHeaders: map[string][]string{"Content-Type": {"application/octet-stream"}}, Body: "/wA=", IsBase64Encoded: true,
		}},
		{"nothing at all", restGet, func(http.ResponseWriter, *http.Request) {}, events.APIGatewayProxyResponse{
			StatusCode: 200, MultiValueHeaders: map[string][]string{},
		}},
		{"a panic after half a response, REST API", restGet, func(w http.ResponseWriter, r *http.Request) {
			hello(w, r)
			panic("secret")
		}, events.APIGatewayProxyResponse{
			StatusCode: 500, MultiValueHeaders: map[string][]string{"Content-Type": {"application/json"}}, Body: `{"error":"internal error","code":"internal"}`,
		}},
		{"a panic, HTTP API", http2, func(http.ResponseWriter, *http.Request) { panic("secret") }, events.APIGatewayV2HTTPResponse{
			StatusCode: 500, Headers: map[string]string{"Content-Type": "application/json"}, Cookies: []string{}, Body: `{"error":"internal error","code":"internal"}`,
		}},
		{"a malformed method", `{"httpMethod":"A B"}`, hello, events.APIGatewayProxyResponse{
			StatusCode: 400, MultiValueHeaders: map[string][]string{"Content-Type": {"application/json"}}, Body: `{"error":"request: net/http: invalid method \"A B\"","code":"invalid"}`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Handlers{Logger: quiet}.Buffered(tt.handler)(t.Context(), json.RawMessage(tt.event))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, withoutID); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBufferedHandlerSeesTheWholeRequest(t *testing.T) {
	var got seen
	handle := Handlers{Logger: quiet}.Buffered(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = see(t, r) }))
	if _, err := handle(t.Context(), readEvent[json.RawMessage](t, "http-api.json")); err != nil {
		t.Fatal(err)
	}
	if got.Method != "PUT" || got.Path != "/v1/100% sure" || got.Body != "ping" || got.Header.Get("Accept") != "application/json, text/event-stream" {
		t.Errorf("%+v", got)
	}
}

func TestBufferedContextEndsBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 29*time.Second)
		defer cancel()
		handle := Handlers{Logger: quiet}.Buffered(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		if _, err := handle(ctx, json.RawMessage(restGet)); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(started); got != 27*time.Second {
			t.Errorf("the request's context ended after %v", got)
		}
	})
}
