# The chores of Caulk. `make` alone lists them.
CARGO ?= cargo
EXAMPLE := examples/logsum
CAULK = $(or $(CARGO_TARGET_DIR),target)/release/caulk

# llvm-sys searches PATH for llvm-config and llvm-config-19, and takes the first
# that is version 19 *or newer*. Where the plain llvm-config is newer, name ours.
# Otherwise leave the variable alone: a value that `cargo build` does not have
# would make the two rebuild llvm-sys in turns.
ifeq ($(origin LLVM_SYS_191_PREFIX),undefined)
ifneq ($(filter 2% 3%,$(shell llvm-config --version 2>/dev/null)),)
export LLVM_SYS_191_PREFIX := $(or $(shell llvm-config-19 --prefix 2>/dev/null),/usr/lib/llvm-19)
endif
endif

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(MAKEFILE_LIST) | \
	  while IFS="$$(printf '\t')" read -r target text; do printf 'make %-8s %s\n' "$$target" "$$text"; done

.PHONY: demo
demo: build ## build Caulk and run it on the example project
	@$(MAKE) --no-print-directory -C $(EXAMPLE) compile_commands.json
	$(CAULK) check -p $(EXAMPLE) --cache target/demo || test $$? -eq 1
	$(CAULK) check -p $(EXAMPLE) --cache target/demo --format html -o target/demo/report || test $$? -eq 1

.PHONY: build
build: deps ## build the release binary, target/release/caulk
	$(CARGO) build --release

.PHONY: test
test: lint ## check format and lints, run all tests
	$(CARGO) test --workspace

.PHONY: lint
lint: dev-deps ## only check format and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@if command -v cargo-deny > /dev/null; then cargo-deny --offline check licenses bans sources; fi

.PHONY: deny
deny: ## check dependencies for advisories, licences and sources (installs cargo-deny)
	@command -v cargo-deny > /dev/null || $(CARGO) install --locked cargo-deny
	cargo-deny check

.PHONY: fmt
fmt: dev-deps ## format the code
	$(CARGO) fmt --all

.PHONY: bench
bench: deps ## measure cost on real projects
	$(CARGO) run --release -p xtask -- bench

# SECONDS is the time for each target.
SECONDS ?= 60
.PHONY: fuzz
fuzz: deps ## drive every parser and decoder with damaged input, SECONDS=60 for each
	scripts/fuzz $(SECONDS)

.PHONY: install
install: deps ## install caulk for this user, with cargo
	$(CARGO) install --locked --path crates/caulk

.PHONY: deb archive
deb: build ## a Debian package, in target/package
	scripts/package deb $(CAULK) target/package
archive: build ## an archive with its libraries, for other systems, in target/package
	scripts/package archive $(CAULK) target/package

.PHONY: book
book: ## the manual for a browser, in target/book (needs mdbook)
	mdbook build docs

.PHONY: vscode
vscode: ## build and test the extension for VS Code, in editors/vscode (needs npm)
	cd editors/vscode && npm install --no-audit --no-fund && npm test

# FUNCTIONS is how many are made; `make test` tries 300.
FUNCTIONS ?= 3000
.PHONY: soak
soak: dev-deps ## compare randomly generated functions with LeakSanitizer, FUNCTIONS=3000
	CAULK_GENERATED=$(FUNCTIONS) $(CARGO) test -p caulk --test generated

.PHONY: test-cluster
test-cluster: build ## run the examples for clusters on this machine alone, and break their caches (root; each script says what it needs)
	scripts/test-cluster $(CAULK)

.PHONY: clean
clean: ## remove what was built
	$(CARGO) clean
	@$(MAKE) --no-print-directory -C $(EXAMPLE) clean

# Silent when nothing is missing.
.PHONY: deps dev-deps
deps:
	@scripts/install-deps
dev-deps:
	@scripts/install-deps --dev
