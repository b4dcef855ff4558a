package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/identity/caller"
	"github.com/reveille-run/reveille/core"
)

type printer struct{}

func (printer) WorkBatch(_ context.Context, hints []core.WakeUp) []error {
	for _, hint := range hints {
		fmt.Println("working on", hint.Key())
	}
	return make([]error, len(hints))
}

// A Lambda function's main does lambda.Start(handle).
func ExampleHandlers_Step() {
	handle := awslambda.Handlers{}.Step(printer{}.WorkBatch)
	response, _ := handle(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: `{"tenant":"acme","thread":"t-1"}`},
	}})
	fmt.Println(len(response.BatchItemFailures), "failures")
	// Output:
	// working on acme/t-1
	// 0 failures
}

// What an authorizer returned about a request says who sent it.
func ExampleHandlers_Stream() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		id, err := caller.Contexts{TenantClaim: "tenant", User: "principalId"}.Authenticate(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, "hello %s of %s", id.User, id.Tenant)
	})
	handle := awslambda.Handlers{}.Stream(mux)
	response, _ := handle(context.Background(), json.RawMessage(`{
		"httpMethod": "GET", "path": "/hello",
		"requestContext": {"authorizer": {"principalId": "ada", "tenant": "acme"}}
	}`))
	stream := response.(*events.APIGatewayProxyStreamingResponse)
	body, _ := io.ReadAll(stream.Body)
	fmt.Println(stream.StatusCode, string(body))
	// Output: 200 hello ada of acme
}
