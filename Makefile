# `make serve` runs the service, and `make test` tests it. Both fetch and build what they need.
#
# Build output is kept outside the clone, in a separate folder for each clone, because cargo does not
# distinguish the crates of two clones and would mix them.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/assay/target/$(firstword $(shell printf %s "$(CURDIR)" | cksum))

# A build from scratch is a seventh faster, and half the size. `cargo` by itself builds incrementally.
export CARGO_INCREMENTAL ?= 0

# A fifth less work than with many units, and faster code. `cargo` by itself splits the crates of the
# workspace, so that a small change compiles faster.
export CARGO_PROFILE_DEV_CODEGEN_UNITS ?= 1

CARGO ?= cargo
BINARY = $(CARGO_TARGET_DIR)/debug/assay
TRAINER = $(CARGO_TARGET_DIR)/debug/assay-trainer
# Guests and their images.
IMAGES = python/python python/python-scientific javascript/javascript cpp/cpp
ARGS ?=
TARGET ?=
FOR ?= 600
MINUTES ?= 30
PROFILE ?= dev
PACKAGES = $(CARGO_TARGET_DIR)/packages

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

##@ Run

help: ## list the commands
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: build ## build and serve on 127.0.0.1:8080; ARGS are passed to `assay serve`
	@$(MAKE) --no-print-directory images || echo "not all images are built; tasks in their languages cannot be graded" >&2
	"$(BINARY)" serve $(ARGS)

# Here and below, `--workspace` selects features: other features would compile crates again.
build: ## build the binary and print its path
	$(CARGO) build --locked --workspace --bin assay
	@echo "$(BINARY)"

trainer: ## build the trainer and print its path
	$(CARGO) build --locked --workspace --bin assay-trainer
	@echo "$(TRAINER)"

images: build ## build the guest images unless they exist
	for image in $(IMAGES); do \
		guest=$$(python3 sandboxes/guests/$${image%/*}/build.py --image $${image#*/}) && \
		"$(BINARY)" images --build $${image#*/} --interpreter "$$guest" || exit 1; \
	done

wheel: images ## build the Python packages in `dist`; PROFILE=release compiles with link-time optimization
	python3 tests/peers/start.py deploy/wheels/build.py --profile $(PROFILE) $(ARGS)

cuda: ## build the binary with CUDA and FlashAttention and print its path; needs neither CUDA nor a GPU
	python3 deploy/cuda/cargo.py build --locked --package assay --bin assay --features flash-attn
	install -D "$(BINARY)" "$(CARGO_TARGET_DIR)/cuda/assay"
	@echo "$(CARGO_TARGET_DIR)/cuda/assay"

##@ Test

test: fmt clippy docs scripts images postgres browser unit deploy-check openapi-short chaos-short native-short documents check-planted python ## run everything that CI runs

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

scripts:
	python3 -m unittest discover --start-directory deploy/cuda

# A failed assertion needs no backtrace, which would hide its message in a shortened log.
unit:
	RUST_BACKTRACE=0 $(CARGO) test --locked --workspace
	RUST_BACKTRACE=0 ASSAY_TEST_POSTGRES=1 $(CARGO) test --locked --workspace --test record -- --skip sqlite::

documents: images trainer ## run the examples of the documents and compare their output
	python3 tests/documents/run.py "$(BINARY)" $(ARGS)

# Only links the binary of `build` again, and packs the two images of the main package.
packages: images
	python3 tests/peers/start.py deploy/wheels/build.py --images python,javascript --output "$(PACKAGES)"
	python3 tests/packaging/install.py "$(PACKAGES)"

python: packages ## test the Python package as installed; ARGS are passed to pytest
	python3 tests/packaging/client.py "$(PACKAGES)" -- $(ARGS)

python-heavy: packages ## test the Python package with Ray and Spark; needs Java 17
	python3 tests/packaging/client.py --heavy "$(PACKAGES)" -- $(ARGS)

test-clients: packages ## test the adapters with TRL, verl and other trainers, which are installed
	python3 tests/packaging/trainers.py "$(PACKAGES)" -- $(ARGS)

roots: ## install the wheel in `dist` into root file systems of Debian 11 and 13; needs root and `debootstrap`
	python3 tests/packaging/roots.py $(ARGS)

equal: build images ## compare rewards of 1,000 items by the wheel in `dist`, by a server and by `assay grade`
	python3 tests/packaging/equal.py "$(BINARY)" $(ARGS)

container: ## run the steps of the container image in a root file system of Debian 13; needs root and `debootstrap`
	python3 tests/packaging/container.py $(ARGS)

openapi: build ## test the API against its OpenAPI document with generated requests for FOR=600 seconds
	python3 tests/peers/start.py tests/openapi/run.py "$(BINARY)" --seconds $(FOR) $(ARGS)

openapi-short: build
	@python3 tests/peers/start.py tests/openapi/run.py "$(BINARY)" --seconds 30

chaos: images ## inject faults under load for MINUTES=30, compare with a run without faults; ARGS such as `--seed 2`
	python3 tests/chaos/run.py "$(BINARY)" --minutes $(MINUTES) $(ARGS)

nodes: images postgres ## run three nodes on one PostgreSQL, kill them under load, compare the record with replies; ARGS such as `--minutes 2`
	python3 tests/chaos/nodes.py "$(BINARY)" $(ARGS)

chaos-short: images postgres
	@python3 tests/chaos/prune.py "$(BINARY)"
	@python3 tests/chaos/run.py "$(BINARY)" --minutes 2
	@python3 tests/chaos/nodes.py "$(BINARY)" --minutes 0.3 --kills 3 --same 50
	@python3 tests/sharing/monsters.py "$(BINARY)" --count 10 --math-cpu 500
	@python3 tests/load/sessions.py "$(BINARY)" --sessions 50 --rate 20 --seconds 6 --kill-every 1

neighbours: images ## measure what a caller notices of a hostile one, for each of its attacks; ARGS such as --attack NAME
	python3 tests/sharing/neighbours.py "$(BINARY)" $(ARGS)

monsters: images ## send generated hostile inputs of every grader to a node and compare its memory with a limit
	python3 tests/sharing/monsters.py "$(BINARY)" $(ARGS)

crash: ## kill -9 a loaded server ten times, compare replies with the record
	$(CARGO) test --locked --package assay --test commands crash:: -- --nocapture

native: images ## compare verdicts of Python programs with native CPython; ARGS="--native PYTHON" also runs them in that CPython 3.13
	python3 tests/native/run.py "$(BINARY)" $(ARGS)

native-javascript: images ## compare verdicts of JavaScript programs with native Node; ARGS="--native NODE" also runs them in that Node 20
	python3 tests/native/javascript.py "$(BINARY)" $(ARGS)

native-cpp: images ## compare verdicts of C and C++ programs with native GCC; ARGS="--native g++" also runs them natively
	python3 tests/native/cpp.py "$(BINARY)" $(ARGS)

native-short: images
	@python3 tests/native/run.py "$(BINARY)" --short
	@python3 tests/native/javascript.py "$(BINARY)"
	@python3 tests/native/cpp.py "$(BINARY)" --every 8

resets: images ## compare thousands of restored instances with fresh ones
	$(CARGO) test --locked --package assay-tests --test suite programs::reset:: -- --include-ignored

mathematics: images ## compare `math`, `cmath`, `random` and `**` with a native CPython, bit by bit; ARGS such as `--native PYTHON --arguments 100000`
	python3 tests/native/mathematics.py "$(BINARY)" $(ARGS)

arrays: images ## compare numpy in the image with native numpy 2.3.5: ARGS="--native PYTHON"
	python3 tests/native/arrays.py "$(BINARY)" $(ARGS)

test-peers: build trainer ## compare models with `transformers` and torch, which are installed unless ARGS contain `--python PYTHON`
	python3 tests/peers/start.py tests/peers/reward_models.py "$(BINARY)" $(ARGS)
	python3 tests/peers/start.py tests/peers/judged.py "$(BINARY)" $(ARGS)
	python3 tests/peers/start.py tests/peers/trainer_parity.py "$(TRAINER)" $(ARGS)
	python3 tests/peers/start.py tests/peers/trainer_speed.py "$(TRAINER)" $(ARGS)

gpu-proof: ## build and pack `gpu-proof.tar.gz` for a machine with a GPU: CUDA binaries, reference cases and `prove.py`
	python3 deploy/cuda/cargo.py build --locked --package assay --package assay-trainer --features assay/flash-attn,assay-trainer/cuda
	install -D "$(BINARY)" "$(CARGO_TARGET_DIR)/cuda/assay"
	install -D "$(TRAINER)" "$(CARGO_TARGET_DIR)/cuda/assay-trainer"
	python3 tests/peers/gpu/bundle.py "$(CARGO_TARGET_DIR)/cuda/assay" "$(CARGO_TARGET_DIR)/cuda/assay-trainer" "$(CARGO_TARGET_DIR)/gpu-proof.tar.gz"

gpu-proof-cpu: build trainer ## run the script of `gpu-proof` on the CPU with small shapes
	python3 tests/peers/start.py tests/peers/prove.py --device cpu --small --minutes 30 --assay "$(BINARY)" --trainer "$(TRAINER)" --output "$(CARGO_TARGET_DIR)/gpu-proof" $(ARGS)

vectors: ## compare losses and advantages with values from other trainers in the file ARGS
	$(CARGO) run --locked --package assay-objective --example vectors -- $(ARGS)

postgres: ## install PostgreSQL for the tests unless it exists
	@sh tests/postgres/install.sh

prometheus: ## check the rules of Prometheus and the dashboard with promtool, which is downloaded unless it exists
	@sh deploy/prometheus/check.sh $(CARGO_TARGET_DIR)

deploy-check: build ## check the manifests in `deploy` by their schemas and by what they name in the binary
	@sh tests/deploy/install.sh || true
	@python3 tests/peers/start.py tests/deploy/check.py "$(BINARY)"

deploy-trial: images postgres ## start two nodes, PostgreSQL and HAProxy as the manifests say, kill and drain nodes under load; needs root
	@sh tests/deploy/install.sh
	@python3 tests/peers/start.py tests/deploy/trial.py "$(BINARY)" $(ARGS)

browser: ## install Chromium for the tests unless it exists
	@sh tests/browser/install.sh

mutants: images ## run mutation tests on the crates in ARGS: ARGS="graders/math --sample 50"
	python3 tests/mutation/run.py $(ARGS)

##@ Measure

load: ## compare batches over HTTP with the same batches in-process; ARGS such as `--items FILE.jsonl`
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- load $(ARGS)

servers: build ## compare the CPU time of two binaries for the same batches over HTTP, in turn: ARGS="OTHER_BINARY"
	python3 tests/load/servers.py "$(BINARY)" $(ARGS)

load-postgres: postgres ## the same with a record on PostgreSQL beside that on SQLite
	$(CARGO) build --locked --package assay-tests --bin assay-measure
	python3 tests/load/postgres.py "$(dir $(BINARY))assay-measure" $(ARGS)

keys: ## compare the times to accept and to refuse a key, 10,000 tries each
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- keys $(ARGS)

programs: images ## compare programs in workers with native python3: a trivial and nine CPU-bound ones
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- programs $(ARGS)

runaways: images ## print the CPU seconds of endless programs, alone and beside busy processes; ARGS="--only python"
	python3 tests/load/runaways.py "$(BINARY)" $(ARGS)

javascript: images ## compare the CPU time of JavaScript programs with native Node; ARGS="--native NODE"
	python3 tests/load/javascript.py "$(BINARY)" $(ARGS)

cpp: images ## compare the CPU time of C and C++ programs with native GCC, compilation included; ARGS="--rounds 5"
	python3 tests/load/cpp.py "$(BINARY)" $(ARGS)

queries: ## compare queries with their usual evaluation in Python: small ones, and on 20,000 rows
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- queries $(ARGS)

calls: ## compare tool calls with BFCL's checker; needs `bfcl-eval`: ARGS="--python .venv/bin/python"
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- calls $(ARGS)

schemas: ## compare JSON Schemas with `jsonschema` and `jsonschema-rs` in Python: ARGS="--python .venv/bin/python"
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- schemas $(ARGS)

models: build ## compare reward models with `transformers`, installed unless ARGS contain `--python PYTHON`
	python3 tests/peers/start.py tests/peers/reward_speed.py "$(BINARY)" $(ARGS)

start: build ## measure the time to the first reply and the idle memory
	python3 tests/load/start.py "$(BINARY)"

damage: images ## damage images of a running node at random places; fails if a program gets a verdict; ARGS such as `--count 40`
	python3 tests/load/damage.py "$(BINARY)" $(ARGS)

storm: build ## send 64 batches and open 4,000 connections at once, three times; print memory
	python3 tests/load/storm.py "$(BINARY)"

jobs: build ## grade 200,000 items as a job and with `assay grade`, with batches beside it; ARGS such as `--items 20000 --kill-every 5`
	python3 tests/load/jobs.py "$(BINARY)" $(ARGS)

session-calls: images ## time calls of interpreter sessions over HTTP, for states of several sizes
	python3 tests/load/session_calls.py "$(BINARY)" $(ARGS)

sessions: images ## open 2,000 interpreter sessions and call them while workers and the node are killed; ARGS such as `--sessions 10000 --seconds 300`
	python3 tests/load/sessions.py "$(BINARY)" $(ARGS)

cost: images ## measure CPU time and page faults of trivial tests; ARGS="OTHER_BINARY:CACHE_FOLDER" compares
	python3 tests/load/cost.py "$(BINARY)" $(ARGS)

determinism: images ## grade the same program in 1,000 tasks of each language under load: one verdict, one amount of work
	python3 tests/load/determinism.py "$(BINARY)" $(ARGS)

traces: build ## measure the cost of tracing: CPU time without log lines, by default, and with export; ARGS such as `--rounds 20`
	python3 tests/load/traces.py "$(BINARY)" $(ARGS)

overhead: ## measure the cost of statistics and policies relative to grading
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- overhead $(ARGS)

submissions: images ## send 10,000 programs with 20 tests over HTTP: throughput, latency, memory; ARGS sets the number
	python3 tests/load/submissions.py "$(BINARY)" $(ARGS)

check-rows: build ## check a million generated rows: time, memory, again with kept results, after a kill; ARGS sets the number
	$(CARGO) build --locked --package assay-check --example rows
	python3 tests/load/check_rows.py "$(BINARY)" "$(CARGO_TARGET_DIR)/debug/examples/rows" $(ARGS)

check-planted: images ## check datasets with 150 kinds of planted defects: share found, alarms on clean rows; ARGS such as `--seed 2`
	python3 tests/planted/run.py "$(BINARY)" $(ARGS)

check-mutants: images ## compare findings about the tests of HumanEval with mutants that run natively
	python3 tests/peers/start.py tests/published/mutants.py "$(BINARY)"

DATABASE ?= $(CARGO_TARGET_DIR)/record.db
GRADES ?= 10000000

record: images ## fill a database with many grades
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- fill --database "sqlite://$(DATABASE)" --grades $(GRADES)

reads: build ## time lists, runs and pages on that database
	python3 tests/load/reads.py "$(BINARY)" "$(DATABASE)" $(ARGS)

search: ## measure the search for texts on 200,000 generated grades: index, cost, times; ARGS sets the number
	$(CARGO) run --locked --package assay-tests --bin assay-measure -- search $(ARGS)

planted: images ## answer ten questions of operators by links of the pages, on three runs with planted causes
	python3 tests/operators/planted.py "$(BINARY)" $(ARGS)

detectors: images ## find reward hacking in simulated runs by the page of suspects; ARGS such as `--clean 20`
	python3 tests/operators/detectors.py "$(BINARY)" $(ARGS)

retention: build ## back up, restore and prune that database to one run under load, and change it thereby
	python3 tests/load/retention.py "$(BINARY)" "$(DATABASE)" $(ARGS)

worst: ## time answers designed to be slow; fails above 50 ms for one, or 2 ms at p99; ARGS such as `--seed 2`
	$(CARGO) run --locked --package assay-math --example worst -- $(ARGS)

accuracy: ## compare verdicts of `math` with 3,700 labelled pairs, by kind; ARGS="--time" or "--peer PYTHON"
	$(CARGO) run --locked --package assay-math --example accuracy -- $(ARGS)

instructions: ## compare `instructions` with the published checkers by id: ARGS="--python .venv/bin/python"
	python3 tests/instructions/compare.py $(ARGS)

syllables: ## measure the rule for syllables on a dictionary: ARGS="--python .venv/bin/python"
	python3 tests/instructions/syllables.py $(ARGS)

squad: ## compare F1 and exact match of `text` with the definition of SQuAD on 1,000 pairs
	python3 tests/instructions/squad.py $(ARGS)

sizes: ## count the lines of Rust code of each crate: product, documentation, tests, tools
	@python3 tests/sizes/run.py $(ARGS)

##@ Simulate and train

noise: ## simulate training with noisy verdicts, corrections and appeals; ARGS such as `--svg FILE`
	$(CARGO) run --locked --package assay-rewards --example noise -- $(ARGS)

coverage: ## simulate channels: coverage of intervals, and appeals needed for +-0.05
	$(CARGO) run --locked --package assay-rewards --example noise -- coverage $(ARGS)

consensus: ## simulate labels by consensus: how often they are wrong, by margin, and what is estimated
	$(CARGO) run --locked --package assay-rewards --example noise -- consensus

missing: ## simulate training with missing rewards: masked, as 0, weighted; ARGS such as `--seeds 4`
	$(CARGO) run --locked --package assay-rewards --example noise -- missing $(ARGS)

noisy-judge: ## simulate training with a judge on half of the prompts, uncorrected and corrected
	$(CARGO) run --locked --package assay-rewards --example noise -- judge $(ARGS)

alarms: ## simulate hacked judges and consensus: steps until a detector fires, alarms in clean runs
	$(CARGO) run --locked --package assay-rewards --example detectors -- $(ARGS)

handicapped: build ## measure rho1 of a handicapped grader online, with overturned verdicts
	python3 tests/load/handicapped.py "$(BINARY)" $(ARGS)

learning: build trainer ## train a policy model on rewards from the service and on shuffled ones; ARGS such as `--svg FILE`
	python3 tests/load/learning.py "$(BINARY)" "$(TRAINER)" $(ARGS)

refitting: build trainer ## train on a fixed and on a refitted reward model; ARGS such as `--seeds 2 --svg FILE`
	python3 tests/load/refitting.py "$(BINARY)" "$(TRAINER)" $(ARGS)

noisy-learning: trainer ## train with a noisy verifier: uncorrected, corrected, with appeals; ARGS such as `--svg FILE`
	$(CARGO) build --locked --package assay-tests --bin assay-measure
	python3 tests/load/noisy_learning.py "$(CARGO_TARGET_DIR)/debug/assay-measure" "$(TRAINER)" $(ARGS)

judge-learning: trainer ## train with a noisy judge on half of the prompts: uncorrected, corrected by its rates
	$(CARGO) build --locked --package assay-tests --bin assay-measure
	python3 tests/load/judge_learning.py "$(CARGO_TARGET_DIR)/debug/assay-measure" "$(TRAINER)" $(ARGS)

##@ Fuzz

fuzz: ## fuzz every parser of untrusted input, FOR=600 seconds each; TARGET=policy runs only that target; needs `cargo install cargo-fuzz --locked`
	CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)/fuzz" python3 tests/fuzzing/run.py --seconds $(FOR) $(TARGET) -- $(ARGS)
