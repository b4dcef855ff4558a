package s3

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Bucket is one bucket. It is safe for concurrent use.
type Bucket struct {
	service *awsapi.Service
	folder  string // before every key in a path
}

// New returns the bucket with the given name. The environment configures the connection;
// AWS_ENDPOINT_URL_S3 replaces the region's endpoint, and then paths contain the bucket.
// A missing variable is an error that names it.
func New(c awsenv.Config, name string) (*Bucket, error) {
	o := awsapi.Options{Title: "S3", Signing: "s3", Endpoint: "AWS_ENDPOINT_URL_S3"}
	b := &Bucket{folder: "/" + name + "/"}
	if awsapi.Variable(c, o.Endpoint) == "" && !strings.Contains(name, ".") { // no certificate is for a name with dots
		o.Label, b.folder = name, "/"
	}
	var err error
	b.service, err = awsapi.New(c, o)
	return b, err
}

// Put stores an object, or replaces it. If the error is [store.ErrThrottled], the object
// was refused for now. If it has [core.CodeUnavailable], the outcome is unknown.
func (b *Bucket) Put(ctx context.Context, key string, content []byte) error {
	response, err := b.service.Send(ctx, awsapi.Call{
		Method: http.MethodPut, Path: b.folder + key, Body: content,
		Header: http.Header{"Content-Type": {"application/octet-stream"}},
	})
	return outcome("put object "+key, response, err)
}

// Get reads an object that should have at most so many bytes: a longer one is cut off, but
// not before it shows that it is longer. ok is false if it does not exist. A caller that may
// not list the bucket gets an error instead: S3 does not tell it.
func (b *Bucket) Get(ctx context.Context, key string, most int) (content []byte, ok bool, err error) {
	response, err := b.service.Send(ctx, awsapi.Call{Method: http.MethodGet, Path: b.folder + key, Most: max(int64(most)+1, mostError)})
	if err == nil && response.Status == http.StatusNotFound && code(response.Body) == "NoSuchKey" {
		return nil, false, nil
	}
	if err := outcome("get object "+key, response, err); err != nil {
		return nil, false, err
	}
	return response.Body, true, nil
}

// atOnce is how many objects are deleted at the same time.
const atOnce = 16

// Erase deletes every object whose key begins with a prefix, also those that are put
// until it returns. After an error some may remain.
func (b *Bucket) Erase(ctx context.Context, prefix string) error {
	for {
		keys, err := b.list(ctx, prefix)
		if err != nil || len(keys) == 0 {
			return err
		}
		var all sync.WaitGroup
		errs := make([]error, len(keys))
		places := make(chan struct{}, atOnce)
		for i, key := range keys {
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				response, err := b.service.Send(ctx, awsapi.Call{Method: http.MethodDelete, Path: b.folder + key})
				errs[i] = outcome("delete object "+key, response, err)
			})
		}
		all.Wait()
		if err := cmp.Or(errs...); err != nil {
			return err
		}
	}
}

// mostError bounds the body of a refusal.
const mostError = 64 << 10

// mostText bounds the XML of a response: a list of 1,000 keys of 1,024 bytes each, with
// what S3 says about them.
const mostText = 4 << 20

// list returns keys that begin with a prefix, the first 1,000 at most.
func (b *Bucket) list(ctx context.Context, prefix string) ([]string, error) {
	response, err := b.service.Send(ctx, awsapi.Call{
		Method: http.MethodGet, Path: b.folder, Most: mostText,
		Query: url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {"url"}},
	})
	doing := "list objects of " + prefix
	if err := outcome(doing, response, err); err != nil {
		return nil, err
	}
	text := string(response.Body)
	if !strings.Contains(text, "<ListBucketResult") || !strings.Contains(text, "</ListBucketResult>") {
		return nil, core.Errorf(core.CodeUnavailable, "%s: the response is not a list", doing)
	}
	var keys []string
	for {
		escaped, rest, ok := element(text, "Key")
		if !ok {
			return keys, nil
		}
		key, err := url.QueryUnescape(escaped)
		if err != nil || !strings.HasPrefix(key, prefix) { // what is deleted is never another's
			return nil, core.Errorf(core.CodeUnavailable, "%s: the response has %s", doing, core.Excerpt(escaped))
		}
		keys, text = append(keys, key), rest
	}
}

// element returns the text of the first element of a name, and the rest after it. The
// responses that are read in this way have neither attributes nor escapes, and no
// function links encoding/xml.
func element(text, name string) (content, rest string, ok bool) {
	_, behind, begins := strings.Cut(text, "<"+name+">")
	content, rest, ends := strings.Cut(behind, "</"+name+">")
	return content, rest, begins && ends
}

// code is the code of an error's body, empty if it has none.
func code(body []byte) string {
	found, _, _ := element(string(body), "Code")
	return found
}

// outcome gives a response its meaning: nil for a success.
func outcome(doing string, response awsapi.Response, err error) error {
	switch status := response.Status; {
	case err != nil:
		return core.Errorf(core.CodeUnavailable, "%s: outcome unknown: %w", doing, err)
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && code(response.Body) == "SlowDown":
		return fmt.Errorf("%s: %w: status %d", doing, store.ErrThrottled, status)
	case status >= 500:
		return core.Errorf(core.CodeUnavailable, "%s: outcome unknown: status %d %s", doing, status, core.Excerpt(code(response.Body)))
	}
	return core.Errorf(core.CodeInternal, "%s: status %d %s", doing, response.Status, core.Excerpt(code(response.Body)))
}
