package env

import (
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config configures how a client reaches its service. The zero value is right in a Lambda
// function.
type Config struct {
	// Getenv reads AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
	// AWS_SESSION_TOKEN and the service's AWS_ENDPOINT_URL_ variable (for another
	// endpoint than the region's). Default os.Getenv.
	Getenv func(string) string
	// Region and Credentials replace those variables, which then need not be set.
	// Default: the values of the variables.
	Region      string
	Credentials aws.CredentialsProvider
	// Transport carries the requests. Default: a copy of http.DefaultTransport
	// with more idle connections.
	Transport http.RoundTripper
	// MaxAttempts is the number of attempts of a call, the first included. Default 3.
	// Keep it small: each attempt of a write that gets no response may have been applied.
	MaxAttempts int
	// Timeout of one attempt. Default 5 s.
	Timeout time.Duration
	// Backoff is the wait before another attempt; retried counts from 1. Default: up to
	// 50 ms before the second attempt and twice as long before each further one, up to 1
	// s. The SDK's own backoff starts at up to 2 s.
	Backoff func(retried int) time.Duration
}
