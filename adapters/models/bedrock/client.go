package bedrock

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go/auth/bearer"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
)

const (
	endpointVariable = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
	tokenVariable    = "AWS_BEARER_TOKEN_BEDROCK"
)

// connection is what the client is made of.
type connection struct {
	settings awsapi.Settings
	token    string // empty: requests are signed
}

// connect reads the environment. It makes no request.
func connect(config awsenv.Config) (connection, error) {
	token := awsapi.Variable(config, tokenVariable)
	if token != "" {
		if err := wire.CheckHeader("Bedrock client", "environment variable "+tokenVariable, token); err != nil {
			return connection{}, err
		}
		config.Credentials = aws.AnonymousCredentials{}
	}
	if config.Transport == nil {
		transport, err := transport(awsapi.Variable(config, endpointVariable))
		if err != nil {
			return connection{}, err
		}
		config.Transport = transport
	}
	settings, err := awsapi.Read(config, "Bedrock", endpointVariable)
	return connection{settings, token}, err
}

// domains are those of the endpoints of AWS. In a VPC they can have private addresses.
var domains = []string{"amazonaws.com", "amazonaws.com.cn", "api.aws"}

// transport returns the transport by the rules for outgoing requests, and checks the
// endpoint, unless it is empty, by them.
func transport(endpoint string) (http.RoundTripper, error) {
	rules, err := egress.Read(egress.Options{Local: true, Domains: domains})
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "Bedrock client: %w", err)
	}
	if u, err := url.Parse(endpoint); endpoint != "" && err == nil && u.Hostname() != "" { // else what reads it says so
		if err := rules.Check(u); err != nil {
			return nil, core.Errorf(core.CodeInvalid, "Bedrock client: environment variable %s: %w", endpointVariable, err)
		}
	}
	return rules.Transport(), nil
}

// client makes the client: one attempt a request, and no time limit but that of the
// stream, which may be long.
func (c connection) client() *bedrockruntime.Client {
	untimed := *c.settings.HTTPClient
	untimed.Timeout = 0
	options := bedrockruntime.Options{
		Region: c.settings.Region, BaseEndpoint: c.settings.BaseEndpoint,
		Credentials: named{c.settings.Credentials}, HTTPClient: sender{&untimed}, Retryer: aws.NopRetryer{},
	}
	return bedrockruntime.New(options, func(o *bedrockruntime.Options) {
		if c.token == "" { // the SDK has looked at the environment by itself, which need not be ours
			o.BearerAuthTokenProvider, o.AuthSchemePreference = nil, nil
			return
		}
		o.BearerAuthTokenProvider = bearer.TokenProviderFunc(func(context.Context) (bearer.Token, error) {
			return bearer.Token{Value: c.token}, nil
		})
		o.AuthSchemePreference = []string{"httpBearerAuth"}
	})
}

// sender gives each request a separate body. The SDK closes its body as soon as the
// response starts; if the service responds before it has read the whole body, that would
// end the connection in the middle of the stream.
type sender struct{ client *http.Client }

// Do implements bedrockruntime.HTTPClient.
func (s sender) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return s.client.Do(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	own := r.WithContext(r.Context())
	own.Body = io.NopCloser(bytes.NewReader(text))
	own.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	response, err := s.client.Do(own)
	if err != nil {
		return nil, err
	}
	if text := egress.Redirect(response); text != "" {
		_ = response.Body.Close()
		return nil, redirectError(fmt.Sprintf("status %d: %s", response.StatusCode, text))
	}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode == http.StatusOK && media != "" && media != "application/vnd.amazon.eventstream" {
		_ = response.Body.Close()
		return nil, strangeError(media)
	}
	if response.StatusCode == http.StatusOK {
		response.Body = newBody(response.Body)
	}
	return response, nil
}

// strangeError is the media type of a response that is not an event stream.
type strangeError string

// Error implements error.
func (e strangeError) Error() string {
	return "responded with " + string(e) + " where a stream was asked for"
}

// redirectError is the sentence about a redirect.
type redirectError string

// Error implements error.
func (e redirectError) Error() string { return string(e) }

// redact removes the token from text: servers quote it in their refusals.
func (c connection) redact(text string) string {
	return wire.Redact(text, c.token)
}

// named marks the errors of credentials, to distinguish them from the provider's.
type named struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (n named) Retrieve(ctx context.Context) (aws.Credentials, error) {
	credentials, err := n.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return credentials, credentialsError{err}
	}
	return credentials, nil
}

// credentialsError is why there are no credentials.
type credentialsError struct{ error }

// Unwrap returns the provider's own error.
func (e credentialsError) Unwrap() error { return e.error }
