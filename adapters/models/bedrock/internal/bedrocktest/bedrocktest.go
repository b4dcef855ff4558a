package bedrocktest

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// Event is one event on the wire, such as messageStop; payload is its JSON.
func Event(kind, payload string) []byte {
	return Message(payload, ":message-type", "event", ":event-type", kind, ":content-type", "application/json")
}

// Exception is an exception inside a stream, such as throttlingException.
func Exception(kind, message string) []byte {
	return Message(fmt.Sprintf(`{"message":%q}`, message), ":message-type", "exception", ":exception-type", kind, ":content-type", "application/json")
}

// Unmodeled is an error inside a stream that the API does not name.
func Unmodeled(code, message string) []byte {
	return Message("", ":message-type", "error", ":error-code", code, ":error-message", message)
}

// Message is any message of the event stream; headers are names and values in turn.
func Message(payload string, headers ...string) []byte {
	message := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		message.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, message); err != nil {
		panic(err) // a buffer takes everything, and the headers are ours
	}
	return b.Bytes()
}

// Start is the start of a turn. Start, Text, Stop and Usage are the events of most turns.
func Start() []byte { return Event("messageStart", `{"role":"assistant"}`) }

// Text is a piece of text of a block.
func Text(block int, text string) []byte {
	return Event("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{"text":%q},"p":"abcdefgh"}`, block, text))
}

// End is the end of a block.
func End(block int) []byte {
	return Event("contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, block))
}

// Call is the start of a tool call.
func Call(block int, id, name string) []byte {
	return Event("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":%q,"name":%q}}}`, block, id, name))
}

// Argument is a piece of a call's arguments.
func Argument(block int, text string) []byte {
	return Event("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{"toolUse":{"input":%q}}}`, block, text))
}

// Reasoning is a piece of reasoning: its text, or its signature.
func Reasoning(block int, member, value string) []byte {
	return Event("contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":{"reasoningContent":{%q:%q}}}`, block, member, value))
}

// Stop is the end of a turn; a turn without it is incomplete.
func Stop(reason string) []byte {
	return Event("messageStop", fmt.Sprintf(`{"stopReason":%q}`, reason))
}

// Usage follows the end.
func Usage(input, output, read, written int) []byte {
	return Event("metadata", fmt.Sprintf(`{"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d,"cacheReadInputTokens":%d,"cacheWriteInputTokens":%d},"metrics":{"latencyMs":7}}`,
		input, output, input+output+read+written, read, written))
}

// Serve sends a stream, each frame immediately.
func Serve(w http.ResponseWriter, frames ...[]byte) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	w.WriteHeader(http.StatusOK)
	Send(w, frames...)
}

// Send continues a stream that Serve started.
func Send(w http.ResponseWriter, frames ...[]byte) {
	for _, f := range frames {
		if _, err := w.Write(f); err != nil {
			return // the client has gone
		}
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
	}
}

// Refuse sends an error of the API; code is in X-Amzn-ErrorType, as AWS has it.
func Refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Requestid", "r-1")
	if code != "" {
		w.Header().Set("X-Amzn-Errortype", code+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"message":%q}`, message)
}
