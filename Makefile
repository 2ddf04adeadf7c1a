# Everything a contributor runs. `make test` on a fresh machine needs Go and
# nothing else: it installs what is missing.

GO       ?= go
BIN      := $(CURDIR)/bin
GOFUMPT  := $(BIN)/gofumpt
GOLANGCI := $(BIN)/golangci-lint

# Pinned: a linter's new release must not break yesterday's commit.
GOFUMPT_VERSION  := v0.12.0
GOLANGCI_VERSION := v2.14.0

FUZZTIME  ?= 30s
BENCHTIME ?= 2s

.PHONY: all test test-plain race lint fmt fuzz bench mutate demo clean

all: lint test

## test: everything that must pass before a change lands
test: vet test-plain race

.PHONY: vet
vet:
	$(GO) vet ./...

## test-plain: all tests without the race detector, as `go test ./...` runs them
test-plain:
	$(GO) test -timeout 5m ./...

## race: the tests of everything that runs concurrently, with the race detector
race:
	$(GO) test -race -short -timeout 10m ./...

## lint: formatting and golangci-lint, installed into bin/ when missing
lint: $(GOFUMPT) $(GOLANGCI)
	@files=$$($(GOFUMPT) -l .); if [ -n "$$files" ]; then echo "not formatted, run make fmt:"; echo "$$files"; exit 1; fi
	$(GOLANGCI) run ./...

## fmt: format all Go files
fmt: $(GOFUMPT)
	$(GOFUMPT) -l -w .

## fuzz: each fuzz target for FUZZTIME
fuzz:
	@for target in $$(grep -rhoE '^func Fuzz[A-Za-z]+' --include='*_test.go' . | sed 's/func //'); do \
		package=$$(dirname $$(grep -rlE "^func $$target\(" --include='*_test.go' .)); \
		echo "== $$package $$target"; \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package || exit 1; \
	done

## bench: the benchmarks, with a plain loop of transactions as the peer
bench:
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -count 3 ./...

## mutate: break the rules one condition at a time and list what no test notices
mutate:
	$(GO) run ./internal/mutate

## demo: the story in the first minute
demo:
	$(GO) run ./cmd/dibs demo

$(GOFUMPT):
	GOBIN=$(BIN) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

$(GOLANGCI):
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

clean:
	rm -rf $(BIN)
