package env

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/reveille-run/reveille/core"
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

// Settings are the options that the clients of all services have in common.
type Settings struct {
	Region       string
	BaseEndpoint *string // nil: the region's
	Credentials  aws.CredentialsProvider
	HTTPClient   *http.Client
	Retryer      aws.Retryer
}

// Elsewhere reports whether the variable of an endpoint names another than the region's.
func (c Config) Elsewhere(endpoint string) bool { return c.getenv(endpoint) != "" }

// Variable returns a variable of the environment that the client is made from.
func (c Config) Variable(name string) string { return c.getenv(name) }

func (c Config) getenv(name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

// Settings reads the environment for a service; endpoint is the name of its
// variable. A missing variable, or an endpoint that is no URL, is
// an error that names the service and it.
func (c Config) Settings(service, endpoint string) (Settings, error) {
	getenv := c.getenv
	for _, name := range c.wanted() {
		if getenv(name) == "" {
			return Settings{}, core.Errorf(core.CodeInvalid, "%s client: environment variable %s is not set", service, name)
		}
	}
	transport := c.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 64
		transport = own
	}
	backoff := c.Backoff
	if backoff == nil {
		backoff = jitter
	}
	s := Settings{
		Region:      cmp.Or(c.Region, getenv("AWS_REGION")),
		Credentials: c.credentials(),
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
	if address := getenv(endpoint); address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			return Settings{}, core.Errorf(core.CodeInvalid, "%s client: environment variable %s is not an http or https URL", service, endpoint) // not quoted: it may have a password
		}
		s.BaseEndpoint = aws.String(address)
	}
	return s, nil
}

// wanted are the variables that must be there.
func (c Config) wanted() []string {
	var names []string
	if c.Region == "" {
		names = append(names, "AWS_REGION")
	}
	if c.Credentials == nil {
		names = append(names, "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	}
	return names
}

func (c Config) credentials() aws.CredentialsProvider {
	if c.Credentials != nil {
		return c.Credentials
	}
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{
			AccessKeyID:     c.getenv("AWS_ACCESS_KEY_ID"),
			SecretAccessKey: c.getenv("AWS_SECRET_ACCESS_KEY"),
			SessionToken:    c.getenv("AWS_SESSION_TOKEN"),
			Source:          "environment",
		}, nil
	})
}

func jitter(retried int) time.Duration {
	limit := min(25*time.Millisecond<<min(retried, 10), time.Second)
	return time.Duration(rand.Int64N(int64(limit)))
}
