package bedrock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"unicode/utf8"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/reveille-run/reveille/core/model"
)

// maxMessage is how many bytes of a provider's message are kept.
const maxMessage = 500

// failure is the error of a request that got no stream, as a *model.Error.
func (m *Model) failure(err error) error {
	var missing credentialsError
	if errors.As(err, &missing) {
		return &model.Error{Kind: model.KindUnauthorized, Message: "bedrock: credentials: " + m.bounded(missing.Error())}
	}
	var said smithy.APIError
	var response *awshttp.ResponseError
	status, request := 0, ""
	if errors.As(err, &response) {
		status, request = response.HTTPStatusCode(), response.ServiceRequestID()
	}
	switch {
	case errors.As(err, &said):
		return m.refusal(said, status, request)
	case status != 0:
		return m.refusal(&smithy.GenericAPIError{Code: "Unknown", Message: "a response that is no JSON"}, status, request)
	}
	var unsent *smithyhttp.RequestSendError
	var wait net.Error
	switch {
	case errors.As(err, &wait) && wait.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return &model.Error{Kind: model.KindTimeout, Message: "bedrock: no response: " + m.bounded(err.Error())}
	case errors.As(err, &unsent):
		return &model.Error{Kind: model.KindProvider, Message: "bedrock: no response: " + m.bounded(unsent.Error())}
	}
	return &model.Error{Kind: model.KindInvalid, Message: "bedrock: " + m.bounded(err.Error())}
}

// refusal is what the service said went wrong.
func (m *Model) refusal(said smithy.APIError, status int, request string) error {
	text := "bedrock: "
	if status != 0 {
		text += fmt.Sprintf("status %d: ", status)
	}
	text += m.bounded(said.ErrorCode() + ": " + said.ErrorMessage())
	if request != "" {
		text += " (request " + m.bounded(request) + ")"
	}
	return &model.Error{Kind: kindOf(said.ErrorCode(), status, said.ErrorMessage()), Message: text, Status: status}
}

// cut is the error of a stream that ended or failed before its turn did. The SDK has
// none for a connection that broke off.
func (m *Model) cut(err error) error {
	var said smithy.APIError
	switch {
	case errors.As(err, &said):
		return m.refusal(said, 0, "")
	case err != nil:
		return &model.Error{Kind: model.KindInterrupted, Message: "bedrock: read the stream: " + m.bounded(err.Error())}
	}
	return &model.Error{Kind: model.KindInterrupted, Message: "bedrock: the stream ended without messageStop"}
}

// kinds are the codes that say what went wrong.
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

// What the service says where its code says too little.
var (
	overflowPhrases = []string{"input is too long", "prompt is too long", "too many input tokens", "context length", "context window", "maximum context", "maximum tokens you requested exceeds", "exceeds the maximum number of tokens"}
	unknownPhrases  = []string{"model identifier is invalid", "on-demand throughput isn't supported", "on-demand throughput isn’t supported", "end of its life"}
	quotaPhrases    = []string{"tokens per day", "daily"}
)

// kindOf classes a failure by its code, and without a known one by its status.
func kindOf(code string, status int, message string) model.ErrorKind {
	kind, known := kinds[strings.ToLower(code)]
	if !known {
		kind = ofStatus(status)
	}
	message = strings.ToLower(message)
	switch {
	case kind == model.KindRateLimited && has(message, quotaPhrases):
		return model.KindQuota
	case kind == model.KindInvalid && has(message, overflowPhrases):
		return model.KindOverflow
	case kind == model.KindInvalid && has(message, unknownPhrases):
		return model.KindNotFound
	}
	return kind
}

func has(message string, phrases []string) bool {
	for _, phrase := range phrases {
		if strings.Contains(message, phrase) {
			return true
		}
	}
	return false
}

func ofStatus(status int) model.ErrorKind {
	switch status {
	case http.StatusTooManyRequests:
		return model.KindRateLimited
	case http.StatusServiceUnavailable, 529:
		return model.KindOverloaded
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return model.KindTimeout
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.KindUnauthorized
	case http.StatusNotFound:
		return model.KindNotFound
	case http.StatusRequestEntityTooLarge:
		return model.KindOverflow
	case 0, http.StatusFailedDependency: // in a stream; or the model's own error
		return model.KindProvider
	}
	if status >= 500 {
		return model.KindProvider
	}
	return model.KindInvalid
}

// bounded makes one line of text without the token, of at most maxMessage bytes.
func (m *Model) bounded(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(m.redact(text), "?")), " ")
	if len(text) <= maxMessage {
		return text
	}
	cut := maxMessage - len("...")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
