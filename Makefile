# The tasks of this repository. `make run` and `make test` need Go, git and make.

GO ?= go
# The race detector needs cgo, which go turns off where it finds no C compiler.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
CLIENTS := $(wildcard scripts/verify/clients/*)
# The tags of all files that are checked, and the folders with files that these leave out.
TAGS := killpoints clients aws project bedrock profile
UNTAGGED = $(shell git grep -lE '^//go:build.*!(killpoints|clients|aws|project|bedrock|profile)' -- '*.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')
# How a function is built for Lambda. Only those that run steps have what the tag bedrock
# links. HTTP/2 is left out, 140 KB of the package: a container has a request or two at a time.
# What AWS wrote is not inlined, which is 100 KB.
LAMBDA := CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -tags lambda.norpc,bedrock,nethttpomithttp2 -gcflags 'github.com/aws/...=-l' -trimpath -ldflags '-s -w'
# How often `make soak` ends the local host, and the seed of a go that is to be repeated.
KILLS ?= 60
SEED ?= 0
# The model of make run, as provider/name; empty: as the environment says. Bedrock is linked
# for a model of its own alone, since it takes 18 s to compile for the first time, with the
# credentials of profiles and SSO, which no function has.
MODEL ?= $(REVEILLE_MODEL)
LOCALBEDROCK := bedrock,profile
# Runs a command with the endpoints of DynamoDB and SQS: those of the environment,
# those of `make aws-up`, else a moto server that ends with the command.
AWS := scripts/verify/aws-with.sh

# How many histories make linearize looks at, of each store.
HISTORIES ?= 5000

# How long make fuzz is at each decoder.
FUZZTIME ?= 2s

# How often make kill kills at each of its 142 places.
ROUNDS ?= 2

# The days of make day.
DAYS ?= 1

# The sample of make mutants.
MUTANTS ?= 300

.PHONY: starts starts-before cost dev smoke invoke logs destroy test-project load openapi exhaustive linearize fuzz help replay run test check unit kill demo-approval sim day sim-mutants soak coldstart test-clients test-copilotkit test-aws test-wire test-deployed aws-up aws-down lint-template sam-build bench mutants nightly deploy \
	build-ApiFunction build-StreamFunction build-StepFunction build-SweepFunction build-TriggerFunction

help: ## List what make can do; `make` alone does so too
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# The shell becomes the host, so that a signal to make reaches it: go run does not pass SIGTERM on.
run: ## Start the local host on 127.0.0.1:3000 (REVEILLE_ADDR); MODEL=provider/name says which model
	@mkdir -p -m 700 .reveille
	@GO=$(GO) scripts/user/build.sh -buildvcs=false $(if $(filter bedrock/%,$(MODEL)),-tags $(LOCALBEDROCK)) -ldflags '-s -w' -o .reveille/dev ./scripts/user/dev
	@$(if $(MODEL),REVEILLE_MODEL="$(MODEL)") REVEILLE_TRIGGERS="$${REVEILLE_TRIGGERS-functions/app/triggers.json}" exec .reveille/dev

dev: ## The same, built and started again whenever a file is saved; runs go on
	@mkdir -p -m 700 .reveille
	@$(GO) build -o .reveille/reload ./scripts/user/reload
	@REVEILLE_TRIGGERS="$${REVEILLE_TRIGGERS-functions/app/triggers.json}" exec .reveille/reload ./scripts/user/dev

test: check unit kill ## Everything that needs no network and no other tool

check: ## Formatting, vet, staticcheck, the rules of the layout
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet -tags '$(TAGS)' ./...
	$(GO) vet $(UNTAGGED)
	$(GO) tool staticcheck -tags '$(TAGS)' ./...
	$(GO) tool staticcheck $(UNTAGGED)
	$(GO) test ./scripts/verify/house ./scripts/verify/docs/...
	@mkdir -p -m 700 .reveille && rm -rf .reveille/page
	@$(BUNDLE) --outdir=$(CURDIR)/.reveille/page
	@diff -r .reveille/page adapters/protocols/page/dist >/dev/null || { echo "adapters/protocols/page/dist is not what its sources make: run make page"; exit 1; }

# How the page is bundled; NODE_PATH is where esbuild looks for the packages.
BUNDLE := cd adapters/protocols/page && NODE_PATH=packages $(GO) tool esbuild src/main.tsx src/style.css --bundle --minify --format=esm --target=es2022 \
	--jsx=automatic --jsx-import-source=preact --charset=utf8 --legal-comments=eof --log-level=warning

.PHONY: page
page: ## Bundle the page: adapters/protocols/page/src and packages to dist
	$(BUNDLE) --outdir=dist

.PHONY: notice
notice: ## Write the licences of the code of others to adapters/protocols/page/NOTICE
	$(GO) run ./scripts/verify/notice > .notice && mv .notice adapters/protocols/page/NOTICE

unit: ## All tests but the kill tests
	@[ -n "$(RACE)" ] || echo "no C compiler: the tests run without the race detector"
	$(GO) test -p 4 -vet=off $(RACE) -skip '$(LONE)' $$($(GO) list ./... | grep -v /scripts/) # more at a time than there are processors: some wait for the disk
	$(GO) test -p 4 -vet=off $$($(GO) list ./scripts/... | grep -vE "/scripts/verify/(house|docs)") # they start programs and wait; check has run the house and the documents
	$(GO) test -vet=off -run '$(LONE)|$(NORACE)' $(NORACEIN)
	$(GO) test -vet=off -short -run EveryHead ./core/internal/thread

# Tests that compute, one goroutine after the other, which the race detector makes take five
# times as long and more.
LONE := NoDamageHides|WhicheverOperation|RunsOfAllSizes|PowerLoss$$|RandomChangesKeep|NothingIsViolatedInAny|EachMistakeIsNamed|ThePageIsCompressed|ClockIsNamed|AtTenThousandMessages|AtMost64KB|ALargeStateIsNotShown|OfATemplate|ATemplateEnds|PartOfASchemaWeighs|MadeToLookAlike|BoundsOfACheck
# Those that leave themselves out under the race detector, or a part of themselves.
NORACE := SameSeed|ADayIs|AShareOfTheWorlds|SoManyRecords|Allocates|CrashMatrix|TheSameFault|AtEveryWrite|ADropped|TurnsOfTheirOwn
NORACEIN := ./core/internal/sim ./core/internal/sim/simtest ./core/internal/accounting ./core/internal/thread ./core/internal/run ./core/host ./core/internal/pattern ./core/internal/schema ./adapters/stores/bolt ./adapters/protocols/httpapi ./adapters/protocols/page ./adapters/triggers/rules ./functions/kit/local

kill: ## Kill the local host 154 times, ROUNDS=2 times over, restart it, look at what is there; cancel tools that do not end
	$(GO) test -parallel 6 -tags killpoints -run Kill -count $(ROUNDS) ./functions/kit/local
	$(GO) test -tags killpoints -run Deaf ./functions/kit/local

exhaustive: ## Walk every head of a small world, and the reads of a thread with 10,000 messages
	$(GO) test -run 'EveryHead|ColdStepReadsNoMore' ./core/internal/thread ./core/internal/run

linearize: ## Look for an order in HISTORIES=5000 histories of concurrent clients, of each store that needs no network
	$(GO) test -count=1 -v -run HistoriesAreLinearizable ./core/store/memory ./adapters/stores/bolt -linear.histories $(HISTORIES)

fuzz: ## Give every decoder inputs that nobody thought of, FUZZTIME=2s each
	scripts/verify/fuzz.sh $(FUZZTIME)

demo-approval: ## A call that waits for approval while the local host is killed and started again
	$(GO) run ./scripts/verify/approval

load: ## 500 streams at once and 2,000 idle followers of a local host: delays, memory, processor (wants a quiet machine)
	$(GO) run ./scripts/verify/load

soak: ## Use 50 threads of the local host while KILLS signals end it (SEED repeats a go); look for what was lost or doubled
	$(GO) run ./scripts/verify/soak -kills $(KILLS) -seed $(SEED)

sim: ## Simulate 20,000 worlds of faults (SEEDS, SEED0; WORLD=n tells one of them, operation by operation)
	$(GO) run ./scripts/verify/sim

BASE ?= HEAD

.PHONY: same-worlds
same-worlds: ## Compare 40 simulated worlds of the working tree with those of a commit (BASE=HEAD, ARGS="-seeds 1000"): has a change that only moves code changed what happens?
	@$(GO) run ./scripts/verify/simsame $(ARGS) $(BASE)

.PHONY: api
api: ## Say how what programs import differs from a commit (BASE=v0.1.0), and fail if that breaks them
	@$(GO) run ./scripts/verify/apidiff $(BASE)

day: ## Simulate a day of 1,000 tenants under faults: usage is what the provider served, limits hold (DAYS, SEED0; WORLD=n tells one)
	$(GO) run ./scripts/verify/sim -day 1000 -seeds $(DAYS)

replay: ## Repeat recorded runs with the present code (ARGS="THREAD [RUN]" or -all); stop the local host first
	@$(GO) run ./scripts/user/replay $(ARGS)

sim-mutants: ## Plant errors in the runtime; the simulator must find each (about an hour on two cores)
	$(GO) run ./scripts/verify/simmutants

coldstart: ## Clone, empty the Go caches, time `make run` to the end of the first response
	scripts/verify/coldstart.sh

test-clients: ## The protocols and providers against npm's clients and fakes, the page in Chromium (needs node, npm, chromium)
	@for folder in $(CLIENTS); do echo "npm ci in $$folder"; (cd $$folder && npm ci --no-audit --no-fund --loglevel=error) || exit 1; done
	scripts/verify/clients/page/types.sh
	$(GO) test -count=1 -parallel 6 -tags clients -run 'Client|Independent' ./adapters/protocols/aisdk ./adapters/protocols/agui ./adapters/protocols/mcp ./adapters/models/openai ./adapters/models/anthropic ./adapters/models/gemini ./adapters/models/bedrock ./functions/kit/local ./functions/kit/local/editor ./scripts/user/new

test-project: ## A project by scripts/user/new: its tests, first chat, make dev during a run, and the fetched command
	$(GO) test -count=1 -tags project -v -run 'ProjectPasses|RunGoesOn|FetchedCommand' ./scripts/user/new

test-copilotkit: ## CopilotKit's chat against the local host (needs node, npm and 600 MB)
	cd scripts/verify/copilotkit && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(GO) test -count=1 -tags clients -run CopilotKit ./functions/kit/local

openapi: ## The OpenAPI document against its specification, the local host against the document (EXAMPLES, SEED)
	scripts/verify/openapi.sh

test-aws: test-wire test-deployed ## Both

test-wire: ## DynamoDB, SQS, EventBridge, S3 and the stores of secrets on the wire (SHORT=1: shorter threads, and of stores with a bucket what concerns it)
	$(AWS) $(GO) test -count=1 -tags aws $(if $(SHORT),-short -skip '$(BUCKETLESS)') ./adapters/stores/dynamo ./adapters/queues/sqs ./adapters/outbound/eventbridge ./adapters/identity/secrets

# What a bucket changes nothing of, and takes longest.
BUCKETLESS := ^TestContractWithABucket$$/^(DueThreadIsListedInItsShardOnly|OverdueThreadsArePaged|EveryDueThreadIsInSomeShard|OccupiedListsTenantsWithSlots|NoMoreRunsAreAdmittedThanThereIsRoomFor)$$

test-deployed: ## The built functions under a Lambda Runtime API, and the template, over DynamoDB and SQS on the wire
	$(AWS) $(GO) test -count=1 -tags aws -parallel 6 -skip '$(STARTS)|TestFunctionsStartAsBefore' ./scripts/verify/deployed

STARTS = TestFunctionsStartNearTheFloor

starts: ## How long functions take to start, beside a program that only links the same SDK clients: alone on the machine
	$(GO) test -count=1 -tags aws -run $(STARTS) -v ./scripts/verify/deployed

BEFORE ?= HEAD~1

starts-before: ## Whether functions start within 1 ms of when they did at a commit (BEFORE), interleaved: alone on the machine
	@rm -rf .reveille/before && mkdir -p -m 700 .reveille/before && git archive $(BEFORE) | tar -x -C .reveille/before
	START_BEFORE=$(CURDIR)/.reveille/before $(GO) test -count=1 -tags aws -run TestFunctionsStartAsBefore -v ./scripts/verify/deployed

aws-up: ## Start (or name) the endpoints that test-aws uses; .reveille/aws.env has them
	scripts/verify/aws-up.sh

aws-down: ## Stop what aws-up started
	scripts/verify/aws-down.sh

cost: ## Measure what a deployment costs and print it (WRITE=1: into infra/cost.md, too)
	@mkdir -p -m 700 .reveille
	@$(AWS) $(GO) test -count=1 -tags aws -run 'TestCost$$' ./scripts/verify/deployed -cost.print $(CURDIR)/.reveille/cost.md $(if $(WRITE),-cost.write); status=$$?; cat .reveille/cost.md; exit $$status

smoke: ## Use a host or a deployment as a client does: chat, tool, approval, resumed stream, trigger, usage (URL=... ARGS=...)
	@$(GO) run ./scripts/user/smoke -url "$(URL)" $(ARGS)

# Without REVEILLE_TABLE there are tables of its own at the endpoints of make aws-up, which
# stay with them; or at endpoints that end with it.
invoke: ## Run a built function once, with an event: FN=step EVENT=events/step.json
	@[ -d "functions/$(FN)" ] && [ -n "$(FN)" ] && [ -f "$(EVENT)" ] || { echo 'usage: make invoke FN=step EVENT=events/step.json; FN is one of api, step, stream, sweep, trigger' >&2; exit 2; }
	@mkdir -p -m 700 .reveille
	@$(GO) build -tags lambda.norpc,bedrock -o .reveille/$(FN) ./functions/$(FN)
	@$(if $(REVEILLE_TABLE),,$(AWS)) $(GO) run ./scripts/verify/lambdahost $(if $(REVEILLE_TABLE),,-scratch) -function $(FN)=.reveille/$(FN) \
		$(if $(filter trigger,$(FN)),-env "REVEILLE_TRIGGERS=$${REVEILLE_TRIGGERS-$(CURDIR)/events/triggers.json}" -env "WEBHOOK_SECRET=$${WEBHOOK_SECRET-secret}") -invoke $(FN)=$(EVENT)

lint-template: ## cfn-lint before and after the SAM transform
	scripts/verify/lint-template.sh

sam-build: ## sam validate --lint, and sam build in both modes in a clean copy
	@scripts/verify/sam-build.sh

bench: ## Speed, CPU and memory per run, sizes, start-up, DynamoDB units, structure of core, durable runs beside adk-go; nothing here passes or fails
	$(GO) test -run '^$$' -bench . -benchmem ./core/... ./adapters/... ./functions/kit/local
	$(GO) test -run '^$$' -bench Start ./scripts/verify/deployed
	$(AWS) $(GO) test -tags aws -run '^$$' -bench 'StepUnits|DecisionUnits' -benchtime 1x ./adapters/stores/dynamo
	$(GO) test -count=1 -v -run Figures ./scripts/verify/house
	$(GO) run ./scripts/verify/bench # last: the summary

mutants: ## Change core in MUTANTS=300 places, SEED=1: 95 % must fail a test, of each package too
	$(GO) run ./scripts/verify/mutants -n $(MUTANTS) -seed $(SEED)

nightly: ## What takes too long for every change: fuzzing, many rounds under the race detector
	$(GO) test $(RACE) -count=5 ./core/...
	$(GO) test $(RACE) ./scripts/...
	$(MAKE) sim
	$(MAKE) exhaustive
	$(MAKE) linearize
	$(MAKE) test-aws
	$(MAKE) fuzz FUZZTIME=60s
	$(MAKE) openapi EXAMPLES=300
	$(MAKE) test-copilotkit
	$(GO) test -run 'TestPowerLoss$$' -powerloss.worlds 200 -timeout 30m ./adapters/stores/bolt
	$(GO) test -timeout 60m -run CrashMatrix ./core/internal/sim/simtest -matrix.pairs
	$(MAKE) sim-mutants
	$(MAKE) day DAYS=10
	$(MAKE) kill ROUNDS=25
	$(MAKE) soak KILLS=1000
	$(MAKE) load
	$(MAKE) mutants

deploy: ## Build and deploy with the SAM CLI; it asks for the parameters once and remembers them (ARGS: for sam deploy)
	@$(GO) run ./scripts/user/stack deploy $(ARGS)

logs: ## Follow the logs of the deployed functions, or of one (FN=Step)
	@$(GO) run ./scripts/user/stack logs $(FN)

destroy: ## Delete what is deployed; tables and payload bucket stay, unless DATA=delete
	@$(GO) run ./scripts/user/stack $(if $(filter delete,$(DATA)),-data) destroy

# What `sam build` calls, one target for each function.
build-TriggerFunction:
	$(LAMBDA) -o $(ARTIFACTS_DIR)/bootstrap ./functions/trigger
	cp functions/app/triggers.json adapters/protocols/page/NOTICE $(ARTIFACTS_DIR)/

build-ApiFunction build-StreamFunction build-StepFunction build-SweepFunction:
	$(LAMBDA) -o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell echo $(@:build-%Function=%) | tr A-Z a-z)
	cp adapters/protocols/page/NOTICE $(ARTIFACTS_DIR)/
