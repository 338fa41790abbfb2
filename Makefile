# The common tasks of working on Carillon. Everything else is behind ./carillon --help.

# The modules of the program and its tools. The Spring Boot starter, the examples and the browser's tests are not.
modules := client server bench chaos
sources := $(shell find pom.xml $(modules:=/pom.xml) $(modules:=/src/main) 2>/dev/null)
built := server/target/.built

.PHONY: help build run test quick bench bench-quick chaos examples fmt fmt-check ui-fmt ui-check clean

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

build: $(built) ## build the program; nothing to do when nothing changed

# Directories are among the sources, so a deleted file counts. Stamped with the time before the build: what is saved
# while it runs is built the next time.
$(built): $(sources)
	@mkdir -p server/target
	@touch server/target/.building
	@echo "Building, for minutes the first time; its log is server/target/build.log ..."
	@tools/mvn package -pl '!spring,!examples,!browser' -Dmaven.test.skip=true >server/target/build.log 2>&1 || \
	  { grep -E '^(\[(WARNING|ERROR)\] .|No )' server/target/build.log >&2; exit 1; }
	@tools/java-cds
	@mv server/target/.building $(built)

run: build ## start one node on an embedded PostgreSQL, data in ./data
	@exec ./carillon server

# With T=EngineTest, T=EngineTest#method or a list with commas: only these, without the formatting and the packages.
ifdef T
test:
	@tools/test '$(T)'
else
test: fmt-check ## check the formatting, install what the tests need and run all of them, 15 minutes; T=EngineTest runs one
	@tools/packages
	@tools/ui/run check
	@tools/mvn -T 2 verify
	@tools/packages --say
endif

quick: ## run the fast tests of the client and the server, under 3 minutes
	@tools/test --quick

bench: build ## run all benchmarks with the other schedulers, 25 minutes, 35 on a slow machine; results in bench/results; see bench/README.md
	@exec bench/run

bench-quick: build ## less of everything, of the peers only a drain of db-scheduler, 3 minutes; results in bench/target/results
	@exec bench/run --quick

chaos: build ## inject faults into a cluster and check every guarantee, under 10 minutes; results in chaos/results
	@exec chaos/run

examples: build ## build the examples and the Spring Boot starter; examples/README.md says how to run each
	@tools/mvn -q package -pl spring,examples -am -Dmaven.test.skip=true

fmt: ## format all Java files
	@tools/fmt

fmt-check: ## fail if a Java file is not formatted
	@tools/fmt --check

ui-fmt: ## format the dashboard's files
	@tools/ui/run fmt

ui-check: ## fail if a file of the dashboard is not formatted or has a mistake that ESLint or tsc finds
	@tools/ui/run check

clean: ## remove what was built; data stays
	@rm -rf target */target
