# Skelegent for Go. Needs Go, gcc (for -race) and make; `make interop` also Node and npm.
SHELL := bash
GO ?= go
FUZZTIME ?= 20s
BENCHTIME ?= 2s

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/skelegent
	$(GO) build -trimpath -o bin/skelegent ./cmd/skelegent

.PHONY: demo
demo: build ## The whole story on an embedded NATS: an approval, a kill -9 in the middle, a checked verdict
	./bin/skelegent demo

.PHONY: test
test: check race ## Everything that has to pass: vet, lint, tests with -race, the JavaScript client

.PHONY: check
check: bin/golangci-lint ## gofmt, go vet, golangci-lint (with the import rules), go.mod tidiness
	$(GO) mod tidy -diff
	$(GO) vet ./...
	./bin/golangci-lint run ./...

.PHONY: race
race: ## The tests alone, with -race in random order
	$(GO) test -race -shuffle=on -timeout 10m ./...

.PHONY: interop
interop: ## Only the test with the JavaScript client and a model server nobody here wrote
	$(GO) test -race -count=1 -v -run Interop ./cmd/skelegent

.PHONY: model
model: ## The protocol's model with larger bounds: every interleaving of two nodes, faults and callers
	$(GO) test -count=1 -v -timeout 60m ./actors/run/model -model.long

.PHONY: chaos
chaos: ## Five nodes and three servers as processes that are killed and stopped under 2,000 tasks; every signal at every boundary
	$(GO) test -count=1 -v -timeout 30m ./actors/chaos -chaos.long
	$(GO) test -count=1 -timeout 30m -run 'TestCrashAtEveryBoundary|TestSignalsInTheCracks' ./actors -crash.long

.PHONY: bench
bench: ## Benchmarks, each beside its floor in the same process
	$(GO) test -run XXX -bench . -benchmem -benchtime $(BENCHTIME) ./actors ./actors/agent ./actors/compose/... ./actors/skill/... ./actors/internal/actorx ./bus/runlog ./protocol ./state/kv
	$(GO) test -count=1 -v -run 'TestRatio|TestDurableRatio|TestControlRatio|TestManyRuns' ./actors -ratio $(BENCHTIME)

.PHONY: fuzz
fuzz: ## Each fuzz target for FUZZTIME (20s)
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep ^Fuzz || true); do \
			echo "== $$pkg $$target"; $(GO) test -run XXX -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# The linter is built from source, pinned in a module of its own.
bin/golangci-lint: tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin
