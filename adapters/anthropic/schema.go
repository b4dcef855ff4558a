package anthropic

import "encoding/json"

// closed returns a schema as the API takes it.
func closed(schema json.RawMessage) (json.RawMessage, error) { return schema, nil }
