package state

import "encoding/json"

// Operation is one operation of a [Patch].
type Operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// Patch is a list of RFC 6902 operations on scoped paths.
type Patch []Operation
