# Everything a contributor runs: make help lists it. `make test` on a fresh machine needs only Go: it
# installs what is missing.

GO       ?= go
BIN      := $(CURDIR)/bin
GOFUMPT  := $(BIN)/gofumpt
GOLANGCI := $(BIN)/golangci-lint
ACTIONLINT := $(BIN)/actionlint
NFPM     := $(BIN)/nfpm

# Pinned: a linter's new release must not break yesterday's commit.
GOFUMPT_VERSION  := v0.12.0
GOLANGCI_VERSION := v2.14.0
ACTIONLINT_VERSION := v1.7.12
NFPM_VERSION := v2.45.2

DENO_VERSION := 2.9.6
BUN_VERSION  := 1.4.4

# Debian's, which has the modules that build a wheel.
PYTHON ?= /usr/bin/python3

FUZZTIME  ?= 30s
BENCHTIME ?= 2s

# Options of make bench: rounds, seconds per round, goals and curves (S1,S5,callers; all if
# empty), and other flags, such as -profile=/tmp/profiles or -lapsed=1000000.
ROUNDS     ?= 3
SECONDS    ?= 2
ONLY       ?=
BENCHFLAGS ?=

# How many names make growth has, and where it keeps them.
NAMES     ?= 10000000
GROWTHDIR ?= /tmp/dibs-growth

# How many names make import-bench imports.
IMPORTS ?= 2000000

# How many histories make histories checks on each engine.
HISTORIES ?= 1000

# How long make torture runs on each engine, and about how many callers it has.
TORTURE ?= 1m
CALLERS ?= 16

# How long the torture of make proof runs on all engines together, the parts in which it does so, and
# how many kills it needs.
PROOF ?= 8h
SLICE ?= 20m
KILLS ?= 200

# How many requests make fuzz-requests sends, their random seed, and the engines of the servers.
REQUESTS ?= 100000
SEED     ?= 1
ENGINES  ?= memory,sqlite,postgres,etcd

.PHONY: all help test test-plain baselines race lint fmt fuzz bench microbench mutate demo clean

## all: lint and test: what make alone does
all: lint test

## help: this list. Words in capitals are variables, such as FUZZTIME=1m: the Makefile has their defaults
help:
	@awk '/^## / { name = ""; text = substr($$0, 4) } \
		/^## [a-z-]+: / { name = substr(text, 1, index(text, ":") - 1); text = substr(text, index(text, ":") + 2) } \
		/^## / { printf "%-16s %s\n", name, text }' Makefile

## test: everything that must pass before a change lands
test: vet test-plain examples clients baselines race

# The plain tests have run the shop in Go, and vet has checked all packages: what go test checks is part of it.
test: SHOPS = others
test: VET = -vet=off

.PHONY: vet
vet:
	$(GO) vet ./...
	cd internal/etcdtest/member && $(GO) vet ./...

# The packages whose tests need no database, and run on every system.
PORTABLE := . ./internal/rules ./internal/core ./profile ./memstore ./sqlitestore

## cross: everything compiles for macOS and Windows, with the tests that run there
.PHONY: cross
cross:
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) build ./...
	GOOS=windows $(GO) vet $(PORTABLE)

## test-plain: all tests without the race detector, as `go test ./...` runs them
test-plain: deps
	$(GO) test $(VET) -timeout 5m ./...

# npm ci writes this file into the folder of a package.json. It is run again when the lock changes.
NPM_CI := node_modules/.package-lock.json

%/$(NPM_CI): %/package-lock.json
	cd $* && npm ci --no-audit --no-fund
	touch $@

## examples: the tests of the examples: of those with third-party libraries, which are separate modules, so that users of Dibs
## do not get those libraries, and of the shop in all its languages
.PHONY: examples
examples: deps clients/typescript/$(NPM_CI) examples/shop/typescript/$(NPM_CI)
	cd examples/web && $(GO) vet -mod=mod ./... && $(GO) test -mod=mod -vet=off -timeout 5m ./...
	cd clients/typescript && npm run build
	cd examples/shop/typescript && npm run build
	DIBS_EXAMPLES=$(SHOPS) PYTHON=$(PYTHON) $(GO) test $(VET) -timeout 5m -count 1 ./examples/shop

# The languages of the shop: all, or others than Go.
SHOPS ?= all

## clients: the clients for other languages, against a real server
.PHONY: clients
clients: deps clients/typescript/$(NPM_CI)
	$(GO) build -o $(BIN)/dibs ./cmd/dibs
	$(MAKE) --no-print-directory -j2 -Otarget clients-typescript clients-python

# Both mostly wait, and so run at once.
.PHONY: clients-typescript clients-python
clients-typescript:
	cd clients/typescript && DIBS_BINARY=$(BIN)/dibs npm test
clients-python:
	cd clients/python && DIBS_BINARY=$(BIN)/dibs $(PYTHON) -m unittest discover -s tests

## test-runtimes: the tests of the TypeScript client in Deno and Bun, which npm downloads
.PHONY: test-runtimes
test-runtimes: deps clients/typescript/$(NPM_CI)
	$(GO) build -o $(BIN)/dibs ./cmd/dibs
	cd clients/typescript && rm -rf build && npx tsc -p tsconfig.test.json
	cd clients/typescript && for test in verbs hold robust watch; do \
		DIBS_BINARY=$(BIN)/dibs npx --yes deno@$(DENO_VERSION) test -A --no-check build/test/$$test.test.js || exit 1; \
		DIBS_BINARY=$(BIN)/dibs npx --yes bun@$(BUN_VERSION) test ./build/test/$$test.test.js || exit 1; \
	done

## baselines: no goal may be far below its former value, a server withstands overload, and the dashboard is quick; runs alone,
## because it measures
baselines: deps
	$(GO) test $(VET) -timeout 5m -count 1 ./internal/servetest -run '^Test(Overload|MisbehavingClients)$$' -baselines
	$(GO) test $(VET) -timeout 5m -count 1 ./internal/bench -run '^TestBaselines$$' -baselines
	DIBS_TEST_LONG=1 $(GO) test $(VET) -timeout 5m -count 1 ./dashboard -run '^Test(FirstPage|ManyNames|TailIsCheap)$$'

## dashboard-goals: how soon the first page is usable, what the live tail costs, and how long pages take; DIBS_DASHBOARD_STORE
## names a store with many names
.PHONY: dashboard-goals
dashboard-goals: deps
	DIBS_TEST_LONG=goals $(GO) test -timeout 15m -count 1 -v ./dashboard -run '^Test(FirstPage|ManyNames|TailIsCheap)$$'

## test-cluster: the tests of etcd clusters whose members fail or are cut off, all of them, repeatedly
.PHONY: test-cluster
test-cluster: deps
	DIBS_TEST_LONG=1 $(GO) test -timeout 10m -count 1 ./etcdstore

## test-engines: the tests of PostgreSQL, SQLite and routes in their long form: all isolation levels, poolers and pairs of
## engines, each step of a migration interrupted, and a minute of random faults
.PHONY: test-engines
test-engines: deps
	DIBS_TEST_LONG=1m $(GO) test -timeout 30m -count 1 ./pgstore ./sqlitestore ./routestore

## histories: HISTORIES histories of concurrent callers on each engine, with faults, checked for linearizability;
## as many with two servers on SQLite and on PostgreSQL, which are killed meanwhile; and as many of one caller,
## which must do the same on each engine as on memory, and the same as the model
.PHONY: histories
histories: deps
	HISTORIES=$(HISTORIES) $(GO) test -timeout 300m -count 1 -parallel 1 -v ./internal/linear ./internal/servetest ./internal/model \
		-run '^Test(Histories.*|Model|SweepingChangesNothing|Recanonicalize)$$'

## crashes: kill a process before and after every step of everything that it does with a registry, on SQLite and on
## PostgreSQL
.PHONY: crashes
crashes: deps
	DIBS_TEST_LONG=1 $(GO) test -timeout 60m -count 1 -v ./internal/crashtest -run '^TestCrashAtEveryStep$$'

## torture: servers on SQLite, PostgreSQL and etcd under every fault, TORTURE long each; docs/testing.md says what is checked
.PHONY: torture
torture: deps torture-programs
	$(BIN)/dibs torture sqlite --callers $(CALLERS) --for $(TORTURE)
	$(BIN)/dibs torture postgres --callers $(CALLERS) --for $(TORTURE)
	$(BIN)/dibs torture etcd --etcd $(BIN)/etcd --callers $(CALLERS) --for $(TORTURE)

# The etcd of tests is a module of its own.
.PHONY: torture-programs
torture-programs:
	$(GO) build -o $(BIN)/dibs ./cmd/dibs
	cd internal/etcdtest/member && $(GO) build -o $(BIN)/etcd .

# Runs a long test, and keeps its figures in bench/proof.json.
KEEP := $(GO) run ./internal/proof

# The long tests of make proof. Each is a target of its own, proof-NAME, and can be run alone.
PROOFS := planted mutate crashes histories requests fuzz torture

# Ends a recipe: the pages show what its command did, also if it failed.
SHOW := status=$$?; $(GO) run ./internal/chart && exit $$status

## proof: every long test, with its figures in docs/testing.md: all planted bugs, all changes of the rules, every crash,
## HISTORIES histories on each engine, REQUESTS requests, ten minutes of each fuzz target, and torture for PROOF in all with at
## least KILLS kills of servers and of databases. Fuzzing and torture go on where they were stopped. Each can be run alone:
## proof-planted, proof-mutate, proof-crashes, proof-histories, proof-requests, proof-fuzz, proof-torture
.PHONY: proof
proof: $(addprefix proof-,$(PROOFS))

.PHONY: $(addprefix proof-,$(PROOFS))
proof-crashes proof-histories: proof-%: deps
	$(KEEP) -name $* -- $(MAKE) --no-print-directory $*; $(SHOW)

# Without the flags of daily use: a run of some bugs, if it fails, would replace the figures of all.
proof-planted proof-mutate: proof-%:
	$(KEEP) -name $* -- $(MAKE) --no-print-directory $* PLANTEDFLAGS= MUTATEFLAGS=; $(SHOW)

proof-requests: deps
	$(KEEP) -name requests -- $(MAKE) --no-print-directory fuzz-requests; $(SHOW)

proof-fuzz: FUZZTIME = 10m
proof-fuzz: FUZZKEEP = 5
proof-fuzz:
	$(MAKE) --no-print-directory fuzz FUZZTIME=$(FUZZTIME) FUZZKEEP=$(FUZZKEEP) FUZZFILE=bench/proof.json; $(SHOW)

# Each engine alone, also if another one fails. They mostly wait for faults: make -j3 proof-torture runs all at once, and
# takes a third of the time. On a busy machine fewer CALLERS help: members of etcd that get no processor for a second lose
# their leader, and after a minute without one the run has failed.
TORTURES := proof-torture-sqlite proof-torture-postgres proof-torture-etcd
proof-torture:
	$(MAKE) --no-print-directory --keep-going $(TORTURES); $(SHOW)

.PHONY: $(TORTURES)
$(TORTURES): deps torture-programs
proof-torture-sqlite:
	$(KEEP) -name 'torture sqlite' -for $(PROOF) -share 3 -slice $(SLICE) -least 'fault kill=$(KILLS)' -- $(BIN)/dibs torture sqlite --callers $(CALLERS) --for {for} --json

proof-torture-postgres:
	$(KEEP) -name 'torture postgres' -for $(PROOF) -share 3 -slice $(SLICE) -least 'fault kill=$(KILLS),fault db-kill=$(KILLS)' -- \
		$(BIN)/dibs torture postgres --callers $(CALLERS) --for {for} --json

proof-torture-etcd:
	$(KEEP) -name 'torture etcd' -for $(PROOF) -share 3 -slice $(SLICE) -least 'fault leader-kill=$(KILLS)' -- \
		$(BIN)/dibs torture etcd --etcd $(BIN)/etcd --callers $(CALLERS) --for {for} --json

## test-overload: a server under twice the load that it can carry, for a minute
.PHONY: test-overload
test-overload:
	DIBS_TEST_LONG=1m $(GO) test -timeout 10m -count 1 -v -run '^TestOverload$$' ./internal/servetest

## race: all tests with the race detector, in their short form. It does not look into SQLite, whose code, translated from C, has its
## own locks, and takes four times as long when every access to memory is checked. The tests of docs/, which have nothing
## concurrent, and of the dashboard, which are about a browser, do not run
#
# A program with the race detector sleeps for a second before it exits, as do most of the 75 test binaries and the
# servers that they start. A tenth of that shows the races of goroutines that a test has left, too.
race: deps
	packages=$$($(GO) list ./...) && GORACE=atexit_sleep_ms=100 $(GO) test -race -gcflags='modernc.org/...=-race=false' -vet=off -short -timeout 10m \
		$$(echo "$$packages" | grep -vE '/(docs|dashboard)$$')

## lint: formatting, golangci-lint and actionlint, installed into bin/ when missing; mypy for the Python client; cross
lint: $(GOFUMPT) $(GOLANGCI) $(ACTIONLINT) dashboard/$(NPM_CI) cross
	@files=$$($(GOFUMPT) -l .) || exit 1; if [ -n "$$files" ]; then echo "not formatted, run make fmt:"; echo "$$files"; exit 1; fi
	$(GOLANGCI) run ./...
	$(ACTIONLINT)
	cd dashboard && npm run lint
	@command -v mypy >/dev/null || $(MAKE) --no-print-directory install-mypy
	mypy --strict --cache-dir /dev/null clients/python/calldibs.py

## fmt: format all Go files
fmt: $(GOFUMPT)
	$(GOFUMPT) -l -w .

# Options of make fuzz: targets (all if empty), how many new inputs of each to keep in testdata/fuzz, how long it runs in all
# (0: until each target had its time), and the file that keeps what was done.
FUZZONLY ?=
FUZZKEEP ?= 0
FUZZFOR  ?= 0
FUZZFILE ?=

## fuzz: each fuzz target for FUZZTIME
fuzz:
	$(GO) run ./internal/fuzz -time $(FUZZTIME) -for $(FUZZFOR) -file '$(FUZZFILE)' -only '$(FUZZONLY)' -keep $(FUZZKEEP)

## fuzz-requests: REQUESTS random requests to servers on ENGINES, valid and invalid; SEED selects them
.PHONY: fuzz-requests
fuzz-requests: deps
	REQUESTS=$(REQUESTS) SEED=$(SEED) ENGINES=$(ENGINES) $(GO) test -timeout 120m -count 1 -v -run '^TestRequests$$' ./internal/server

## bench: the goals for speed and size, each beside what a user would have without Dibs; a run of all goals is written to
## bench/results.json
bench: deps
	$(GO) test -timeout 60m -count 1 ./internal/bench -run '^TestGoals$$' -v -goals -rounds $(ROUNDS) -seconds $(SECONDS) -only '$(ONLY)' $(BENCHFLAGS)

## import-bench: how long dibs import takes for IMPORTS names, once, beside COPY into a bare table: goal S11 in
## bench/results.json
.PHONY: import-bench
import-bench: deps
	$(GO) test -timeout 120m -count 1 ./internal/bench -run '^TestGoals$$' -v -goals -rounds 1 -only S11 -merge -imports $(IMPORTS) $(BENCHFLAGS)

## growth: the goals at NAMES names on SQLite and PostgreSQL, written to bench/growth.json. Ten million take
## about an hour; the data stays in GROWTHDIR, and a run that was stopped continues there
.PHONY: growth
growth: deps
	$(GO) test -timeout 300m -count 1 ./internal/bench -run '^TestGrowth$$' -v -growth $(NAMES) -folder $(GROWTHDIR) -rounds $(ROUNDS) -seconds $(SECONDS) -only '$(ONLY)'

## charts: the charts in docs/charts, and the generated parts of README.md and docs/, from what bench, growth and proof have written
## into bench/
.PHONY: charts
charts:
	$(GO) run ./internal/chart

## scale: the model of docs/scale.md
.PHONY: scale
scale:
	$(GO) run ./internal/scale

## microbench: the Go benchmarks
microbench: deps
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) -count 3 ./...

## mutate: break the rules in one place at a time; fails if no test finds it; MUTATEFLAGS='-only name.go' for some places
mutate:
	$(GO) run ./internal/mutate $(MUTATEFLAGS)

## planted: plant the bugs of internal/planted, each must be found by its test; PLANTEDFLAGS='-only sqlitestore' for some bugs
.PHONY: planted
planted: deps clients/typescript/$(NPM_CI)
	PYTHON=$(PYTHON) $(GO) run ./internal/planted $(PLANTEDFLAGS)

# The fonts of the screenshots: a text font, and emoji.
FONTS := fonts-inter fonts-noto-color-emoji

# The pictures of README and docs, and how long the registry lives before they are taken.
PICTURES := overview-light.png entity-light.png name-light.png rename-light.png
LIVE     ?= 4m

## screenshots: every page of the dashboard, light and dark, wide and narrow, into dashboard/screenshots; the best into docs/images
.PHONY: screenshots
screenshots: deps
	@dpkg -s $(FONTS) >/dev/null 2>&1 || $(MAKE) --no-print-directory install-fonts
	mkdir -p dashboard/screenshots
	DIBS_SCREENSHOTS=$(CURDIR)/dashboard/screenshots DIBS_SCREENSHOTS_LIVE=$(LIVE) $(GO) test -count 1 ./dashboard -run '^TestScreenshots$$'
	cp $(addprefix dashboard/screenshots/,$(PICTURES)) docs/images/

# The version that make release makes, and further flags, such as -snapshot, or -targets linux/amd64.
VERSION      ?=
RELEASEFLAGS ?=

## release: archives, packages, lists of contents and checksums of VERSION, for all platforms, into dist/
.PHONY: release
release: $(NFPM)
	$(GO) run ./internal/release -nfpm $(NFPM) -version '$(VERSION)' $(RELEASEFLAGS)

# The packages of test-packages: they have the same source, and other versions.
PACKAGES := /tmp/dibs-packages
HERE      = $(shell $(GO) env GOOS)_$(shell $(GO) env GOARCH)

## test-packages: the package for Debian is installed, serves, is upgraded, removed and purged, under systemd in a
## copy of this machine; needs root
.PHONY: test-packages
test-packages: $(NFPM)
	for version in 0.0.9 0.1.0; do \
		$(GO) run ./internal/release -nfpm $(NFPM) -snapshot -version $$version -targets $(subst _,/,$(HERE)) -out $(PACKAGES)/$$version || exit 1; \
	done
	DIBS_TEST_PACKAGES=$(PACKAGES)/0.0.9/dibs_0.0.9_$(HERE).deb:$(PACKAGES)/0.1.0/dibs_0.1.0_$(HERE).deb \
		$(GO) test -count 1 -timeout 10m -v ./packaging

## first-minute: how long it takes from an archive to a confirmed name and the dashboard, and from a clone with an
## empty build cache to the demo
.PHONY: first-minute
first-minute:
	packaging/first-minute.sh

## demo: a tour of Dibs in a minute
demo:
	$(GO) run ./cmd/dibs-demo

# Unicode's data on scripts and look-alikes: tests compare with it.
UNICODE_DATA := /usr/share/unicode/Scripts.txt /usr/lib/python3/dist-packages/confusable_homoglyphs/confusables.json

## deps: install what tests need and is missing: the servers of PostgreSQL, Redis and MariaDB, Python, Node, Chromium, nginx, Caddy,
## libfaketime, ip, nft, mkfs.ext4, and Unicode's data
.PHONY: deps
deps:
	@ls $(UNICODE_DATA) >/dev/null 2>&1 || $(MAKE) --no-print-directory install-unicode-data
	@ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || \
		[ -x "$$(pg_config --bindir 2>/dev/null)/postgres" ] || $(MAKE) --no-print-directory install-postgresql
	@$(PYTHON) -c 'import setuptools, wheel' 2>/dev/null || $(MAKE) --no-print-directory install-python
	@command -v npm >/dev/null || $(MAKE) --no-print-directory install-node
	@command -v chromium >/dev/null || $(MAKE) --no-print-directory install-chromium
	@command -v redis-check-rdb >/dev/null || $(MAKE) --no-print-directory install-redis
	@command -v my_print_defaults >/dev/null || $(MAKE) --no-print-directory install-mariadb
	@ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || $(MAKE) --no-print-directory install-faketime
	@for proxy in nginx caddy; do \
		[ -x $(BIN)/$$proxy ] || PATH=$$PATH:/usr/sbin command -v $$proxy >/dev/null || $(MAKE) --no-print-directory $(BIN)/$$proxy || exit 1; \
	done
	@if [ "$$(id -u)" != 0 ]; then echo "*** tests that cut networks or the power of disks do not run: they need root ***"; exit; fi; \
		command -v ip >/dev/null || $(MAKE) --no-print-directory install-ip; \
		command -v nft >/dev/null || $(MAKE) --no-print-directory install-nft; \
		command -v mkfs.ext4 >/dev/null || $(MAKE) --no-print-directory install-ext4

# Debian's packages: what is missing without them, and what to do on a system without apt-get.
APT := install-postgresql install-python install-mypy install-node install-chromium install-redis install-mariadb install-unicode-data \
	install-fonts install-faketime install-ip install-nft install-ext4
.PHONY: $(APT)
$(APT):
	@command -v apt-get >/dev/null || { echo "*** $(MISSING), and this system has no apt-get$(if $(ELSE),: $(ELSE)) ***"; exit $(WITHOUT); }; \
	sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; set -ex; \
	$(BEFORE) $$sudo apt-get update; \
	$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $(DEBS)
$(APT): WITHOUT = 1

install-postgresql: DEBS = postgresql
install-postgresql: MISSING = PostgreSQL is not installed
install-postgresql: ELSE = install its server (postgres, initdb, pg_basebackup)
# Keeps Debian's package from starting a server.
install-postgresql: BEFORE = $$sudo mkdir -p $(dir $(NO_MAIN_CLUSTER)); \
	echo "create_main_cluster = false" | $$sudo tee $(NO_MAIN_CLUSTER) >/dev/null;
NO_MAIN_CLUSTER := /etc/postgresql-common/createcluster.d/no-main-cluster.conf

install-python: DEBS = python3 python3-setuptools python3-wheel
install-python: MISSING = Python is not installed
install-python: ELSE = install python3 with setuptools and wheel, and set PYTHON

install-mypy: DEBS = mypy
install-mypy: MISSING = mypy is not installed
install-mypy: ELSE = install it

install-node: DEBS = nodejs npm
install-node: MISSING = Node is not installed
install-node: ELSE = install node 20 or later, with npm

# The browser in which the dashboard is tested.
install-chromium: DEBS = chromium
install-chromium: MISSING = Chromium is not installed
install-chromium: ELSE = install it as chromium

# A peer of make bench. Not the package redis-server, which would start one.
install-redis: DEBS = redis-tools
install-redis: MISSING = Redis is not installed
install-redis: ELSE = install redis-check-rdb, which is also its server

# A source of dibs import. Not the package mariadb-server, which would start one.
install-mariadb: DEBS = mariadb-server-core mariadb-client-core
install-mariadb: MISSING = MariaDB is not installed
install-mariadb: ELSE = install mariadbd and mariadb-install-db

install-unicode-data: DEBS = unicode-data python3-confusable-homoglyphs
install-unicode-data: MISSING = Unicode's data is not installed
install-unicode-data: ELSE = provide $(UNICODE_DATA) as in Debian's packages $(DEBS)

install-fonts: DEBS = $(FONTS)
install-fonts: MISSING = the fonts of screenshots are not installed
install-fonts: ELSE = install them as in Debian's packages $(DEBS)

# Without these, tests and make torture leave something out.
install-faketime install-ip install-nft install-ext4: WITHOUT = 0
install-faketime: DEBS = libfaketime
install-faketime: MISSING = the clock of PostgreSQL does not jump in tests: libfaketime is not installed
install-ip: DEBS = iproute2
install-ip: MISSING = tests that cut networks do not run: ip (iproute2) is not installed
install-nft: DEBS = nftables
install-nft: MISSING = tests that lose packets do not run: nft (nftables) is not installed
install-ext4: DEBS = e2fsprogs mount
install-ext4: MISSING = tests with full disks and power failures do not run: mkfs.ext4 (e2fsprogs) is not installed

# The proxies of docs/proxies.md, extracted from Debian's packages: installing those would
# start them.
$(BIN)/nginx $(BIN)/caddy:
	@command -v apt-get >/dev/null || { echo "$(@F) is not installed, and this system has no apt-get: install it, and do not start it"; exit 1; }
	@sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; set -ex; \
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; cd $$dir; \
	apt-get download $(@F) || { $$sudo apt-get update && apt-get download $(@F); }; \
	dpkg-deb -x $(@F)_*.deb .; \
	mkdir -p $(BIN); mv usr/*bin/$(@F) $@

$(GOFUMPT):
	GOBIN=$(BIN) $(GO) install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)

$(GOLANGCI):
	GOBIN=$(BIN) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(ACTIONLINT):
	GOBIN=$(BIN) $(GO) install github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION)

$(NFPM):
	GOBIN=$(BIN) $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)

## clean: remove bin/ and dist/
clean:
	rm -rf $(BIN) dist
