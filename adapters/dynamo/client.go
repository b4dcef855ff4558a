package dynamo

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
)

// Config says how [NewClient] reaches DynamoDB. The zero value is right in a
// Lambda function.
type Config struct {
	// Getenv reads AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
	// AWS_SESSION_TOKEN and AWS_ENDPOINT_URL_DYNAMODB (for another endpoint than
	// the region's). Default os.Getenv.
	Getenv func(string) string
	// Transport carries the requests, a [Meter] for example. Default: a copy of
	// http.DefaultTransport with more idle connections.
	Transport http.RoundTripper
	// MaxAttempts is how often a call is tried in all. Default 3. Keep it small:
	// every try of a write that gets no answer may have been applied.
	MaxAttempts int
	// Timeout of one try. Default 5 s.
	Timeout time.Duration

	backoff func(retried int) time.Duration
}

// NewClient makes a client from the environment that Lambda sets, without the
// SDK's configuration files and credential chain, which would cost start-up
// time. A missing variable is an error that names it.
func NewClient(c Config) (*dynamodb.Client, error) {
	getenv := c.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if getenv(name) == "" {
			return nil, core.Errorf(core.CodeInvalid, "DynamoDB client: environment variable %s is not set", name)
		}
	}
	transport := c.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 64
		transport = own
	}
	backoff := c.backoff
	if backoff == nil {
		backoff = jitter
	}
	o := dynamodb.Options{
		Region: getenv("AWS_REGION"),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{
				AccessKeyID:     getenv("AWS_ACCESS_KEY_ID"),
				SecretAccessKey: getenv("AWS_SECRET_ACCESS_KEY"),
				SessionToken:    getenv("AWS_SESSION_TOKEN"),
				Source:          "environment",
			}, nil
		}),
		HTTPClient: &http.Client{
			Transport:     transport,
			Timeout:       cmp.Or(c.Timeout, 5*time.Second),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = cmp.Or(c.MaxAttempts, 3)
			o.Backoff = retry.BackoffDelayerFunc(func(retried int, _ error) (time.Duration, error) { return backoff(retried), nil })
		}),
	}
	if endpoint := getenv("AWS_ENDPOINT_URL_DYNAMODB"); endpoint != "" {
		o.BaseEndpoint = aws.String(endpoint)
	}
	return dynamodb.New(o), nil
}

// jitter waits up to 50 ms before the second try and twice as long before every
// further one, up to 1 s. The SDK's default starts at up to 2 s.
func jitter(retried int) time.Duration {
	limit := min(25*time.Millisecond<<min(retried, 10), time.Second)
	return time.Duration(rand.Int64N(int64(limit)))
}
