package restore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
)

// Account calls the services of an AWS account that a restore needs. DynamoDB has a client;
// the few calls of Lambda, EventBridge Scheduler and S3 are signed here.
type Account struct {
	tables                *dynamodb.Client
	config                awsenv.Config
	lambda, scheduler, s3 service
}

// NewAccount makes the clients of an account; Region and Credentials of its configuration are
// required. AWS_ENDPOINT_URL_DYNAMODB, _LAMBDA, _SCHEDULER and _S3 replace the region's
// endpoints. It sends no request.
func NewAccount(c awsenv.Config) (*Account, error) {
	if c.Region == "" || c.Credentials == nil {
		return nil, errors.New("restore: Region and Credentials are required")
	}
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	c.MaxAttempts, c.Timeout = attempts, time.Minute
	tables, err := dynamo.NewClient(c)
	if err != nil {
		return nil, err
	}
	of := func(signing, variable string) service {
		s := service{signing: signing, config: c, endpoint: strings.TrimSuffix(c.Getenv(variable), "/")}
		if s.endpoint == "" {
			s.endpoint = "https://" + signing + "." + c.Region + ".amazonaws.com"
			if strings.HasPrefix(c.Region, "cn-") {
				s.endpoint += ".cn"
			}
		}
		return s
	}
	return &Account{
		tables: tables, config: c, lambda: of("lambda", "AWS_ENDPOINT_URL_LAMBDA"),
		scheduler: of("scheduler", "AWS_ENDPOINT_URL_SCHEDULER"), s3: of("s3", "AWS_ENDPOINT_URL_S3"),
	}, nil
}

// attempts is how often a request is sent while it is throttled or fails at the service.
const attempts = 6

// service signs requests to one service.
type service struct {
	signing, endpoint string
	config            awsenv.Config
}

// refusal is a response that is no success.
type refusal struct {
	doing  string
	status int
	text   string
}

func (e *refusal) Error() string {
	return fmt.Sprintf("%s: status %d: %s", e.doing, e.status, e.text)
}

// again reports whether the same request can succeed later.
func (e *refusal) again() bool {
	return e.status >= 500 || e.status == http.StatusTooManyRequests || e.status == http.StatusConflict
}

// send sends a request with a JSON body, or none, and returns the body of the response. A
// request that was throttled, or that met another change, is repeated.
func (s service) send(ctx context.Context, method, path string, query url.Values, body any) ([]byte, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		text, err := s.once(ctx, method, path, query, content)
		var refused *refusal
		if err == nil || attempt == attempts || errors.As(err, &refused) && !refused.again() || ctx.Err() != nil {
			return text, err
		}
		if err := Sleep(ctx, time.Second/4<<attempt); err != nil {
			return nil, err
		}
	}
}

func (s service) once(ctx context.Context, method, path string, query url.Values, content []byte) ([]byte, error) {
	doing := method + " " + path + " of " + s.signing
	address, err := url.Parse(s.endpoint)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	address.Path, address.RawPath, address.RawQuery = address.Path+path, address.Path+escaped(path), strings.ReplaceAll(query.Encode(), "+", "%20")
	request, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Amz-Content-Sha256", hash)
	credentials, err := s.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	raw := func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.signing == "s3" }
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hash, s.signing, s.config.Region, time.Now(), raw); err != nil {
		return nil, err
	}
	client := http.Client{Transport: s.config.Transport, Timeout: s.config.Timeout}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if response.StatusCode/100 != 2 {
		return nil, &refusal{doing, response.StatusCode, strings.TrimSpace(string(text[:min(len(text), 500)]))}
	}
	return text, nil
}

// get sends a request and decodes the JSON of the response.
func get[T any](ctx context.Context, s service, method, path string, query url.Values, body any) (v T, err error) {
	text, err := s.send(ctx, method, path, query, body)
	if err != nil || len(text) == 0 {
		return v, err
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%s %s of %s: %w", method, path, s.signing, err)
	}
	return v, nil
}

// escaped is a path as signatures have it.
func escaped(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Sleep waits for a time, or until the context ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
