# Thin wrappers over the CMake presets; README explains the two that matter: `make run` and `make test`.
JOBS ?= $(shell nproc)

.PHONY: setup build run test nightly fuzz bench format clean

setup:
	@tools/setup

build: setup
	@cmake --preset release > build.log 2>&1 || (cat build.log; exit 1); rm -f build.log
	@cmake --build build --target deepinfer -j $(JOBS)

run: build
	@build/deepinfer run --greedy --prompt "What is the capital of France?"

test: build
	@tools/run_tests change

nightly: build
	@tools/run_tests nightly $(if $(ONLY),--only "$(ONLY)")

fuzz: setup
	@tools/fuzz 60

bench: build
	@cmake --build build --target benches -j $(JOBS)
	@build/deepinfer bench decode
	@build/deepinfer bench prefill

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format -i

clean:
	rm -rf build build-*
