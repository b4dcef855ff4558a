package bedrock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// maxMessage is how many bytes of a provider's message are kept.
const maxMessage = 500

// failure is the error of a request that got no stream, as a *model.Error.
func (m *provider) failure(err error) error {
	var missing credentialsError
	if errors.As(err, &missing) {
		return &model.Error{Kind: model.KindUnauthorized, Message: "bedrock: credentials: " + m.bounded(missing.Error())}
	}
	var said smithy.APIError
	var response *awshttp.ResponseError
	status, request, wait := 0, "", time.Duration(0)
	if errors.As(err, &response) && response.HTTPStatusCode() != 0 {
		status, request = response.HTTPStatusCode(), response.ServiceRequestID()
		wait = wire.RetryAfter(response.Response.Header, time.Now()) // gateways say one
	}
	switch {
	case errors.As(err, &said):
		return m.refusal(said, status, request, wait)
	case status != 0:
		return m.refusal(&smithy.GenericAPIError{Code: "Unknown", Message: "a response that is not JSON"}, status, request, wait)
	}
	var unsent *smithyhttp.RequestSendError
	var late net.Error
	var strange strangeError
	var redirect redirectError
	switch {
	case errors.As(err, &redirect): // the next attempt would end the same
		return &model.Error{Kind: model.KindInvalid, Message: "bedrock: " + m.bounded(redirect.Error())}
	case errors.Is(err, egress.ErrRefused):
		return &model.Error{Kind: model.KindInvalid, Message: "bedrock: no response: " + m.bounded(err.Error())}
	case errors.As(err, &strange):
		return &model.Error{Kind: model.KindProvider, Message: "bedrock: " + m.bounded(strange.Error())}
	case errors.As(err, &late) && late.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return &model.Error{Kind: model.KindTimeout, Message: "bedrock: no response: " + m.bounded(err.Error())}
	case errors.As(err, &unsent):
		return &model.Error{Kind: model.KindProvider, Message: "bedrock: no response: " + m.bounded(unsent.Error())}
	}
	return &model.Error{Kind: model.KindInvalid, Message: "bedrock: " + m.bounded(err.Error())}
}

// refusal is what the service said went wrong.
func (m *provider) refusal(said smithy.APIError, status int, request string, wait time.Duration) error {
	text := "bedrock: "
	if status != 0 {
		text += fmt.Sprintf("status %d: ", status)
	}
	text += m.bounded(said.ErrorCode() + ": " + said.ErrorMessage())
	if request != "" {
		text += " (request " + m.bounded(request) + ")"
	}
	e := &model.Error{Kind: kindOf(said.ErrorCode(), status, said.ErrorMessage()), Message: text, Status: status, RetryAfter: wait}
	if e.Kind == model.KindOverflow {
		e.Limit = wire.LimitIn(said.ErrorMessage())
	}
	return e
}

// cut is the error of a stream that ended or failed before its turn did. The SDK has
// none for a connection that broke off.
func (m *provider) cut(err error) error {
	var said smithy.APIError
	var limit wire.Failure
	switch {
	case errors.As(err, &said):
		return m.refusal(said, 0, "", 0)
	case errors.As(err, &limit):
		return &model.Error{Kind: limit.Kind, Message: "bedrock: " + limit.Message}
	case err != nil:
		return &model.Error{Kind: model.KindInterrupted, Message: "bedrock: read the stream: " + m.bounded(err.Error())}
	}
	return &model.Error{Kind: model.KindInterrupted, Message: "bedrock: the stream ended without messageStop"}
}

// kinds maps the service's codes to kinds of errors.
var kinds = map[string]model.ErrorKind{
	"throttlingexception":           model.KindRateLimited,
	"servicequotaexceededexception": model.KindQuota,
	"serviceunavailableexception":   model.KindOverloaded,
	"modelnotreadyexception":        model.KindOverloaded,
	"internalserverexception":       model.KindProvider,
	"modelerrorexception":           model.KindProvider,
	"modelstreamerrorexception":     model.KindProvider,
	"modeltimeoutexception":         model.KindTimeout,
	"accessdeniedexception":         model.KindUnauthorized,
	"unrecognizedclientexception":   model.KindUnauthorized,
	"expiredtokenexception":         model.KindUnauthorized,
	"invalidsignatureexception":     model.KindUnauthorized,
	"incompletesignatureexception":  model.KindUnauthorized,
	"resourcenotfoundexception":     model.KindNotFound,
	"validationexception":           model.KindInvalid,
}

// Parts of messages, for codes that are too general.
var (
	unknownPhrases = []string{"model identifier is invalid", "on-demand throughput", "end of its life"}
	quotaPhrases   = []string{"tokens per day", "requests per day"}
)

// kindOf classes a failure by its code, and without a known one by its status.
func kindOf(code string, status int, message string) model.ErrorKind {
	kind, known := kinds[strings.ToLower(code)]
	has := func(phrase string) bool { return strings.Contains(strings.ToLower(message), phrase) }
	switch {
	case !known && status == http.StatusFailedDependency: // the model's own error
		return model.KindProvider
	case !known:
		return wire.KindOf(status, message)
	case kind == model.KindRateLimited && slices.ContainsFunc(quotaPhrases, has):
		return model.KindQuota
	case kind == model.KindInvalid && slices.ContainsFunc(unknownPhrases, has):
		return model.KindNotFound
	case kind == model.KindInvalid:
		return cmp.Or(wire.Said(message), kind)
	}
	return kind
}

// bounded makes one line of text without the token.
func (m *provider) bounded(text string) string { return wire.OneLine(m.redact(text), maxMessage) }
