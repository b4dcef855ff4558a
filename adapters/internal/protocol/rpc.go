package protocol

// The error codes of JSON-RPC 2.0, for protocols whose messages are in that form.
const (
	RPCParse          = -32700 // the message is not JSON
	RPCInvalidRequest = -32600 // it is not a request, or not one that can be made now
	RPCNoMethod       = -32601
	RPCInvalidParams  = -32602
	RPCInternal       = -32603
)
