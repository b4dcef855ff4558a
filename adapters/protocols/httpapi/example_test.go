package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// A thread is made by the first message to it:
//
//	curl -i localhost:3000/v1/threads/t1/messages -H 'content-type: application/json' \
//	  -H 'idempotency-key: order-42' -d '{"messages":[{"role":"user","content":"echo: hello"}]}'
func ExampleNew() {
	server := httptest.NewServer(httpapi.New(&fake{}, &httpapi.Options{ // &fake{}: the Host() of a reveille.Runtime
		Authenticate: httpapi.Anonymous("local"),
	}))
	defer server.Close()
	request, err := http.NewRequest("POST", server.URL+"/v1/threads/t1/messages",
		strings.NewReader(`{"messages":[{"role":"user","content":"echo: hello"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "order-42")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Printf("%d %s", response.StatusCode, body)
	// Output: 202 {"status":"queued","thread_id":"t1","run_id":"01890000-0000-7000-8000-000000000001","dispatch_id":"01890000-0000-7000-8000-000000000002"}
}
