package runtime_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/runtime"
)

func Example_yaml() {
	parts, err := specfile.Load(os.DirFS("testdata/agents"))
	if err != nil {
		log.Fatal(err)
	}
	parts.Models = map[string]agent.ModelBinding{"scripted": {Model: scripted.New(env.System())}}
	r, err := runtime.New(parts)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), "guide", "hello")
	fmt.Println(result.Text, err)
	// Output: You said: hello <nil>
}
