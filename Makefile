# make, or make help, lists the targets.

SHELL      := /bin/sh

# Only bin/hotcell carries the commit, and only where git can tell it; all else depends on its sources alone.
export GOFLAGS := $(GOFLAGS) -buildvcs=false
VCS        := $(if $(shell git rev-parse --verify --quiet HEAD 2>/dev/null),true,false)

EMBED      := cmd/hotcell/embed
# The architectures of engines for which programs are built that run inside cells.
ARCHES     ?= amd64 arm64
FUZZTIME   ?= 2m
BENCH_JSON ?=
BENCH_SVG  ?=
BENCH_DOC  ?=
BENCH      ?=
PKGS       ?= ./...

# What tests must find on this machine: without it they fail instead of being skipped.
REQUIRE    ?= docker,image-python,image-word-count,go,linux

# How long make soak is: rounds of every hostile row, seeded endings, time-outs, calls over kill -9, restarts of an engine,
# calls among random faults of an engine, how long a thousand callers call, how long a Prometheus scrapes under load.
ROUNDS     ?= 20
ENDINGS    ?= 500
TIMEOUTS   ?= 200
CRASHED    ?= 1000
RESTARTS   ?= 20
FAULTS     ?= 120
LOAD       ?= 5m
SCRAPES    ?= 10m
SEED       ?= 1

# A folder with the programs up and load for a Kubernetes cluster (scripts/with-cluster), and how many calls make test-kube makes of skills
# that answer and exit at once.
KUBE       ?=
CALLS      ?= 100

# The race detector needs a C compiler.
RACE       ?= $(if $(shell command -v gcc),-race)

.DEFAULT_GOAL := help
.PHONY: help demo build test test-kube test-cgroup2 test-service lint bench bench-kube scale fuzz soak engine image runsc prometheus postgres browser clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: build image ## run the bundled code-review skill on a sample, from nothing
	bin/hotcell run code-review --arg code=@docs/examples/sample.py

build: ## build bin/hotcell with the runners and engines for amd64 and arm64 in it (ARCHES)
	@for arch in $(ARCHES); do for program in runner engine; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -trimpath -ldflags '-s -w' \
			-o $(EMBED)/hotcell-$$program-$$arch ./cmd/hotcell-$$program || exit 1; \
	done; gzip -6nf $(EMBED)/hotcell-engine-$$arch || exit 1; done
	CGO_ENABLED=0 go build -trimpath -buildvcs=$(VCS) -ldflags '-s -w' -o bin/hotcell ./cmd/hotcell

test: build image ## run every test, those on the real engine included (PKGS=./..., REQUIRE=...)
	$(if $(RACE),,@echo 'make: no C compiler, so the race detector is off' >&2)
	HOTCELL_REQUIRE=$(REQUIRE) go run ./integration/tally $(RACE) -p 2 -timeout 20m $(PKGS)

test-kube: build image postgres ## test the driver kubernetes on a real cluster (KUBE=folder, or KUBECONFIG; CALLS)
	@KUBE=$(KUBE) CALLS=$(CALLS) scripts/with-cluster scripts/test-kube

test-cgroup2: image ## run the tests of containment on cgroup v2, in a virtual machine (a few minutes)
	@scripts/test-cgroup2

test-service: build image ## install bin/hotcell under a real systemd, in a container, as docs/operations.md says (a minute)
	@scripts/test-service

lint: ## check format, go vet and staticcheck
	@out=$$(gofmt -l .) && if [ -n "$$out" ]; then printf 'gofmt would change:\n%s\n' "$$out" >&2; exit 1; fi
	go vet $(PKGS)
	go tool staticcheck $(PKGS)

bench: build image ## compare with the raw engine, docker run, runc and pipes (BENCH_JSON, BENCH_SVG, BENCH_DOC=file, BENCH=flags)
	BENCH_JSON=$(BENCH_JSON) BENCH_SVG=$(BENCH_SVG) BENCH_DOC=$(BENCH_DOC) go run ./integration/bench -runner $(EMBED)/hotcell-runner-$$(go env GOARCH) $(BENCH)

bench-kube: build image ## compare cells in a cluster with raw pods (KUBE, BENCH_JSON, BENCH_DOC, BENCH)
	KUBE=$(KUBE) BENCH_JSON=$(BENCH_JSON) BENCH_DOC=$(BENCH_DOC) scripts/with-cluster \
		go run ./integration/bench -kube -n 20 -runner $(EMBED)/hotcell-runner-$$(go env GOARCH) $(BENCH)

scale: ## simulate up to 1,000 nodes in virtual time, and write the tables of docs/scale.md (some minutes)
	HOTCELL_SCALE_DOC=$(CURDIR)/docs/scale.md go test -count=1 -v -timeout 1h -run TestScaleSweep ./integration/scale

fuzz: ## run each fuzz target for FUZZTIME (2m)
	@grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | while IFS=: read -r file func; do \
		echo "$${file%/*} $${func#func }"; \
		go test -run '^$$' -fuzz "^$${func#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x "$${file%/*}" </dev/null || exit 1; \
	done

soak: build image prometheus postgres ## repeat the long tests and print their figures (ROUNDS, SEED and what else is above)
	HOTCELL_REQUIRE=$(REQUIRE) HOTCELL_SOAK_SEED=$(SEED) HOTCELL_SOAK_ROUNDS=$(ROUNDS) HOTCELL_SOAK_ENDINGS=$(ENDINGS) \
	LOAD=$(LOAD) HOTCELL_LOOKS=all HOTCELL_SOAK_SCRAPES=$(SCRAPES) HOTCELL_SOAK_FLOODS=1 HOTCELL_SOAK_TIMEOUTS=$(TIMEOUTS) HOTCELL_SOAK_CALLS=$(CRASHED) HOTCELL_SOAK_RESTARTS=$(RESTARTS) HOTCELL_SOAK_FAULTS=$(FAULTS) \
		go test -count=1 -p 1 -v -timeout 4h ./integration/... 2>&1 | \
		awk '/^(soak:|---|[ \t]+--- FAIL|FAIL|ok|panic)|soak:/ { print; fflush() } /^(FAIL|panic)/ { bad = 1 } END { exit bad }'
	for way in HOTCELL_WARM=64 HOTCELL_DRIVER=oci 'HOTCELL_DRIVER=oci HOTCELL_WARM=64' 'HOTCELL_RUNTIME=runsc HOTCELL_WARM=64'; do \
		echo "soak: all hostile rows, $$way"; \
		env $$way HOTCELL_REQUIRE=$(REQUIRE) go test -count=1 -p 1 -timeout 1h ./integration/hostile || exit 1; \
	done
	HOTCELL_DRIVER=oci LOAD=1m HOTCELL_REQUIRE=$(REQUIRE) go test -count=1 -v ./integration/load

engine: ## make sure that a Docker Engine answers
	@scripts/engine

image: engine ## make sure that the images of skills are there
	@scripts/image-python
	@scripts/image-word-count

runsc: engine ## build gVisor's runtime and register it with the engine
	@scripts/runsc

prometheus: ## make sure that prometheus and promtool are there
	@scripts/prometheus

postgres: ## make sure that a Postgres server's programs are there
	@scripts/postgres

browser: ## make sure that what the console's tests look with is there: chromium and axe-core
	@scripts/chromium
	@scripts/axe >/dev/null

clean: ## remove what was built
	rm -rf bin dist $(EMBED)/hotcell-runner-* $(EMBED)/hotcell-engine-*
