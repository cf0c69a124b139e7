# Every tool runs on the Node that comes with the project; npm itself stays on the machine's own, so that it never
# replaces the binary it runs on.
SHELL := /bin/sh
MACHINE_PATH := $(PATH)
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
PACKAGES := node_modules/.installed
CONSOLE := console/dist/index.html
ARGS ?=
ITEMS ?= 2000000

.DEFAULT_GOAL := help
.PHONY: help setup up test test-operations test-admin test-upkeep test-load test-console test-long test-clients test-deploy test-containers test-kubernetes test-cluster test-account faults sabotage test-package fuzz test-random fuzz-api check docs package bench bench-peers bench-compare profile backlog guard-cost format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

# Not npm ci: it fails where a registry lacks the optional packages of other platforms.
$(PACKAGES): package-lock.json package.json
	@started=$$(date +%s); echo "npm packages: installing …"; \
	  PATH="$(MACHINE_PATH)" npm install --no-save --no-audit --no-fund --loglevel=error \
	  && touch $@ && echo "npm packages: done in $$(($$(date +%s) - started)) s"

$(CONSOLE): $(PACKAGES) console/index.html console/vite.config.ts $(shell find console/src -type f)
	@vite build --config console/vite.config.ts && touch $@

setup: $(PACKAGES) $(CONSOLE) ## install the packages and the engines that are missing, and build the console
	@bin/tidemark setup

up: setup ## run the whole stack on this machine until Ctrl-C
	@bin/tidemark up $(ARGS)

test: setup ## test the line from receivers to rows, on real engines (ARGS="test/unit" for some)
	@vitest run --project '!clients' --project '!deploy' --project '!long' --project '!cluster' --project '!account' --project '!console' --project '!containers' --project '!in-containers' --project '!kubernetes' --project '!package' --project '!kills' --project '!load' --project '!operations' --project '!admin' --project '!upkeep' $(ARGS)

test-operations: setup ## test what operators use: `tidemark up`, dead letters, the account, usage, audit, the state of the line
	@vitest run --project operations $(ARGS)

test-admin: setup ## test the admin API at length: records, commands, reading data, random requests, outages, the refresh job
	@vitest run --project admin $(ARGS)

test-upkeep: setup ## test backups, retention, every command of the documents, data of earlier versions, and the ways out of ClickHouse
	@vitest run --project upkeep $(ARGS)

test-load: setup ## kill a process at each instant between two steps, fill the receivers, and let hostile clients at them
	@vitest run --project kills --project load $(ARGS)

test-console: setup ## drive the console in a real Chromium, which is installed where it is missing (ARGS="test/console/log-in.test.ts" for some)
	@vitest run --project console $(ARGS)

test-long: setup ## kill metadata in every gap between its writes, walk its life cycle at random, kill each process under load, fill disks, restore a backup
	@vitest run --project long $(ARGS)

test-cluster: setup ## three NATS servers with three copies of each stream, their leader killed under load
	@vitest run --project cluster $(ARGS)

test-account: setup ## lose, delete and put back what the account speaks of, and see each loss with its number, and none where nothing is lost (SEED=1 KILLS=8)
	@SEED="$(SEED)" KILLS="$(KILLS)" vitest run --project account $(ARGS)

test-clients: setup ## build real clients of other languages, and run them against the receivers (ARGS="-t Java" for some)
	@vitest run --project clients $(ARGS)

test-deploy: setup ## build Prometheus and Kubernetes' own checks, and hold everything in deploy/ against them and the real roles
	@vitest run --project deploy $(ARGS)

test-package: setup ## install the npm package in an empty folder, and follow README in a new clone, both without a network
	@vitest run --project package $(ARGS)

test-containers: setup ## build the image and run the compose stack in containers, then the contract and exactly-once tests on engines in containers (installs Docker where it is missing)
	@node test/containers/main.ts $(ARGS)

test-kubernetes: setup ## run the commands of docs/kubernetes.md on a Kubernetes of one node, built and started here (installs what is missing)
	@node test/kubernetes/main.ts $(ARGS)

faults: setup ## kill, pause and stop every process under load, and hold every item against its answer (SEED=1 KILLS=200 MINUTES=40)
	@SEED="$(SEED)" KILLS="$(KILLS)" MINUTES="$(MINUTES)" node test/faults/main.ts $(ARGS)

fuzz: $(PACKAGES) ## give every decoder what no sender should send (SEED=1 COUNT=100000 TARGET=push), or look for the bodies that cost most (MODE=cost)
	@MODE="$(MODE)" SEED="$(SEED)" COUNT="$(COUNT)" TARGET="$(TARGET)" node test/fuzz/main.ts

test-random: setup ## the random tests of `make test` with RUNS times as many cases (RUNS=10 ARGS="test/unit/wire")
	@RUNS="$(or $(RUNS),10)" vitest run --project unit --project engines --project operations --project admin --project upkeep --testTimeout 3600000 $(or $(ARGS),$(shell grep -rlE "support/properties.ts'" test/unit test/engines test/operations))

fuzz-api: setup ## send the admin API what its OpenAPI document allows and what it does not (FUZZ_EXAMPLES=40 per operation)
	@node test/support/openapi/fuzz.ts

sabotage: setup ## break what exactly once rests on, one thing at a time, and see the test that has to fail (ARGS="guard" for one)
	@node test/sabotage/main.ts $(ARGS)

check: $(PACKAGES) ## formatting and lint, types, import rules, words, lengths of functions, generated documents
	@biome check --error-on-warnings
	@tsc -p .
	@tsc -p console
	@depcruise src console/src --config .dependency-cruiser.cjs
	@node tools/check-words.ts
	@node tools/check-functions.ts
	@node tools/docs/check.ts

docs: $(PACKAGES) ## write the documents and schemas that follow from the code
	@node tools/docs/write.ts
	@biome format --write --log-level=warn schemas

package: setup ## write tidemark-<version>.tgz, an npm package that runs without a clone
	@node --disable-warning=ExperimentalWarning tools/package.ts

bench: setup ## measure stages, the whole line, latency and memory, and judge the targets (ARGS="--only push --seconds 60 --repeats 3")
	@node bench/main.ts $(ARGS)

bench-peers: setup ## the OpenTelemetry Collector and Telegraf beside this program, built first (ARGS="--only kills")
	@node bench/peers/main.ts $(ARGS)

bench-compare: setup ## run the benches on the sources of a revision and on these, by turns (BASE=HEAD~1 ARGS="--only push --pairs 3")
	@node bench/compare.ts --base "$(BASE)" $(ARGS)

profile: setup ## where a role's time goes at full load: flame graph and table (ROLE=ingress LOAD=spans-json ARGS="--seconds 20")
	@node bench/profile/main.ts --role "$(or $(ROLE),ingress)" --load "$(or $(LOAD),points)" $(ARGS)

backlog: setup ## fill the streams with transfer away, then drain them with one transfer and count (ITEMS=20000000)
	@node bench/backlog.ts --items "$(ITEMS)" $(ARGS)

guard-cost: setup ## measure what the guard costs an insert of spans (ARGS="--rows 20000000")
	@node bench/guard.ts $(ARGS)

format: $(PACKAGES) ## format the sources and apply safe fixes
	@biome check --write

clean: ## remove the packages and the data of `make up`
	rm -rf node_modules console/dist .tidemark coverage bench-results
