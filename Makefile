# Two commands do everything: `make serve` is the service, `make test` proves it. Both fetch and build what they need.
#
# Build output is kept outside the clone, in a folder of its own for each clone: cargo takes the crates of two clones for the same
# and would mix them.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/assay/target/$(firstword $(shell printf %s "$(CURDIR)" | cksum))

CARGO ?= cargo
BINARY = $(CARGO_TARGET_DIR)/debug/assay
TRAINER = $(CARGO_TARGET_DIR)/debug/assay-trainer
ARGS ?=
TARGET ?=
FOR ?= 600
MINUTES ?= 30

.PHONY: help serve build cuda images postgres browser test openapi openapi-minute chaos chaos-short native mathematics native-short test-peers trainer learning noisy-learning vectors models fmt clippy docs scripts unit load record reads crash start storm programs cost queries calls schemas noise coverage handicapped overhead submissions check-rows worst fuzz

help: ## list the commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

serve: build ## serve on 127.0.0.1:8080, ready to grade; ARGS go to `assay serve`
	@$(MAKE) --no-print-directory images || echo "the image of python is not built: everything but programs is graded" >&2
	$(CARGO) run --locked --package assay --bin assay -- serve $(ARGS)

build: ## build the binary and say where it is
	$(CARGO) build --locked --package assay --bin assay
	@echo "$(BINARY)"

trainer: ## build the trainer and say where it is
	$(CARGO) build --locked --package assay-trainer --bin assay-trainer
	@echo "$(TRAINER)"

cuda: ## build the binary with CUDA and say where it is; the machine needs neither CUDA nor a GPU
	python3 deploy/cuda/cargo.py build --locked --package assay --bin assay --features cuda
	install -D "$(BINARY)" "$(CARGO_TARGET_DIR)/cuda/assay"
	@echo "$(CARGO_TARGET_DIR)/cuda/assay"

images: build ## build the images programs run in, unless they are there
	guest=$$(python3 sandboxes/guests/python/build.py) && "$(BINARY)" images --build python --interpreter "$$guest"

postgres: ## install the database server that tests start, unless it is there
	@sh tests/postgres/install.sh

browser: ## install the browser that tests drive, unless it is there
	@sh tests/browser/install.sh

test: fmt clippy docs scripts images postgres browser unit openapi-minute chaos-short native-short ## everything CI runs

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps

scripts:
	python3 -m unittest discover --start-directory deploy/cuda

unit:
	$(CARGO) test --locked --workspace

openapi: build ## test the API against its OpenAPI document with generated requests for FOR=600 seconds
	python3 tests/peers/start.py tests/openapi/run.py "$(BINARY)" --seconds $(FOR) $(ARGS)

openapi-minute: build
	@python3 tests/peers/start.py tests/openapi/run.py "$(BINARY)" --seconds 60

chaos: images ## inject faults for MINUTES=30 under a mixed load and compare replies and the record with a run without faults; ARGS as in `--seed 2`
	python3 tests/chaos/run.py "$(BINARY)" --minutes $(MINUTES) $(ARGS)

chaos-short: images
	@python3 tests/chaos/run.py "$(BINARY)" --minutes 2

native: images ## compare verdicts of Python programs with native CPython; ARGS="--native PYTHON" also runs them in that CPython 3.13
	python3 tests/native/run.py "$(BINARY)" $(ARGS)

mathematics: images ## compare `math`, `cmath`, `random` and `**` with a native CPython, bit by bit; ARGS as in `--native PYTHON --arguments 100000`
	python3 tests/native/mathematics.py "$(BINARY)" $(ARGS)

native-short: images
	@python3 tests/native/run.py "$(BINARY)" --short

test-peers: build trainer ## compare reward models and policies with `transformers` and torch, installed outside the clone unless ARGS have `--python PYTHON`
	python3 tests/peers/start.py tests/peers/reward_models.py "$(BINARY)" $(ARGS)
	python3 tests/peers/start.py tests/peers/trainer_parity.py "$(TRAINER)" $(ARGS)
	python3 tests/peers/start.py tests/peers/trainer_speed.py "$(TRAINER)" $(ARGS)

learning: build trainer ## train a policy on the service's rewards with three seeds, and on shuffled ones; ARGS as in `--svg FILE`
	python3 tests/load/learning.py "$(BINARY)" "$(TRAINER)" $(ARGS)

noisy-learning: trainer ## train under a noisy verifier: as it is, corrected, with appeals, and without noise; ARGS as in `--svg FILE`
	$(CARGO) build --locked --package assay-tests --bin assay-noisy
	python3 tests/load/noisy_learning.py "$(CARGO_TARGET_DIR)/debug/assay-noisy" "$(TRAINER)" $(ARGS)

vectors: ## compare losses and advantages with what trainers' own code gives; ARGS is a file of fixed tensors with values and gradients
	$(CARGO) run --locked --package assay-objective --example vectors -- $(ARGS)

load: ## time batches over HTTP beside the same batches in-process; ARGS as in `--items FILE.jsonl`
	$(CARGO) run --locked --package assay-tests --bin assay-load -- $(ARGS)

DATABASE ?= $(CARGO_TARGET_DIR)/record.db
GRADES ?= 10000000

record: images ## fill a database with many grades, to look at and to measure
	$(CARGO) run --locked --package assay-tests --bin assay-fill -- --database "sqlite://$(DATABASE)" --grades $(GRADES)

reads: build ## time every list, run and page on that database
	python3 tests/load/reads.py "$(BINARY)" "$(DATABASE)" $(ARGS)

crash: ## kill -9 a loaded server ten times and compare what clients were told with what is stored
	$(CARGO) test --locked --package assay --test commands crash:: -- --nocapture

start: build ## time from exec to the first answer, and idle memory
	python3 tests/load/start.py "$(BINARY)"

storm: build ## 64 batches and 4,000 connections at once, three times; memory after each
	python3 tests/load/storm.py "$(BINARY)"

programs: images ## time programs in workers beside native python3: a trivial one, and nine that keep the processor busy
	$(CARGO) run --locked --package assay-tests --bin assay-programs -- $(ARGS)

cost: images ## measure CPU time and page faults of trivial Python tests; ARGS="OTHER_BINARY:ITS_CACHE_FOLDER" compares
	python3 tests/load/cost.py "$(BINARY)" $(ARGS)

queries: ## time queries beside the way benchmarks evaluate them in Python: small ones, and on 20,000 rows
	$(CARGO) run --locked --package assay-tests --bin assay-queries -- $(ARGS)

calls: ## time calls of tools beside BFCL's checker; `bfcl-eval` must be installed: ARGS as in `--python .venv/bin/python`
	$(CARGO) run --locked --package assay-tests --bin assay-calls -- $(ARGS)

models: build ## time reward models beside `transformers`, installed outside the clone unless ARGS have `--python PYTHON`
	python3 tests/peers/start.py tests/peers/reward_speed.py "$(BINARY)" $(ARGS)

schemas: ## time JSON Schemas beside Python's `jsonschema`, which must be installed: ARGS as in `--python .venv/bin/python`
	$(CARGO) run --locked --package assay-tests --bin assay-schemas -- $(ARGS)

noise: ## train on noisy verdicts in simulation, with every correction and with appeals; ARGS as in `--svg FILE`
	$(CARGO) run --locked --package assay-correction --example noise -- $(ARGS)

coverage: ## simulate 2,000 channels for each of several rates: how often intervals hold the true rate, and appeals for +-0.05
	$(CARGO) run --locked --package assay-correction --example noise -- coverage $(ARGS)

handicapped: build ## a grader told to refuse fractions, with the whole one as judge: rho1 found online, verdicts overturned
	python3 tests/load/handicapped.py "$(BINARY)" $(ARGS)

overhead: ## time statistics and policies beside the grading of mathematics
	$(CARGO) run --locked --package assay-tests --bin assay-overhead -- $(ARGS)

submissions: images ## 10,000 programs with 20 tests each over HTTP: throughput, latency, memory; ARGS is another number of programs
	python3 tests/load/submissions.py "$(BINARY)" $(ARGS)

check-rows: build ## check a million made-up rows of mathematics, as JSON lines and as Parquet: time and memory; ARGS is another number of rows
	$(CARGO) build --locked --package assay-check --example rows
	python3 tests/load/check_rows.py "$(BINARY)" "$(CARGO_TARGET_DIR)/debug/examples/rows" $(ARGS)

worst: ## time mathematical answers made to be slow; fails over 50 ms of CPU for one, or 2 ms for one in a hundred; ARGS as in `--seed 2`
	$(CARGO) run --locked --package assay-math --example worst -- $(ARGS)

fuzz: ## fuzz every parser of untrusted input, FOR=600 seconds each; TARGET=policy runs only that target; needs `cargo install cargo-fuzz --locked`
	CARGO_TARGET_DIR="$(CARGO_TARGET_DIR)/fuzz" python3 tests/fuzzing/run.py --seconds $(FOR) $(TARGET) -- $(ARGS)
