package awsapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
)

// Service makes calls of a service that has no client here. It signs them with the SDK's
// signer, which every function links already, sends them, and retries those that may
// succeed. It is safe for concurrent use.
type Service struct {
	name     string // in signatures
	base     *url.URL
	settings Settings
	signer   *v4.Signer
	now      func() time.Time
}

// Options identifies the service.
type Options struct {
	Title    string           // for errors, such as "S3"
	Signing  string           // its name in signatures and, before the region, in addresses, such as "s3"
	Endpoint string           // name of the variable for another endpoint than the region's
	Now      func() time.Time // the time of signatures; default time.Now
	// Label comes before the service in the name of a separate endpoint, such as a
	// bucket's. Default: no label.
	Label string
}

// New reads the environment for a service, as [Read] does.
func New(c awsenv.Config, o Options) (*Service, error) {
	settings, err := Read(c, o.Title, o.Endpoint)
	if err != nil {
		return nil, err
	}
	host := o.Signing + "." + settings.Region + ".amazonaws.com"
	if strings.HasPrefix(settings.Region, "cn-") {
		host += ".cn"
	}
	if o.Label != "" {
		host = o.Label + "." + host
	}
	base, err := url.Parse(strings.TrimSuffix(cmp.Or(aws.ToString(settings.BaseEndpoint), "https://"+host), "/"))
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, "%s client: AWS_REGION gives no valid address", o.Title)
	}
	s := &Service{name: o.Signing, base: base, settings: settings, now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	s.signer = v4.NewSigner(func(signer *v4.SignerOptions) {
		signer.DisableURIPathEscaping = true // Send has escaped it, once, which is right for S3 and no matter for "/"
	})
	return s, nil
}

// Call is one request.
type Call struct {
	Method string
	Path   string // unescaped, from the slash; empty: "/"
	Query  url.Values
	Header http.Header // in addition to the headers of the signature
	Body   []byte
	Most   int64 // bytes of a response's body; a longer one is truncated. Default 1 MiB
}

// Response is the response of the service, with any status.
type Response struct {
	Status int
	Body   []byte
}

// errTransient tells the retryer that another attempt may succeed.
var errTransient = errors.New("the service is not available for now")

// Send returns the response of the final attempt. An error means that there was no
// response: the outcome is unknown. Send retries a call, as often as the settings allow,
// while there is no response or its status is 429 or 5xx.
func (s *Service) Send(ctx context.Context, call Call) (Response, error) {
	for try := 1; ; try++ {
		response, err := s.send(ctx, call)
		transient := err != nil || response.Status == http.StatusTooManyRequests || response.Status >= 500
		if !transient || try >= s.settings.Retryer.MaxAttempts() || ctx.Err() != nil {
			return response, err
		}
		delay, _ := s.settings.Retryer.RetryDelay(try, cmp.Or(err, errTransient))
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return response, cmp.Or(err, ctx.Err())
		}
	}
}

// Target sends a call to a service that accepts its operations as JSON, such as
// "AWSEvents.PutEvents".
func (s *Service) Target(ctx context.Context, operation string, body []byte) (Response, error) {
	return s.Send(ctx, Call{
		Method: http.MethodPost, Body: body,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {operation}},
	})
}

func (s *Service) send(ctx context.Context, call Call) (Response, error) {
	request, err := s.request(ctx, call)
	if err != nil {
		return Response{}, err
	}
	response, err := s.settings.HTTPClient.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, cmp.Or(call.Most, 1<<20)))
	return Response{Status: response.StatusCode, Body: body}, err
}

// request makes and signs the request of one try.
func (s *Service) request(ctx context.Context, call Call) (*http.Request, error) {
	address := *s.base
	address.Path += cmp.Or(call.Path, "/")
	address.RawPath = httpbinding.EscapePath(address.Path, false) // as AWS escapes it: net/url leaves more as it is
	address.RawQuery = strings.ReplaceAll(call.Query.Encode(), "+", "%20")
	request, err := http.NewRequestWithContext(ctx, call.Method, address.String(), bytes.NewReader(call.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range call.Header {
		request.Header[name] = values
	}
	credentials, err := s.settings.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(call.Body)
	hash := hex.EncodeToString(sum[:])
	request.Header.Set("X-Amz-Content-Sha256", hash) // S3 wants it, and checks what came by it
	return request, s.signer.SignHTTP(ctx, credentials, request, hash, s.name, s.settings.Region, s.now())
}
