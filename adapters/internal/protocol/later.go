package protocol

import (
	"net/http"
	"sync"
)

// Later returns the handler that build returns, which is called at the first request: a
// function that serves several protocols starts without what those need that nobody
// speaks. It is for what cannot fail by its configuration, since that must end a start.
func Later(build func() http.Handler) http.Handler {
	once := sync.OnceValue(build)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { once().ServeHTTP(w, r) })
}
