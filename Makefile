# The tasks of this repository. `make run` and `make test` need Go, git and make.

GO ?= go
CLIENTS := $(wildcard scripts/clients/*)

.PHONY: run test check unit kill coldstart test-clients bench nightly

run: ## Start the local host on 127.0.0.1:3000 (REVEILLE_ADDR)
	$(GO) run ./scripts/dev

test: check unit kill ## Everything that needs no network and no other tool

check: ## Formatting, vet, staticcheck (the rules of the layout are tests: scripts/house)
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) vet -tags killpoints ./scripts/dev ./functions/...
	$(GO) tool staticcheck ./...

unit:
	$(GO) test -race ./...

kill: ## Kill the local host at every named I/O point, restart it, look at what is there
	$(GO) test -tags killpoints -run 'Kill' ./scripts/dev

coldstart: ## Clone, empty the Go caches, time `make run` to the end of the first answer
	scripts/coldstart.sh

test-clients: ## The protocols as the official npm clients speak them (needs node and npm)
	@for folder in $(CLIENTS); do echo "npm ci in $$folder"; (cd $$folder && npm ci --no-audit --no-fund --loglevel=error) || exit 1; done
	$(GO) test -tags clients -run 'Client' ./adapters/... ./scripts/...

bench: ## Speed and memory; nothing here passes or fails
	$(GO) test -run '^$$' -bench . -benchmem ./core/... ./adapters/... ./scripts/...

nightly: ## What takes too long for every change: fuzzing, many rounds under the race detector
	$(GO) test -race -count=5 ./core/...
	scripts/fuzz.sh 60s
