# Needs Go, git, make and gcc (the race detector's); the rest it builds or,
# through scripts/install-servers, finds or installs.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

GO          ?= go
TOOL        := $(GO) tool -modfile=tools.mod
CHECKS_TOOL := $(GO) tool -modfile=../../tools.mod

# The tests of the lab and of PostgreSQL's store take longest and mostly wait: they begin first, beside the others.
PACKAGES ?= ./loadtest ./internal/stock/postgres ./...

# Tests mostly wait for databases, processes and times: more run beside each other than there are processors.
AT_ONCE := $(shell expr 2 \* $$(nproc 2>/dev/null || sysctl -n hw.ncpu))
BESIDE  := -p $(AT_ONCE) -parallel $(AT_ONCE)

# What checks the files of deploy/ is a module of its own, which has the modules of Kubernetes, docker-compose and Prometheus.
CHECKS_MODULE := deploy/checks

# The inner loop is that of the service, within a process. Most of what the lab, the program and the classroom test are whole
# runs of it, on servers of their own. With -short, slow tests leave themselves out (busytest.Slow).
SHORT    ?= $(filter-out %/servertest %/classroom %/citus,$(shell $(GO) list ./internal/...))

# Garbage is collected as often as the service does it. That saves a sixth of the time of the compiler and the linker, and a
# tenth of that of the tests.
export GOGC ?= 400

# SQLite, which is C turned into Go, and the Lua of the embedded Redis are not watched for races: each was half of the cost of
# the tests that use it. Mutexes that they take are seen as before. The linker may take their copy of a generic type for all: with
# modernc.org/sqlite 1.62, which has a sync.Map, no map of that type is watched any more, and races are told that are none. Without
# what a debugger needs, a package compiles a tenth faster, and a test binary links in two thirds of the time.
UNWATCHED := -race=false -dwarf=false
RACE      := -race -gcflags=all=-dwarf=false '-gcflags=modernc.org/...=$(UNWATCHED)' '-gcflags=github.com/yuin/...=$(UNWATCHED)' -ldflags=-w

# A program that is watched for races sleeps for a second at its end: another thread may be about to report one. The tests have
# waited for their goroutines by then, and start many programs.
export GORACE ?= atexit_sleep_ms=0

# Where little or nothing runs: it compiles in two thirds of the time.
UNOPTIMISED := '-gcflags=all=-N -l -dwarf=false'

# How long each fuzz target runs, and how benchmarks are repeated for benchstat.
FUZZTIME   ?= 30s
BENCH      ?= .
BENCHCOUNT ?= 6
BENCHTIME  ?= 1s

# How long locks are simulated, and how many sequences the whole service is held to its model by.
SIMTIME    ?= 10m
CHECKS     ?= 500

# At how many orders requests of two processes meet, of each kind on each store.
MEETINGS   ?= 3000

# How long requests that are made of the document are sent.
APITIME    ?= 10m

# How long chaos is played.
CHAOSTIME  ?= 20m

# How many seconds tests are run in random order.
SHUFFLETIME ?= 600

.PHONY: help
help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What the program says it is.
VERSION   := $(shell sed -n 's/^const Release = "\(.*\)"$$/\1/p' internal/app/process.go)
REVISION  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
STAMP     := -X inventory/internal/app.revision=$(REVISION)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: build
build: ## Build the program into bin/, with its version
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(STAMP)' -o bin/ ./cmd/...

# Static, without paths of this machine or the time: the same source makes the same bytes.
.PHONY: dist
dist: ## Build the program for each of PLATFORMS into dist/, with checksums and the licences of all modules
	@rm -rf dist; mkdir -p dist
	@for platform in $(PLATFORMS); do \
		echo "inventory-$(VERSION)-$${platform/\//-}"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false \
			-ldflags '-s -w $(STAMP)' -o "dist/inventory-$(VERSION)-$${platform/\//-}" ./cmd/inventory; \
	done
	@GO=$(GO) scripts/licences $(PLATFORMS) > dist/LICENCES
	@cd dist && sha256sum inventory-* LICENCES > SHA256SUMS

.PHONY: servers
servers: ## Find or install Redis and PostgreSQL
	@scripts/install-servers

# What vet says, make check tells. The time-out ends a test that hangs; it says nothing about how long tests may take.
TEST := $(GO) test $(RACE) -vet=off -timeout 60m

.PHONY: test
test: servers ## Run all tests under the race detector
	$(TEST) $(BESIDE) $(PACKAGES)

# A newcomer's machine compiles everything and has other work. So do the machines of most CI. As many packages are tested at once as
# there are spinning processes, or they would get too small a part of the machine to ever end. As many tests run at once as in make test
# on two processors: their servers and processes are several times as many, and with more of them no client of Redis gets an answer within
# the 250 ms that the service waits for one.
.PHONY: test-busy
test-busy: servers ## Run all tests from an empty build cache beside eight spinning processes and one that writes to the disk
	@cache=$$(mktemp -d); trap 'rm -rf "$$cache"' EXIT; GOCACHE=$$cache scripts/busy 8 $(MAKE) test BESIDE='-p 8 -parallel 2'

# In random order of packages and tests. A failure prints the seed for -shuffle.
.PHONY: test-shuffled
test-shuffled: servers ## Run each package's tests once more, in random order, beside four spinning processes, for SHUFFLETIME seconds
	@scripts/busy 4 $(MAKE) test-shuffled-alone

.PHONY: test-shuffled-alone
test-shuffled-alone:
	@end=$$((SECONDS + $(SHUFFLETIME))); packages=($$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | shuf)); tested=0; \
	for package in "$${packages[@]}"; do \
		((SECONDS < end)) || break; \
		$(TEST) -count 1 -shuffle on "$$package"; \
		tested=$$((tested + 1)); \
	done; \
	echo "tested in random order: $$tested of $${#packages[@]} packages"

# Many of them wait for the database or for a time: more run beside each other than there are processors.
.PHONY: test-short
test-short: servers ## Run the quick tests of the service, in under a minute
	$(GO) test -ldflags=-w -vet=off -short -timeout 10m -p 4 -parallel 6 $(SHORT)

# Apart from make test: they need the extension of Citus, which is built from source.
.PHONY: test-citus
test-citus: servers ## Run the tests of the store on Citus, on one node and on several; scripts/install-citus builds the extension
	@scripts/install-citus
	$(GO) test -count 1 -timeout 30m -tags citus ./internal/servertest ./internal/stock/citus ./internal/stock/selling ./migrations ./internal/app -run 'Citus|^TestStore$$|TestOutbox$$|Dies$$|WhileSelling$$|TestHash'

# Apart from make test, which downloads no servers.
.PHONY: test-postgres
test-postgres: servers ## Run the tests of the store, of migrations and of copying, a sale and chaos on PostgreSQL 16, 17 and 18, which it downloads
	@GO=$(GO) scripts/test-postgres

# Apart from make test, which installs no poolers and proxies. Each test has a site of three processes: few run at a time.
.PHONY: test-environments
test-environments: ## Sell behind PgBouncer, Pgpool, HAProxy, nginx and stunnel, which it finds or installs
	@scripts/install-servers environments
	$(GO) test -count 1 -timeout 10m -parallel 2 -tags environments -run '^TestBehind' ./cmd/inventory

# Apart from make test, which installs no browser.
.PHONY: test-browser
test-browser: servers ## Run the tests of the pages (/docs, the console, the classroom, the lab's) in Chromium, which must be on PATH
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
		echo "chromium is missing, run: apt-get install -y --no-install-recommends chromium" >&2; exit 1; }
	$(GO) test -count 1 -tags browser -run Browser ./internal/api ./internal/classroom ./loadtest/internal/report

.PHONY: pictures
pictures: ## Make the pictures of README.md in Chromium
	$(GO) test -count 1 -tags browser -run '^TestClassroomInABrowser$$' ./internal/classroom -pictures $(CURDIR)/docs

# Apart from make test, which installs no cluster's tools.
.PHONY: test-deploy
test-deploy: ## Let kubectl and systemd-analyze, which must be on PATH, read the files of deploy/
	@for program in kubectl systemd-analyze; do \
		command -v $$program >/dev/null || { echo "$$program is missing" >&2; exit 1; }; done
	cd $(CHECKS_MODULE) && $(GO) test -count 1 -tags deploytools -run '^TestDeploy' ./...

# Apart from make test, which builds no k6.
.PHONY: test-load-tools
test-load-tools: servers ## Run the lab's script for k6, which it builds, and count the rows
	@GO=$(GO) scripts/install-load-tools
	$(GO) test -count 1 -timeout 5m -v -tags loadtools -run '^TestTools' ./loadtest

# Apart from make test, which installs no Node.js.
.PHONY: test-openapi
test-openapi: ## Lint the document of the API, and sell with the TypeScript clients that four generators make of it
	@scripts/install-node
	$(GO) test -count 1 -timeout 15m -v -tags typescript -run '^TestTypeScript$$' ./internal/api

# Apart from make test, which installs no Node.js, Python or Java. A language that is missing fails it.
.PHONY: test-clients
test-clients: servers ## Check out with the four clients of docs/CLIENTS.md, as it says, behind a proxy that loses requests and answers
	@scripts/install-clients
	$(GO) test -count 1 -timeout 30m -v -tags clients -run '^TestClients$$' ./internal/api

.PHONY: check
check: check-format check-lint check-replays check-allocations check-builds check-modules check-generated check-deploy check-compose ## Hold the code against the house rules

.PHONY: check-format
check-format:
	@files=$$($(TOOL) gofumpt -l .); if [[ -n $$files ]]; then \
		echo "not formatted, run make format:"; echo "$$files"; exit 1; fi

.PHONY: check-lint
check-lint:
	$(GO) vet $(PACKAGES)
	$(TOOL) staticcheck $(PACKAGES)
	$(TOOL) golangci-lint run $(PACKAGES)
	cd $(CHECKS_MODULE) && $(GO) vet ./... && $(CHECKS_TOOL) staticcheck ./... && $(CHECKS_TOOL) golangci-lint run ./...

# The race detector shuffles histories of the simulator: the test is not in make test. For vet, most of this was compiled.
.PHONY: check-replays
check-replays:
	$(GO) test -run SameSeed ./internal/locking/locksim

# The race detector allocates, too.
.PHONY: check-allocations
check-allocations:
	$(GO) test -run '^$$' -bench DeductionHandler -benchtime 1000x ./internal/api

# With 32 bits, where constants may overflow an int, the tests too; and on Windows, which has the files of neither Unix nor Linux.
.PHONY: check-builds
check-builds:
	GOOS=linux GOARCH=386 $(GO) vet $(UNOPTIMISED) ./...
	GOOS=windows GOARCH=amd64 $(GO) build $(UNOPTIMISED) ./...

# tools.mod is the module file of a module without packages. It is tidied in a
# folder of its own, or else it would take in what the product imports.
.PHONY: check-modules
check-modules:
	$(GO) mod tidy -diff
	cd $(CHECKS_MODULE) && $(GO) mod tidy -diff
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
		cp tools.mod "$$folder/go.mod"; cp tools.sum "$$folder/go.sum"; \
		cd "$$folder"; $(GO) mod tidy -diff

# Generates into a copy, so that a check never changes the files at hand.
.PHONY: check-generated
check-generated:
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
		git ls-files -z --cached --others --exclude-standard | \
			while IFS= read -r -d '' file; do \
				if [[ -e $$file ]]; then printf '%s\0' "$$file"; fi; done | \
			tar -c -f - --null -T - | tar -x -f - -C "$$folder"; \
		(cd "$$folder" && $(GO) generate ./...); \
		while IFS= read -r file; do \
			diff -u --label "$$file" --label "$$file, generated again" "$$file" "$$folder/$$file" || \
				{ echo "out of date, run make generate: $$file"; exit 1; }; \
		done < <(cd "$$folder" && find . -name '*.gen.go')

# A module of its own, with the modules of Kubernetes, docker-compose and Prometheus: they take long to compile.
.PHONY: check-deploy
check-deploy: servers
	cd $(CHECKS_MODULE) && $(GO) test -vet=off ./...

# Only where docker-compose is: the service runs without it.
.PHONY: check-compose
check-compose:
	@export POSTGRES_PASSWORD=checked; \
	if command -v docker-compose >/dev/null; then compose=docker-compose; \
	elif docker compose version >/dev/null 2>&1; then compose="docker compose"; \
	else echo "no docker-compose here, docker-compose.yml is not checked"; exit; fi; \
	$$compose config --quiet; \
	for redis in sentinel cluster; do \
		$$compose --file docker-compose.yml --file deploy/compose/$$redis.yml config --quiet; done

.PHONY: format
format: ## Format all Go files
	$(TOOL) gofumpt -w .

.PHONY: generate
generate: ## Generate the code
	$(GO) generate ./...

.PHONY: list-helpers
list-helpers: ## Write the list of helpers of each package's tests
	$(GO) test -count 1 -run '^TestHelpersAreListed$$' ./internal/busytest -write

.PHONY: figures
figures: ## Write the figures of docs/benchmarks into the documents that show them
	$(GO) test -count 1 -run 'Shows|Follows|OfTheirCommands' ./loadtest -write

# Of the modules that this one names itself. Those of the tools follow their own releases.
.PHONY: list-outdated
list-outdated: ## List the modules that have newer versions
	@$(GO) list -m -u -f '{{with .Update}}{{$$.Path}} {{$$.Version}} -> {{.Version}}{{end}}' \
		$$($(GO) list -m -f '{{if not (or .Indirect .Main)}}{{.Path}}{{end}}' all) | { grep . || echo 'none is'; }

.PHONY: bench
bench: servers ## Run the benchmarks and print their statistics
	@mkdir -p out
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) $(PACKAGES) | tee out/bench.txt
	$(TOOL) benchstat out/bench.txt

# Go fuzzes one target of one package at a time.
.PHONY: fuzz
fuzz: servers ## Run each fuzz target for FUZZTIME
	@$(GO) list -f '{{.ImportPath}} {{.Dir}}' $(PACKAGES) | while read -r package folder; do \
		files=("$$folder"/*_test.go); \
		[[ -e $${files[0]} ]] || continue; \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$${files[@]}"); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null; \
		done; \
	done

# A failure prints its seed, and -sim.seed plays it again.
.PHONY: simulate
simulate: ## Play random histories of locks for SIMTIME
	$(GO) test -count 1 -timeout 0 -v -run '^TestSimulation(OfRedLocks)?$$' ./internal/locking/locksim -sim.for $(SIMTIME)

.PHONY: faults
faults: ## See that the simulator finds faults that are planted in the locks
	$(GO) test -count 1 -timeout 30m -v -tags mutants -run '^TestFaultsAreFound$$' ./internal/locking/locksim

# A failure prints the request and its seed; -api.seed makes the same requests.
.PHONY: fuzz-api
fuzz-api: servers ## Send requests made of the document, right and wrong, for APITIME
	$(GO) test -count 1 -timeout 0 -v -run '^TestDocumentedAnswers$$' ./internal/api -api.for $(APITIME)

.PHONY: machine
machine: servers ## Hold the whole service to its model by CHECKS random sequences
	$(GO) test $(RACE) -count 1 -timeout 0 -run '^TestMachine$$' ./internal/stock/selling -rapid.checks=$(CHECKS)

.PHONY: meetings
meetings: servers ## Let commits, cancels, returns, extensions and retakes of two processes meet at MEETINGS orders
	$(GO) test $(RACE) -count 1 -timeout 0 -v -run '^TestSettlementsMeet$$' ./internal/stock/selling -meet.rounds=$(MEETINGS)

.PHONY: shop
shop: servers ## Replay all orders of a real shop on both stores, and hold the answers against the rows
	$(GO) run ./loadtest replay
	$(GO) run ./loadtest replay --private-servers
	$(GO) run ./loadtest replay --whole-orders
	$(GO) run ./loadtest replay --whole-orders --private-servers

# A broken promise prints its seed, and --seed plays it again. Which faults come when is the same then; what callers meet is not.
.PHONY: chaos
chaos: servers ## Sell amid faults for CHAOSTIME, then with Redis under Sentinel and a Redis Cluster, and see that services without their guards are caught
	$(GO) run ./loadtest chaos --for $(CHAOSTIME)
	$(GO) run ./loadtest chaos --redis sentinel
	$(GO) run ./loadtest chaos --redis cluster
	$(GO) test -count 1 -timeout 30m -tags mutants -run '^TestMutantsAreCaught$$' ./loadtest

.PHONY: long
long: ## What takes too long for every change: each fuzz target for a minute, fuzz-api, simulate, faults, machine, meetings, shop, chaos, test-citus, test-postgres, test-environments
	$(MAKE) fuzz FUZZTIME=1m
	$(MAKE) fuzz-api simulate faults machine meetings shop chaos test-citus test-postgres test-environments

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist out
