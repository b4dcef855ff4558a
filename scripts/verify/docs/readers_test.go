package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/reveille-run/reveille/adapters/triggers/rules"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/catalog"
)

// readers decode the blocks of JSON and YAML in documents, as the runtime decodes them.
var readers = map[string]func(data []byte) error{
	"json": func(data []byte) error { return json.Unmarshal(data, new(any)) },
	"spec": func(data []byte) error { // agents, models, pools, providers
		_, err := specfile.Decode("block.yaml", data) // which JSON is, too
		return err
	},
	"triggers": func(data []byte) error {
		_, err := rules.New(string(data), rules.Options{Runtime: anyAgent{}, Tenant: "default"})
		return err
	},
	"catalog": func(data []byte) error {
		_, err := catalog.Default().With(data)
		return err
	},
	"limits": func(data []byte) error { return new(account.Tenants).Decode(data) },
}

// anyAgent is a host that has whatever agent a trigger names, and runs none.
type anyAgent struct{}

func (anyAgent) HasAgent(string) bool { return true }
func (anyAgent) DefaultAgent() string { return "demo" }
func (anyAgent) Submit(context.Context, mailbox.Submission) (mailbox.Receipt, error) {
	return mailbox.Receipt{}, nil
}

// isReadBy returns an error if a reader refuses a block.
func isReadBy(block, reader string) error {
	decode, ok := readers[reader]
	if !ok {
		return fmt.Errorf("there is no reader %q: add it to readers_test.go", reader)
	}
	if err := decode([]byte(block)); err != nil {
		return fmt.Errorf("%s: %w", reader, err)
	}
	return nil
}
