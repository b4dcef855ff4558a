package state

// Profiles is replaced by the part that has the stores.
type Profiles interface{}
