# The tasks of this repository. `make run` and `make test` need Go, git and make.
# `make help` prints the text after each ##, in the groups that ##@ starts.

GO ?= go
# The race detector needs cgo. Go disables cgo if it finds no C compiler.
RACE ?= $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
CLIENTS := $(wildcard scripts/verify/clients/*)
# The build tags under which all files are checked, and the folders with files that these tags exclude.
TAGS := killpoints clients aws project bedrock profile vertex mcp
UNTAGGED = $(shell git grep -lE '^//go:build.*!(killpoints|clients|aws|project|bedrock|profile|vertex|mcp)' -- '*.go' | xargs -n1 dirname | sort -u | sed 's,^,./,')
# The command that builds a function for Lambda. The tag bedrock links the AWS SDK into the
# functions that run steps only. Without HTTP/2 the package is 140 KB smaller: a container
# has one or two requests at a time. Without inlining in AWS's code it is 100 KB smaller.
LAMBDA := CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -tags lambda.norpc,bedrock,nethttpomithttp2 -gcflags 'github.com/aws/...=-l' -trimpath -ldflags '-s -w'
# The number of signals that `make soak` sends, and the seed of a run that you repeat.
KILLS ?= 60
SEED ?= 0
# The model of `make run`, as provider/name. If it is empty, the environment decides.
MODEL ?= $(REVEILLE_MODEL)
# The tags of a host for Bedrock: the AWS SDK with credentials from profiles and SSO, which
# no function has. They apply to Bedrock's models only, since the first build takes 18 s more.
LOCALBEDROCK := bedrock,profile
COMPILING := Compiling the local host. The first time, this takes about a minute.
# Runs a command with the endpoints of DynamoDB and SQS: those of the environment, those of
# `make aws-up`, or a moto server that ends with the command.
AWS := scripts/verify/aws-with.sh
# The number of histories that `make linearize` checks for each store.
HISTORIES ?= 5000
# The time that `make fuzz` spends on each decoder.
FUZZTIME ?= 2s
# The number of rounds of `make kill`.
ROUNDS ?= 2
# The number of days that `make day` simulates.
DAYS ?= 1
# The number of changes that `make mutants` makes.
MUTANTS ?= 300
# The commit that `make api` and `make same-worlds` compare with.
BASE ?= HEAD
# The commit that `make starts-before` compares with.
BEFORE ?= HEAD~1
STARTS = TestFunctionsStartNearTheFloor

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST))) \
	build-ApiFunction build-StreamFunction build-StepFunction build-SweepFunction build-TriggerFunction

##@ Use

help: ## Print this list; `make` alone prints it, too
	@awk -F ':.*## ' '/^##@ / {printf "%s%s\n", first++ ? "\n" : "", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# The shell becomes the host, so that it receives a signal to make. `go run` does not forward SIGTERM.
run: ## Start the local host; MODEL=provider/name selects a model, REVEILLE_ADDR an address
	@echo '$(COMPILING)'
	@mkdir -p -m 700 .reveille
	@GO=$(GO) scripts/user/build.sh -buildvcs=false $(if $(filter bedrock/%,$(MODEL)),-tags $(LOCALBEDROCK))$(if $(filter vertex/%,$(MODEL)),-tags vertex) -ldflags '-s -w' -o .reveille/dev ./scripts/user/dev
	@$(if $(MODEL),REVEILLE_MODEL="$(MODEL)") REVEILLE_TRIGGERS="$${REVEILLE_TRIGGERS-functions/app/triggers.json}" REVEILLE_ENVIRONMENT="$${REVEILLE_ENVIRONMENT-functions/app/environment}" exec .reveille/dev

dev: ## Start the local host and restart it on every save; runs continue
	@echo '$(COMPILING)'
	@mkdir -p -m 700 .reveille
	@$(GO) build -o .reveille/reload ./scripts/user/reload
	@$(if $(MODEL),REVEILLE_MODEL="$(MODEL)") REVEILLE_TRIGGERS="$${REVEILLE_TRIGGERS-functions/app/triggers.json}" REVEILLE_ENVIRONMENT="$${REVEILLE_ENVIRONMENT-functions/app/environment}" exec .reveille/reload ./scripts/user/dev

smoke: ## Use a host or a deployment like a client: URL=... or ENV=dev, options in ARGS
	@url="$(URL)"; [ -n "$$url" ] || url=$$($(STACK) output StreamUrl StreamRestUrl) || exit 1; $(GO) run ./scripts/user/smoke -url "$$url" $(ARGS)

demo-approval: ## Approve a tool call after the local host was killed and restarted
	$(GO) run ./scripts/verify/approval

demo-team: ## Kill the local host three times while an agent waits for two others, one of which needs an approval
	$(GO) run ./scripts/verify/team

replay: ## Repeat recorded runs with the current code: ARGS="THREAD [RUN]" or ARGS=-all; stop the host first
	@$(GO) run ./scripts/user/replay $(ARGS)

doctor: ## Examine the file of a stopped host, or a stack: ARGS="-stack NAME", ARGS=-all
	@$(GO) run ./scripts/user/doctor $(ARGS)

##@ Develop

page: ## Bundle the page from adapters/protocols/page/src
	$(BUNDLE) --outdir=dist

page-pictures: ## Take the pictures of the page for README.md; needs node, npm and chromium
	cd scripts/verify/clients/page && npm ci --no-audit --no-fund --loglevel=error
	$(GO) test -count=1 -tags clients -run PagePictures ./functions/kit/local -pictures $(CURDIR)/.github

page-speed: ## Compare how fast the page opens long runs and threads with a commit: BEFORE=HEAD~1; needs node, npm and chromium
	@rm -rf .reveille/before && mkdir -p -m 700 .reveille/before && git archive $(BEFORE) adapters/protocols/page/dist | tar -x -C .reveille/before
	cd scripts/verify/clients/page && npm ci --no-audit --no-fund --loglevel=error
	$(GO) test -count=1 -tags clients -v -run PageSpeed ./functions/kit/local -before $(CURDIR)/.reveille/before/adapters/protocols/page/dist

notice: ## Write the licenses of third-party code to adapters/protocols/page/NOTICE
	$(GO) run ./scripts/verify/notice > .notice && mv .notice adapters/protocols/page/NOTICE

api: ## Compare the exported API with a commit: BASE=v0.1.0; fail on incompatible changes
	@$(GO) run ./scripts/verify/apidiff $(BASE)

same-worlds: ## Compare 40 simulated runs with those of a commit: BASE=HEAD, ARGS="-seeds 1000"
	@$(GO) run ./scripts/verify/simsame $(ARGS) $(BASE)

bench: ## Print speed, memory, binary sizes, start-up time and DynamoDB units, then all next to the goals; nothing passes or fails
	$(GO) test -run '^$$' -bench . -benchmem ./core/... ./adapters/... ./functions/kit/local
	$(GO) test -run '^$$' -bench Start ./scripts/verify/deployed
	$(AWS) $(GO) test -tags aws -run '^$$' -bench 'StepUnits|DecisionUnits' -benchtime 1x ./adapters/stores/dynamo
	$(GO) test -count=1 -v -run Figures ./scripts/verify/house
	$(GO) run ./scripts/verify/bench # last: the table; -strict fails on a missed goal

starts: ## Measure how fast functions start; the machine must be idle
	$(GO) test -count=1 -tags aws -run $(STARTS) -v ./scripts/verify/deployed

starts-before: ## Compare the start of functions with a commit: BEFORE=HEAD~1; the machine must be idle
	@rm -rf .reveille/before && mkdir -p -m 700 .reveille/before && git archive $(BEFORE) | tar -x -C .reveille/before
	START_BEFORE=$(CURDIR)/.reveille/before $(GO) test -count=1 -tags aws -run TestFunctionsStartAsBefore -v ./scripts/verify/deployed

coldstart: ## Time `make run` in a fresh clone with empty Go caches, to the end of the first response
	scripts/verify/coldstart.sh

##@ Check

test: check unit kill ## Run all checks and tests that need no network and no other tool

check: ## Check formatting, vet, staticcheck, the rules of the layout and the documents
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet -tags '$(TAGS)' ./...
	$(GO) vet $(UNTAGGED)
	$(GO) tool staticcheck -tags '$(TAGS)' ./...
	$(GO) tool staticcheck $(UNTAGGED)
	$(GO) test ./scripts/verify/house ./scripts/verify/docs/...
	@$(GO) run ./scripts/verify/modelcatalog -age 30
	@mkdir -p -m 700 .reveille && rm -rf .reveille/page
	@$(BUNDLE) --outdir=$(CURDIR)/.reveille/page
	@diff -r .reveille/page adapters/protocols/page/dist >/dev/null || { echo "adapters/protocols/page/dist is not what its sources make: run make page"; exit 1; }

# The command that bundles the page. esbuild looks for packages in NODE_PATH.
BUNDLE := cd adapters/protocols/page && NODE_PATH=packages $(GO) tool esbuild src/main.tsx src/style.css --bundle --minify --format=esm --target=es2022 \
	--jsx=automatic --jsx-import-source=preact --charset=utf8 --legal-comments=eof --log-level=warning

unit: ## Run all tests except the kill tests
	@[ -n "$(RACE)" ] || echo "no C compiler: the tests run without the race detector"
	$(if $(RACE),CGO_ENABLED=1) GORACE=atexit_sleep_ms=50 $(GO) test -p 4 -vet=off $(RACE) -skip '$(LONE)' $$($(GO) list ./functions/... ./core/... ./adapters/...) # the longest first; more at a time than there are processors: some wait for the disk
	$(GO) test -p 4 -vet=off $$($(GO) list ./scripts/... | grep -vE "/scripts/verify/(house|docs)") # they start programs and wait; check has run the house and the documents
	$(GO) test -vet=off -run '$(LONE)|$(NORACE)' $(NORACEIN)
	$(GO) test -vet=off -short -run EveryHead ./core/internal/thread

# The race detector lets each of a hundred programs sleep for a second before it ends: here 50 ms.
# Tests that compute in one goroutine. With the race detector they take five times as long.
LONE := NoDamageHides|WhicheverOperation|RunsOfAllSizes|PowerLoss$$|RandomChangesKeep|NothingIsViolatedInAny|EachMistakeIsNamed|ThePageIsCompressed|ClockIsNamed|AtTenThousandMessages|AtMost64KB|ALargeStateIsNotShown|OfATemplate|ATemplateEnds|PartOfASchemaWeighs|MadeToLookAlike|BoundsOfACheck|ReadAllocatesFor|MemoryOfManyValues|TheMemoryOfABody|BodiesOf4MBAtEvery|MoreCrashes|TestCrashes$$|NoHistoryBreaksTheRules|DecodeTakesLinearTime|WhatIsHeldIsBounded|FilesAreBoundedTogether|ABodyIsNotCopied|AHistoryIsSkipped|ColdStepReadsNoMore|ColdStepUnderASummary|TestARunThatTakesAnotherUp|ARecordNamesTheRanges|RequestsBeginLike|ToolsThatWaitForAChild|OutsideOutlives|TheExampleSurvives|ToolsThatSayWhat|EffectMayBeLost|ChildIsToldOnce|ADeletedThreadLeaves|ChangesOfAStateArePaged|StateThatIsTooLarge|ClientsThatReadNothingHold|AChatOfALongHistory|RequestsOfALongThread|AsksToGoOnBehindASummary|OutagesOfAProvider|PagesOfAThreadsRuns|ThreadsArePagedByBytes|ACheckThatMultiplies|AreCountedOften|AFoldIsLinear|AnEntryThatIsCutOff
# Tests that skip themselves, or a part of themselves, with the race detector.
NORACE := SameSeed|ADayIs|AShareOfTheWorlds|SoManyRecords|Allocates|CrashMatrix|TheSameFault|AtEveryWrite|ADropped|TurnsOfTheirOwn
NORACEIN := ./core/internal/sim ./core/internal/sim/simtest ./core/internal/accounting ./core/internal/thread ./core/internal/run ./core/host ./core/state ./core/internal/pattern ./core/internal/schema ./adapters/stores/bolt ./adapters/protocols/httpapi ./adapters/protocols/page ./adapters/triggers/rules ./functions/kit/local ./adapters/internal/newest ./functions/kit/serve/front ./functions/kit/demo ./adapters/models/... ./core/strict ./core/agent/specfile ./adapters/aws/lambda

kill: ## Kill the local host 285 times, at 259 places, and check that nothing is lost: ROUNDS=2
	$(GO) test -parallel 6 -tags killpoints -run Kill -count $(ROUNDS) ./functions/kit/local
	$(GO) test -tags killpoints -run Deaf ./functions/kit/local

test-project: ## Test the projects of scripts/user/new, the tutorial, and everything with other agents in app.go
	$(GO) test -count=1 -tags project -v -run 'ProjectPasses|RunGoesOn|FetchedCommand' ./scripts/user/new
	$(GO) test -count=1 -tags project -v -run TheTutorial ./scripts/verify/docs
	$(GO) test -count=1 -tags project -run WithAnotherApp ./scripts/verify/house

# Scenarios of the page that look at the same views at several widths.
AUDITS := every view|(a run.s page|answers), (390|768|1024)

test-clients: ## Test protocols, providers and the page with npm clients; needs node, npm and chromium; SHORT=1 audits fewer views
	@for folder in $(CLIENTS); do echo "npm ci in $$folder"; (cd $$folder && npm ci --no-audit --no-fund --loglevel=error) || exit 1; done
	scripts/verify/clients/page/types.sh
	$(if $(SHORT),SKIP='$(AUDITS)' )$(GO) test -count=1 -timeout 20m -parallel 6 -tags clients -run 'Client|Independent' ./adapters/protocols/aisdk ./adapters/protocols/agui ./adapters/protocols/mcp ./adapters/models/openai ./adapters/models/anthropic ./adapters/models/gemini ./adapters/models/bedrock ./scripts/verify/clients/recorded ./functions/kit/local ./functions/kit/local/editor ./scripts/user/new

test-copilotkit: ## Test CopilotKit's chat with the local host; needs node, npm and 600 MB
	cd scripts/verify/copilotkit && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(GO) test -count=1 -tags clients -run CopilotKit ./functions/kit/local

openapi: ## Check the OpenAPI document, the local host against it (EXAMPLES=..., SEED=...), and requests to models against the providers' schemas
	scripts/verify/openapi.sh
	GO=$(GO) scripts/verify/schemas.sh

test-aws: test-wire test-deployed ## Run test-wire and test-deployed

test-wire: ## Test the AWS adapters with the real wire protocols; SHORT=1 tests less
	$(AWS) $(GO) test -count=1 -timeout 20m -tags aws $(if $(SHORT),-short) ./adapters/stores/dynamo ./adapters/queues/sqs ./adapters/outbound/eventbridge ./adapters/identity/secrets

test-deployed: ## Test the built functions and the template with a Lambda Runtime API, DynamoDB and SQS; SHORT=1 tests less
	$(AWS) $(GO) test -count=1 -timeout 20m -tags aws -parallel 6 $(if $(SHORT),-short) -skip '$(STARTS)|TestFunctionsStartAsBefore' ./scripts/verify/deployed

aws-up: ## Start local endpoints for test-aws; .reveille/aws.env lists them
	scripts/verify/aws-up.sh

aws-down: ## Stop the endpoints that aws-up started
	scripts/verify/aws-down.sh

lint-template: ## Check template.yaml with cfn-lint, before and after the SAM transform
	scripts/verify/lint-template.sh

sam-build: ## Validate and build template.yaml with the SAM CLI in a clean copy
	@scripts/verify/sam-build.sh

##@ Deploy

# The command of the next targets. ENV names an environment of samconfig.toml.
STACK = $(GO) run ./scripts/user/stack $(if $(ENV),-env "$(ENV)")

deploy: ## Build and deploy the environment ENV=default; CONFIRM=yes does not ask; options of SAM in ARGS
	@$(STACK) $(if $(filter yes,$(CONFIRM)),-yes) deploy $(ARGS)

logs: ## Follow the logs of the deployed functions, or of one: FN=Step; ENV=default
	@$(STACK) logs $(FN)

destroy: ## Delete the deployment ENV=default; DATA=delete deletes tables and payloads, too
	@$(STACK) $(if $(filter delete,$(DATA)),-data) destroy

restore: ## Put the deployment ENV=default back to an earlier moment: TO=2026-11-29T10:00:00Z
	@$(STACK) restore "$(TO)"

purge: ## Delete a bucket that make destroy left, with all versions of its objects: BUCKET=NAME
	@$(STACK) purge "$(BUCKET)"

# Without REVEILLE_TABLE the function uses its own tables: at the endpoints of `make aws-up`,
# which keep them, or at endpoints that end with the command.
invoke: ## Run a built function once with an event: FN=step EVENT=events/step.json
	@[ -d "functions/$(FN)" ] && [ -n "$(FN)" ] && [ -f "$(EVENT)" ] || { echo 'usage: make invoke FN=step EVENT=events/step.json; FN is one of api, step, stream, sweep, trigger' >&2; exit 2; }
	@mkdir -p -m 700 .reveille
	@$(GO) build -tags lambda.norpc,bedrock -o .reveille/$(FN) ./functions/$(FN)
	@$(if $(REVEILLE_TABLE),,$(AWS)) $(GO) run ./scripts/verify/lambdahost $(if $(REVEILLE_TABLE),,-scratch) -function $(FN)=.reveille/$(FN) \
		$(if $(filter trigger,$(FN)),-env "REVEILLE_TRIGGERS=$${REVEILLE_TRIGGERS-$(CURDIR)/events/triggers.json}" -env "WEBHOOK_SECRET=$${WEBHOOK_SECRET-secret}") -invoke $(FN)=$(EVENT)

cost: ## Measure and print the cost of a deployment; WRITE=1 updates infra/cost.md
	@mkdir -p -m 700 .reveille
	@$(AWS) $(GO) test -count=1 -tags aws -run 'TestCost$$' ./scripts/verify/deployed -cost.print $(CURDIR)/.reveille/cost.md $(if $(WRITE),-cost.write); status=$$?; cat .reveille/cost.md; exit $$status

##@ Verify slowly

nightly: ## Run the checks that take too long for every change; takes hours
	$(GO) run ./scripts/verify/modelcatalog -age 30 -strict
	$(GO) test $(RACE) -count=5 ./core/...
	$(GO) test $(RACE) ./scripts/...
	$(MAKE) sim
	$(MAKE) exhaustive
	$(MAKE) linearize
	$(MAKE) test-aws
	$(MAKE) fuzz FUZZTIME=60s
	$(MAKE) openapi EXAMPLES=300
	$(MAKE) test-clients
	$(MAKE) test-copilotkit
	$(GO) test -run TestADropped ./adapters/protocols/httpapi -drop.every 1
	$(GO) test -run 'TestPowerLoss$$' -powerloss.worlds 200 -timeout 30m ./adapters/stores/bolt
	$(GO) test -timeout 60m -run CrashMatrix ./core/internal/sim/simtest -matrix.pairs
	$(MAKE) sim-mutants
	$(MAKE) day DAYS=10
	$(MAKE) kill ROUNDS=25
	$(MAKE) soak KILLS=1000
	$(MAKE) load
	$(MAKE) mutants

exhaustive: ## Check every state of a small thread, and the reads of 10,000 messages
	$(GO) test -run 'EveryHead|ColdStepReadsNoMore' ./core/internal/thread ./core/internal/run

linearize: ## Check concurrent histories of the memory and bbolt stores: HISTORIES=5000
	$(GO) test -count=1 -v -run HistoriesAreLinearizable ./core/store/memory ./adapters/stores/bolt -linear.histories $(HISTORIES)

fuzz: ## Fuzz every decoder: FUZZTIME=2s each
	scripts/verify/fuzz.sh $(FUZZTIME)

sim: ## Simulate 20,000 runs with faults: SEEDS=..., SEED0=...; WORLD=n prints one
	$(GO) run ./scripts/verify/sim

day: ## Simulate a day of 1,000 tenants with faults and check usage and limits: DAYS=1
	$(GO) run ./scripts/verify/sim -day 1000 -seeds $(DAYS)

soak: ## Use 50 threads while signals end the local host: KILLS=60, SEED=...; nothing may be lost
	$(GO) run ./scripts/verify/soak -kills $(KILLS) -seed $(SEED)

load: ## Run 500 streams and 2,000 idle followers on a local host; the machine must be idle
	$(GO) run ./scripts/verify/load

sim-mutants: ## Plant errors that the simulator must find; takes an hour on two cores
	$(GO) run ./scripts/verify/simmutants

mutants: ## Change core in MUTANTS=300 places; tests must fail for 95 % of them
	$(GO) run ./scripts/verify/mutants -n $(MUTANTS) -seed $(SEED)

# The targets that `sam build` calls, one for each function.
build-TriggerFunction:
	$(LAMBDA) -o $(ARTIFACTS_DIR)/bootstrap ./functions/trigger
	cp functions/app/triggers.json functions/app/environment adapters/protocols/page/NOTICE $(ARTIFACTS_DIR)/

build-SweepFunction:
	$(LAMBDA) -o $(ARTIFACTS_DIR)/bootstrap ./functions/sweep
	cp adapters/protocols/page/NOTICE $(ARTIFACTS_DIR)/

build-ApiFunction build-StreamFunction build-StepFunction:
	$(LAMBDA) -o $(ARTIFACTS_DIR)/bootstrap ./functions/$(shell echo $(@:build-%Function=%) | tr A-Z a-z)
	cp functions/app/environment adapters/protocols/page/NOTICE $(ARTIFACTS_DIR)/
