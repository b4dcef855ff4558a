package env

import (
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Config says how a client reaches its service. The zero value is right in a
// Lambda function.
type Config struct {
	// Getenv reads AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
	// AWS_SESSION_TOKEN and the service's AWS_ENDPOINT_URL_ variable (for another
	// endpoint than the region's). Default os.Getenv.
	Getenv func(string) string
	// Region and Credentials are taken instead of those variables, which need not be
	// there then. Default: theirs.
	Region      string
	Credentials aws.CredentialsProvider
	// Transport carries the requests. Default: a copy of http.DefaultTransport
	// with more idle connections.
	Transport http.RoundTripper
	// MaxAttempts is how often a call is tried in all. Default 3. Keep it small:
	// every try of a write that gets no response may have been applied.
	MaxAttempts int
	// Timeout of one try. Default 5 s.
	Timeout time.Duration
	// Backoff is the wait before a further try; retried counts from 1. Default: up
	// to 50 ms before the second try and twice as long before every further one, up
	// to 1 s. The SDK's own starts at up to 2 s.
	Backoff func(retried int) time.Duration
}
