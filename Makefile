# SPDX-License-Identifier: MIT OR Apache-2.0
# Thin: each target is a script. Whatever a target needs, it sets up first (slow once, cached).
# CHIP picks one emulated GPU (mi308x or navi48); without it demo, test, bench and conformance run
# on each.
CHIP ?= all
START ?= warm
export CHIP

help:
	@echo 'make demo      boot the stock kernel in QEMU with the emulated GPU and follow one dispatch'
	@echo '               START=cold: from power-on, where the module loads the firmware; FIRMWARE=debian: AMD'"'"'s own files'
	@echo 'make test      all tests: the crates, then the module in virtual machines; ends with a count'
	@echo '               ARGS=queues: only the machines whose names contain "queues"; ARGS=--list names them all'
	@echo 'make quick     only the tests that concern what changed since BASE, default: since the branch began'
	@echo 'make test-long endurance: what takes too long for make test, such as 100 times load and unload'
	@echo 'make test-kernels the demo and all machines with the oldest kernel that the module supports, Linux 7.2'
	@echo 'make fuzz      requests that are right, nearly right and wrong, from many threads; TIME=600: seconds for'
	@echo '               each chip; KERNEL=debug: with the kernel of make test-debug; ARGS="--seed N"'
	@echo 'make fuzz-coverage how many lines of the module they reach, interrupts and work items included; MISSED=rust/bo lists'
	@echo '               the others of a file or folder'
	@echo 'make fuzz-decoders each decoder with what libFuzzer finds by coverage; TIME=600: seconds for each; ARGS=pm4: only that one'
	@echo 'make guards    removes one guard of the module after the other, and shows the test that fails without it'
	@echo 'make omissions leaves out what only silicon needs, such as flushes and cache controls: the demo has to fail, and'
	@echo '               the emulated GPU to name what is missing; ARGS=l2: only those with that in their names'
	@echo 'make mutants   which of the module'"'"'s possible faults the tests notice: a sample, each in a run of its own'
	@echo '               ARGS="--sample 40 --seed 7", or parts of files or texts'
	@echo 'make test-noisy all tests three times in a row, with four busy loops beside them'
	@echo 'make test-debug the same virtual machines with a kernel that checks memory, locks and leaks; SHARE=1/2: a half of'
	@echo '               them, and SHARE=2/2 the other one'
	@echo 'make faults    a GPU that misbehaves by rules: late, lost, repeated, wrong; each chip, many rules in a machine'
	@echo 'make conformance  every request against the answers of Linux; writes docs/support.md'
	@echo 'make rocm      run unmodified ROCm of Debian, rocminfo and HIP programs, on the module; STACK=6 or STACK=7: one of two'
	@echo 'make rocm-trace one vector addition of HIP, layer by layer: HIP, HSA, ioctls, queues, packets'
	@echo 'make check     formatting and lints of the crates and of the module'
	@echo 'make module    build rkfd.ko for the stock kernel; KDIR=tree builds for that tree, outside of the root'
	@echo 'make install   install rkfd.ko, which make module has built, and modprobe.d; DESTDIR=folder stands for /'
	@echo 'make uninstall remove them'
	@echo 'make deb       the Debian packages in target/deb: rkfd-dkms has DKMS build the module for each kernel'
	@echo 'make test-package  build, install and remove that package in a fresh Debian, whose kernel finds the card (20 minutes)'
	@echo 'make module-check  types and borrows of the module, in seconds, for the editing loop'
	@echo 'make rust-analyzer write rust-project.json, by which editors understand the module'
	@echo 'make amdgpu    Linux'"'"'s stock amdgpu.ko starts the emulated GPU from power-on, step by step'
	@echo 'make test-firmware both drivers start both chips with AMD'"'"'s own firmware, which Debian'"'"'s mirror has'
	@echo 'make amdgpu-rocm rocminfo, HSA and the HIP programs of make rocm on that stock driver'
	@echo 'make trace-diff what stock amdgpu and the module do differently to the same GPU from power-on to the first dispatch'
	@echo 'make shell     a shell in the virtual machine, module loaded, with rkfd, the programs of docs/course and kernels'
	@echo '               ARGS="--include PATH[:/PLACE]": with that file or folder of yours, in /root or at PLACE'
	@echo 'make gdb       gdb on the guest before a vector addition: the module with sources, the kernel by names'
	@echo '               ARGS="-x FILE -batch": further arguments of gdb, such as a script of yours'
	@echo 'make see       one page that shows a dispatch on each chip byte by byte, forward and back in time: dispatch.html'
	@echo 'make docs      the documents as pages in target/docs, each link checked'
	@echo 'make trace     one vectorAdd traced by driver and device: what it did, counted, and a file for ui.perfetto.dev'
	@echo 'make bench     benchmarks; ARGS="requests queues": only these parts, which tests/bench/run lists'
	@echo 'make bench-amdgpu requests with the kernel'"'"'s own amdgpu.ko and with the module, in one machine, as ratios'
	@echo 'make bench-interpreters kernels on the emulated compute unit and on Oclgrind, another interpreter'
	@echo 'make bench-emulator instructions a second of the emulated compute unit'
	@echo 'make isa-coverage how much of the instruction sets the compute unit executes'
	@echo 'make isa-conformance whether instructions compute what LLVM computes (seconds; ARGS=--plant exchanges them)'
	@echo 'make setup     only the set-up: Debian root, kernel tree, crates ('"$$(bash -c '. setup/common.sh; echo "$$SETUP_COST"')"')'
	@echo 'make clean     remove what was built from this checkout'
	@echo 'make distclean remove the Debian root and kernel trees as well'
	@echo
	@echo 'CHIP=mi308x or CHIP=navi48 chooses one emulated GPU; without it both are used. RKFD_CACHE=folder chooses where the root and builds live.'

setup:
	@setup/setup.sh

ifdef KDIR
module:
	@packaging/kdir '$(KDIR)'
	@mkdir -p target/module
	$(MAKE) -C '$(KDIR)' M='$(CURDIR)' MO='$(CURDIR)/target/module' modules
	@cp target/module/rkfd.ko rkfd.ko
	@echo rkfd.ko
else
module:
	@bash -c '. setup/common.sh; building "the module" setup/module.sh'
	@setup/in-root sh -c 'cp "$$RKFD_BUILD/rkfd.ko" rkfd.ko'
	@echo rkfd.ko
endif

install:
	@packaging/install

uninstall:
	@packaging/install --remove

module-check:
	@setup/module.sh --check

# In a root that has dpkg-dev, debhelper and dh-dkms.
deb:
	@packaging/deb target/deb

test-package:
	@tests/package/run

rust-analyzer:
	@setup/module.sh --rust-analyzer
	@echo 'rust-project.json'
	@echo 'Have your editor give rust-analyzer both projects, by its setting "linkedProjects":'
	@echo '  ["Cargo.toml", "rust-project.json"]'

demo:
	@RKFD_START=$(START) tests/vm demo

test:
	@tests/run $(ARGS)

quick:
	@tests/quick $(BASE)

test-kernels:
	@RKFD_LINUX_SERIES=7.2 tests/vm demo && RKFD_LINUX_SERIES=7.2 tests/vm test $(ARGS)

test-long:
	@tests/vm test --long $(ARGS)

TIME ?= 60
fuzz:
	@RKFD_FUZZ_TIME='$(TIME)' RKFD_FUZZ_ARGS='$(ARGS)' \
		$(if $(filter debug,$(KERNEL)),tests/run-debug,tests/vm test) --long fuzz

fuzz-decoders:
	@RKFD_FUZZ_TIME='$(TIME)' tests/decoders/run $(ARGS)

faults:
	@tests/vm test --long $(if $(ARGS),$(ARGS),rules)

guards:
	@tests/guards/run $(ARGS)

omissions:
	@tests/mutants/run omissions $(ARGS)

mutants:
	@tests/mutants/run $(ARGS)

test-noisy:
	@tests/noisy $(ARGS)

test-debug:
	@RKFD_SHARE='$(if $(SHARE),$(SHARE),1/1)' tests/run-debug

conformance:
	@tests/conformance/run

see:
	@tests/see/run

docs:
	@setup/in-root setup/docs-site.py --out target/docs
	@echo target/docs/README.html

trace:
	@tests/trace/run

fuzz-coverage:
	@TIME='$(TIME)' ARGS='$(ARGS)' KERNEL='$(KERNEL)' MISSED='$(MISSED)' tests/fuzz/coverage

rocm:
	@$(if $(STACK),STACK=$(STACK) tests/rocm/run rocm $(ARGS),STACK=6 tests/rocm/run rocm $(ARGS) && STACK=7 tests/rocm/run rocm $(ARGS))

rocm-trace:
	@tests/rocm/run rocm-trace

amdgpu:
	@tests/vm --verbose test --long --exact amdgpu amdgpu-psp amdgpu-dpm amdgpu-navi48 amdgpu-navi48-dpm $(ARGS)

test-firmware:
	@FIRMWARE=debian tests/vm test cold-start handed-over reset-whole
	@FIRMWARE=debian tests/vm test --long --exact amdgpu amdgpu-psp amdgpu-dpm amdgpu-navi48 amdgpu-navi48-dpm

amdgpu-rocm:
	@tests/rocm/run rocm --stock $(ARGS)

trace-diff:
	@tests/trace-diff/run

shell:
	@tests/vm shell $(ARGS)

gdb:
	@tests/vm gdb $(ARGS)

check:
	@setup/check.sh

bench:
	@test -x tests/bench/run || { echo "no benchmark exists yet: tests/bench/run is missing" >&2; exit 1; }
	@tests/bench/run $(ARGS)

bench-amdgpu:
	@tests/vm bench-amdgpu --out target/bench-amdgpu
	@tests/bench/rivals.py target/bench-amdgpu

bench-interpreters: setup
	@tests/bench/interpreters

bench-emulator: setup
	@setup/in-root cargo run --quiet --release -p rkfd-isa --example speed -- $(ARGS)

isa-coverage: setup
	@suite=$$(setup/llvm-suite.sh) && RKFD_LLVM_SUITE=/cache/$$(basename "$$suite") \
		setup/in-root cargo run --quiet --release -p rkfd-isa --example coverage -- $(ARGS)

isa-conformance: setup
	@setup/in-root cargo run --quiet -p rkfd-isa --example conformance -- $(ARGS)

clean:
	@setup/clean.sh

distclean:
	@setup/clean.sh --all

.PHONY: help setup module install uninstall deb test-package module-check rust-analyzer demo test quick test-kernels test-long fuzz fuzz-decoders faults guards omissions mutants test-noisy conformance test-debug see docs trace fuzz-coverage rocm rocm-trace amdgpu test-firmware amdgpu-rocm trace-diff shell gdb check bench bench-amdgpu bench-interpreters bench-emulator isa-coverage isa-conformance clean distclean
