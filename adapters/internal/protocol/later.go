package protocol

import (
	"net/http"
	"sync"
)

// Later returns a handler that calls build at its first request and passes all requests
// to the result. So a function with several protocols does not initialize unused
// protocols at start. Use it only if build cannot fail by its configuration, since wrong
// configuration must end a start.
func Later(build func() http.Handler) http.Handler {
	once := sync.OnceValue(build)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { once().ServeHTTP(w, r) })
}
