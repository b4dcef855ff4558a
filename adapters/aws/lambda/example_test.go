package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/reveille-run/reveille/adapters/aws/lambda"
	"github.com/reveille-run/reveille/adapters/internal/caller"
	"github.com/reveille-run/reveille/core"
)

type printer struct{}

func (printer) WorkBatch(_ context.Context, hints []core.WakeUp) []error {
	for _, hint := range hints {
		fmt.Println("working on", hint.Key())
	}
	return make([]error, len(hints))
}

// A Lambda function's main does lambda.Start(awslambda.StepHandler(...)).
func ExampleStepHandler() {
	handle := awslambda.StepHandler(awslambda.StepOptions{Worker: printer{}})
	response, _ := handle(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: `{"tenant":"acme","thread":"t-1"}`},
	}})
	fmt.Println(len(response.BatchItemFailures), "failures")
	// Output:
	// working on acme/t-1
	// 0 failures
}

// A Lambda function's main does lambda.Start(awslambda.Stream(...)).
func ExampleStream() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) {
		a, _ := caller.From(r.Context()).(caller.Context)
		fmt.Fprintf(w, "hello %s of %s", a.Claims["principalId"], a.Claims["tenant"])
	})
	handle := awslambda.Stream(mux, awslambda.HTTPOptions{})
	response, _ := handle(context.Background(), json.RawMessage(`{
		"httpMethod": "GET", "path": "/hello",
		"requestContext": {"authorizer": {"principalId": "ada", "tenant": "acme"}}
	}`))
	stream := response.(*events.APIGatewayProxyStreamingResponse)
	body, _ := io.ReadAll(stream.Body)
	fmt.Println(stream.StatusCode, string(body))
	// Output: 200 hello ada of acme
}
