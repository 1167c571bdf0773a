# weir: read from the top. `make help` lists the targets; `V=1` shows the commands.
#
# Folders become programs: dataplane/ -> weir-dataplane, control/daemon/ -> weir-control,
# control/cli/ -> weirctl, tests/<kind>/ -> build/bin/tests/<kind>. include/weir/ is the library of all, libweir.a.
# A new .cpp file is found by itself. Which folder may include which stands in tests/tidy/floors.cpp.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DEFAULT_GOAL := help
SHELL := /bin/bash

# ---- what to build with ------------------------------------------------------------------------
PROFILE ?= release# release | asan (with UBSan) | tsan | fuzz (libFuzzer, with ASan and UBSan)
CLANG ?= clang++-19
CXX := $(if $(filter asan fuzz,$(PROFILE)),$(CLANG),g++)# clang instruments in two thirds of g++'s time
CCACHE := $(shell command -v ccache 2>/dev/null)
export CCACHE_NOHASHDIR := 1
Q := $(if $(V),,@)

ifneq ($(filter-out release asan tsan fuzz,$(PROFILE)),)
$(error PROFILE=$(PROFILE) is unknown: use release, asan, tsan or fuzz)
endif

OUT := build/$(PROFILE)
BIN := $(if $(filter release,$(PROFILE)),build/bin,$(OUT)/bin)

# pkg-config is asked once and only when an answer is needed: `make deps` may have to install it first.
ask_once = $(eval $(1) := $$(shell $(2)))$($(1))
dpdk_cflags = $(call ask_once,dpdk_cflags,pkg-config --cflags libdpdk)
dpdk_libs = $(call ask_once,dpdk_libs,pkg-config --libs libdpdk)
DPDK_CFLAGS = $(patsubst -I%,-isystem %,$(filter-out -march=%,$(dpdk_cflags)))
DPDK_LIBS = $(filter-out -Wl$(comma)--as-needed,$(dpdk_libs))
comma := ,

CLANG_FLAGS := -Wno-deprecated-declarations # libstdc++ 12 deprecates what its own algorithms use
CXXFLAGS.release := -O2 -g1 -DNDEBUG
CXXFLAGS.asan := -O1 -g1 -fpch-instantiate-templates -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
                 $(CLANG_FLAGS)
CXXFLAGS.tsan := -O1 -g -fsanitize=thread -DRTE_USE_C11_MEM_MODEL
CXXFLAGS.fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -DWEIR_LIBFUZZER \
                 $(CLANG_FLAGS)
LDFLAGS.release :=
LDFLAGS.asan := -fsanitize=address,undefined
LDFLAGS.tsan := -fsanitize=thread
LDFLAGS.fuzz := -fsanitize=address,undefined

CPPFLAGS = -Iinclude -I. -D_GNU_SOURCE
CXXFLAGS := -std=c++23 -ffile-prefix-map=$(CURDIR)=. -march=x86-64-v2 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror \
            -pthread $(CXXFLAGS.$(PROFILE))
LDFLAGS := -pthread -Wl,--as-needed $(LDFLAGS.$(PROFILE))

# ---- what there is -----------------------------------------------------------------------------
find_cpp = $(sort $(wildcard $(addsuffix /*.cpp,$(1))))

SRC.weir := $(call find_cpp,include/weir/* include/weir/*/*)
SRC.control := $(call find_cpp,control/base control/rules control/store control/plan control/watch control/build control/push control/workload control/learn control/offenders)
SRC.daemon := $(filter-out control/daemon/main.cpp,$(call find_cpp,control/engine control/api control/metrics control/daemon))
SRC.cli := $(call find_cpp,control/cli)
SRC.dataplane := $(filter-out dataplane/main.cpp,$(call find_cpp,dataplane dataplane/*))
SRC.p4 := $(call find_cpp,p4/swx p4/export)
SRC.support := $(call find_cpp,tests/support tests/p4 tests/p4/model)
TEST_KINDS := unit property functional system faults attack fuzz tidy
# Those of unit and property stand in folders that mirror the tree.
tests_of = $(call find_cpp,tests/$(1) $(if $(filter unit property,$(1)),tests/$(1)/* tests/$(1)/*/*))
SRC.tests := $(foreach k,$(TEST_KINDS),$(call tests_of,$(k)))

obj = $(patsubst %.cpp,$(OUT)/obj/%.o,$(1))

# Files of a folder are compiled so many at a time, since it takes longer to read what they include than to read them: a
# build from nothing takes half of the time. Names of one file alone must then differ within a folder; a test has a
# namespace of its own name, which is a law. `make TOGETHER=1` is for who edits one file again and again.
TOGETHER ?= 8
# Entry points; vector instructions that a whole file asks for; macros of curses; experiments, each with names of its own.
ALONE := %/main.cpp tests/fuzz/% tests/bench/% tests/lab/% tests/tidy/% include/weir/lookup/kernels/% include/weir/learn/tree_% \
         include/weir/filter/fuse_kernels_% control/cli/terminal.cpp
# What is measured: no neighbour may decide what is inlined.
ALONE.measured := include/% dataplane/%
MORE_THAN_TOGETHER := $(shell echo $$(($(TOGETHER) + 1)))
# A unit of several files is called after the first: folder/from_NAME.cpp, below $(OUT)/together.
name_unit = $(if $(word 2,$(2)),$(if $(UNIT.$(1)),,$(eval UNIT.$(1) := $(2))$(eval UNITS += $(1)))$(1),$(2))
units_of = $(if $(1),$(call name_unit,$(dir $(firstword $(1)))from_$(notdir $(firstword $(1))),$(wordlist 1,$(TOGETHER),$(1))) \
           $(call units_of,$(wordlist $(MORE_THAN_TOGETHER),$(words $(1)),$(1))))
files_in = $(foreach f,$(2),$(if $(filter $(1),$(dir $(f))),$(f)))
units_but = $(filter $(1),$(2)) $(foreach d,$(sort $(dir $(filter-out $(1),$(2)))),$(call units_of,$(call files_in,$(d),$(filter-out $(1),$(2)))))
units = $(call units_but,$(ALONE) $(if $(filter release,$(PROFILE)),$(ALONE.measured)),$(1))
objects = $(call obj,$(call units,$(1)))
either_object = $(call obj,$(sort $(1) $(call units,$(1))))

LIB_WEIR := $(OUT)/libweir.a
LIB_CONTROL := $(OUT)/libcontrol.a
LIB_DAEMON := $(OUT)/libdaemon.a
LIB_CLI := $(OUT)/libcli.a
LIB_DATAPLANE := $(OUT)/libdataplane.a
LIB_P4 := $(OUT)/libp4.a
LIB_SUPPORT := $(OUT)/libsupport.a

LIBS.control := -lrocksdb -lnlopt_cxx -lyaml-cpp -lfmt -labsl_raw_logging_internal# the last: where assertions are on
LIBS.cli := -lpcap -lncursesw -ltinfo
LIBS.dataplane = -lyaml-cpp -lfmt -lpcap -lmnl -lrte_net_ring $(DPDK_LIBS)

PROGRAMS := $(BIN)/weir-dataplane $(BIN)/weir-control $(BIN)/weirctl
TEST_PROGRAMS := $(foreach k,$(TEST_KINDS),$(if $(call tests_of,$(k)),$(BIN)/tests/$(k)))

# ---- what it needs: Debian 12 packages ---------------------------------------------------------
DEPS.build := g++ make pkg-config libdpdk-dev dpdk-dev librocksdb-dev libnlopt-dev libnlopt-cxx-dev libxgboost-dev libyaml-cpp-dev \
              libcli11-dev nlohmann-json3-dev libabsl-dev libmicrohttpd-dev libxxhash-dev libpcap-dev libmnl-dev libfmt-dev \
              libncurses-dev ccache
DEPS.tests := libgtest-dev libgmock-dev python3 iproute2 ethtool iputils-ping curl iperf3 tcpdump dnsmasq-base udhcpc \
              bind9-dnsutils procps strace tshark
DEPS.figures := gnuplot-nox python3
DEPS.bench := tor-geoipdb# its data alone
DEPS.deb := debhelper dpkg-dev lintian
DEPS.package := mmdebstrap cpio
DEPS.nic := qemu-system-x86 kmod binutils python3 iproute2 iputils-ping
DEPS.lint := clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev shellcheck

# Does nothing, quickly, when everything is there.
define install
@missing=$$(comm -23 <(printf '%s\n' $(1) | sort) \
  <(dpkg-query -W -f='$${db:Status-Status} $${Package}\n' $(1) 2>/dev/null | sed -n 's/^installed //p' | sort -u)); \
if [ -n "$$missing" ]; then \
  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
  echo "installing:" $$missing; \
  $$sudo apt-get update -q && $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$missing; \
fi
endef

# Targets that install first do their work in a second make: what the first one read was written
# before compilers and pkg-config were there. It uses every core unless -j says otherwise.
again = +$(Q)$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- targets a person calls --------------------------------------------------------------------
.PHONY: help
help: ## list the targets and the flags in force
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
	@echo; echo "PROFILE=$(PROFILE)   programs in $(BIN)/"
	@echo "CXX=$(CCACHE) $(CXX)"; echo "CXXFLAGS=$(CXXFLAGS)"

# Of a package that is not installed: fetches it, and takes the files named out of it. Installed it would bring a daemon.
define unpacked
@mkdir -p $(2)
$(Q)cd $(2); sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
{ apt-get download -q $(1) || { $$sudo apt-get update -q && apt-get download -q $(1); }; } && \
dpkg-deb --fsys-tarfile $(1)_*.deb | tar x $(3) && rm -f $(1)_*.deb || echo "$(1) could not be fetched: $(4)"
endef

PROMTOOL := build/promtool/usr/bin/promtool# checks metrics, alerts and their tests
$(PROMTOOL): | deps-build
	$(call unpacked,prometheus,build/promtool,./usr/bin/promtool,what it checks is skipped)

.PHONY: deps deps-build
deps: $(PROMTOOL) ## install the Debian packages that are missing (apt-get, with sudo if not root)
	$(call install,$(DEPS.build) $(DEPS.tests) $(DEPS.lint))
.PHONY: deps-figures
deps-figures: deps-build
	$(call install,$(DEPS.figures))
deps-build: # what `make run` needs
	$(call install,$(DEPS.build))

GEO := build/geo/usr/share/tor/geoip# ranges of addresses by country, which the benchmark asks about
.PHONY: deps-bench
deps-bench: deps-build $(if $(wildcard /usr/share/tor/geoip),,$(GEO))
$(GEO): | deps-build
	$(call unpacked,$(DEPS.bench),build/geo,./usr/share/tor,the benchmark leaves out what asks about countries)

# The guest's kernel, for virtual machines; depmod has to know its modules before any of them is found.
NIC_KERNEL := build/nic/kernel/boot
NIC_BUSYBOX := build/nic/busybox/bin/busybox# installed it would displace another busybox
nic_kernel = $(shell apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1)
.PHONY: deps-nic
deps-nic: $(NIC_KERNEL) $(NIC_BUSYBOX)
	$(call install,$(DEPS.nic)) || echo "QEMU could not be installed: check-nic is skipped"
$(NIC_KERNEL): | deps-build
	$(call unpacked,$(or $(nic_kernel),linux-image-cloud-amd64),$(@D),./boot ./lib/modules,check-nic is skipped)
$(NIC_BUSYBOX): | deps-build
	$(call unpacked,busybox-static,build/nic/busybox,./bin/busybox,check-nic is skipped)

.PHONY: run
run: deps-build ## build, and replay a recorded capture while a second generation is applied
	$(again) PROFILE=release run-now

.PHONY: all
all: $(PROGRAMS) ## build the programs

P4C ?= p4c-dpdk# 1.2.4.2; where it is not installed, P4C_16_INCLUDE_PATH names its include folder
.PHONY: p4
p4: ## make p4/generated from p4/acl.p4 anew, where p4c-dpdk is on the PATH
	$(Q)p4/generate.sh $(P4C)

.PHONY: tests
tests: $(TEST_PROGRAMS) $(PROGRAMS) lab ## build the programs and the tests

.PHONY: lab
lab: $(BIN)/weir-lab ## build weir-lab, which sets filters beside one another

.PHONY: check check-asan check-tsan check-nic
check: deps ## build and run every test; the last line says how many passed
	$(again) PROFILE=release check-now
check-asan: deps ## unit and property tests and fuzz corpora under ASan and UBSan
	$(again) PROFILE=asan check-memory-now
check-tsan: deps ## tables, overlay, image slot and channel with readers at work, under TSan
	$(again) PROFILE=tsan check-races-now
check-nic: deps-nic ## weir on the network cards of a guest in QEMU, as root; NIC_KINDS=virtio,e1000e for some kinds
	$(again) PROFILE=release check-nic-now

BASE ?= main
.PHONY: check-fast lint-changed
check-fast: deps-build ## unit and property tests that a change touches: what differs from BASE (main)
	$(again) PROFILE=release check-fast-now
lint-changed: deps ## format, clang-tidy and laws for what differs from BASE (main)
	$(again) -k --output-sync=target PROFILE=release lint-changed-format lint-scripts lint-laws $(CHANGED_STAMPS)

.PHONY: compile_commands.json
compile_commands.json: deps ## write build/compile_commands.json, which clangd finds by itself
	$(again) PROFILE=release build/compile_commands.json

.PHONY: soak
soak: deps ## run seeded tests under fresh seeds for SOAK_SECONDS (600), half of the time beside busy loops
	$(again) PROFILE=release soak-now

.PHONY: lint
lint: deps ## format, clang-tidy and a second compiler, shellcheck, laws of the tree
	$(again) -k --output-sync=target PROFILE=release lint-now

.PHONY: format
format: ## rewrite the sources as .clang-format says
	$(Q)clang-format-19 -i $(SOURCES)

.PHONY: bench
bench: deps-bench ## measure beside DPDK's tables and the memory limit; BENCH_QUICK=1 for a short run
	$(again) PROFILE=release bench-now

.PHONY: figures
figures: deps-figures ## draw docs/figures from the last `make bench` and build/lab; measure first what is not there (35 min)
	$(again) PROFILE=release figures-now

.PHONY: bench-docs
bench-docs: ## put the tables of the last `make bench` into docs/performance.md
	$(Q)tests/bench/paste.py docs/performance.md build/bench

.PHONY: fuzz
fuzz: deps ## run each fuzzer for FUZZ_SECONDS (60), starting from its corpus
	$(again) PROFILE=fuzz fuzz-now

.PHONY: faults
faults: deps ## let every call fail in turn for FAULTS_SECONDS (3600): no fault costs a rule
	$(again) PROFILE=release faults-now

.PHONY: attack
attack: deps ## attack a running pair under fresh seeds for ATTACK_SECONDS (3600), all attacks together
	$(again) PROFILE=release attack-now

.PHONY: install
install: deps-build ## build, and install below DESTDIR, PREFIX=/usr/local: programs, units, man pages, completion, configuration
	$(again) PROFILE=release install-now

.PHONY: deps-deb deb
deps-deb: deps-build
	$(call install,$(DEPS.deb))
deb: deps-deb ## build the Debian packages weir and weir-dev into build/deb, and hold them against lintian
	$(again) PROFILE=release deb-now

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf build

# ---- how things are made -----------------------------------------------------------------------
DPDK_OBJECTS := $(call either_object,$(SRC.dataplane) $(SRC.p4) dataplane/main.cpp $(SRC.tests) $(SRC.support) $(call find_cpp,tests/bench tests/fuzz))

$(DPDK_OBJECTS): CPPFLAGS += $(DPDK_CFLAGS)

# Tests take half of the time of a build. Those that start processes wait for these, and have no loops of their own
# worth optimising. Those of unit and property have: a program has one copy of an inline function, whoever compiled
# it, so that code of the library runs in them as they are compiled. Lines of a crash are what check-asan is for.
UNOPTIMISED := $(call either_object,$(foreach k,functional system faults attack tidy,$(call tests_of,$(k))))
OPTIMISED_LESS := $(call either_object,$(foreach k,unit property fuzz,$(call tests_of,$(k))))
OPTIMISED := $(call either_object,$(foreach p,weir control daemon cli dataplane p4 support,$(SRC.$(p))) dataplane/main.cpp \
               control/daemon/main.cpp $(call find_cpp,tests/lab tests/bench))
FLAGS.unoptimised := -O0 -g0
FLAGS.optimised_less := -O1 -g0
FLAGS.memory_plain_tests = -O0 $(DPDK_CFLAGS)
FLAGS.memory_tests = $(DPDK_CFLAGS)
FLAGS.memory_dataplane = $(DPDK_CFLAGS)

# What nearly every file begins with is read once for each kind of flags: libraries alone, no header of this tree.
# That is half of what a compiler reads. The law that compiles each header alone finds what one forgets to include.
PCH.program := algorithm array atomic chrono cmath cstring expected filesystem fstream functional map memory mutex optional \
               random set span sstream string thread unordered_map variant vector immintrin.h fmt/format.h nlohmann/json.hpp
PCH.tests := $(PCH.program) gtest/gtest.h
PCH.optimised := $(PCH.program) absl/container/btree_set.h
PCH.unoptimised := $(PCH.tests)
PCH.optimised_less := $(PCH.tests)
PCH.instrumented := $(PCH.optimised)
PCH.instrumented_tests := $(PCH.tests)
# Nobody builds bit by bit with ASan: there headers of this tree join in, and a change of any compiles everything anew.
PCH.memory_control := $(PCH.optimised) control/api/api.hpp
PCH.memory_dataplane := $(PCH.program) dataplane/gate/dataplane.hpp
PCH.memory_tests := $(PCH.tests) weir/image/view.hpp
PCH.memory_plain_tests := $(PCH.tests) gmock/gmock.h tests/support/engine_bench.hpp dataplane/gate/dataplane.hpp
pch_headers = $(patsubst %,$(HASH)include <%>\n,$(PCH.$(1)))
HASH := \#

ifneq ($(findstring clang,$(CXX)),)
PCH_END := pch
pch_flags = -include-pch $(OUT)/pch/$(1).hpp.pch
PCH_MADE_WITH := -Xclang -fno-pch-timestamp# or one out of ccache would be older than its headers
else
PCH_END := gch
# g++ 12 then warns of std::string's own copies, wrongly (GCC bug 105329 and its kin).
pch_flags = -include $(OUT)/pch/$(1).hpp -fpch-preprocess -Winvalid-pch -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow \
            -Wno-stringop-overread
endif
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CCACHE_PCH_EXTSUM := 1# a precompiled header has 140 MB: what stands beside it is compared in its place
# With headers of this tree it names their folder. From another checkout, by way of ccache, it would have them read
# twice: so ccache neither keeps it nor compares it, but the text that it was made of.
pch_ccache = $(if $(filter memory_%,$(1)),,$(CCACHE))
pch_compiler = $(CXX) -Iinclude -I. -D_GNU_SOURCE $(CXXFLAGS) $(FLAGS.$(1)) -x c++-header
pch_sum = $(if $(filter memory_%,$(1)),$(pch_compiler) -E -dD -P $(2:.$(PCH_END)=) | sha256sum,sha256sum $(2))

define with_pch # OBJECTS,KIND
$(1): private PCH_FLAGS := $$(call pch_flags,$(2))
$(1): $(if $(filter memory_%,$(2)),,|) $(OUT)/pch/$(2).hpp.$(PCH_END)
endef
ifeq ($(PROFILE),release)
$(UNOPTIMISED): private CXXFLAGS += $(FLAGS.unoptimised)
$(OPTIMISED_LESS): private CXXFLAGS += $(FLAGS.optimised_less)
$(eval $(call with_pch,$(OPTIMISED),optimised))
$(eval $(call with_pch,$(UNOPTIMISED),unoptimised))
$(eval $(call with_pch,$(OPTIMISED_LESS),optimised_less))
else ifeq ($(PROFILE),asan)
# Optimising takes two thirds of the time of what is instrumented; what has no loops goes without. Programs take the
# library's inline functions from the objects that are linked first, which are optimised.
MEMORY_PROGRAMS := $(call objects,$(SRC.weir) $(SRC.control))
MEMORY_CONTROL := $(call objects,$(SRC.daemon) $(SRC.cli))
MEMORY_DATAPLANE := $(call objects,$(SRC.dataplane) $(SRC.p4))
MEMORY_PLAIN_TESTS := $(call objects,$(filter tests/unit/control/% tests/unit/dataplane/% tests/unit/p4/%,$(call tests_of,unit)))
MEMORY_TESTS := $(filter-out $(MEMORY_PLAIN_TESTS),$(OPTIMISED_LESS)) $(call either_object,$(SRC.support))
$(MEMORY_PLAIN_TESTS): private CXXFLAGS += -O0
$(eval $(call with_pch,$(MEMORY_PROGRAMS),instrumented))
$(eval $(call with_pch,$(MEMORY_CONTROL),memory_control))
$(eval $(call with_pch,$(MEMORY_DATAPLANE),memory_dataplane))
$(eval $(call with_pch,$(MEMORY_TESTS),memory_tests))
$(eval $(call with_pch,$(MEMORY_PLAIN_TESTS),memory_plain_tests))
else
$(eval $(call with_pch,$(OPTIMISED),instrumented))
$(eval $(call with_pch,$(UNOPTIMISED) $(OPTIMISED_LESS),instrumented_tests))
endif

$(OUT)/pch/%.hpp.$(PCH_END): Makefile
	@mkdir -p $(@D)
	@echo "  PCH  $@"
	$(Q)printf '$(call pch_headers,$*)' >$(@:.$(PCH_END)=)
	$(Q)$(call pch_ccache,$*) $(call pch_compiler,$*) $(PCH_MADE_WITH) -MMD -MP -MF $(@:.$(PCH_END)=.d) -MT $@ -c $(@:.$(PCH_END)=) -o $@
	$(Q)$(call pch_sum,$*,$@) >$@.sum

$(OUT)/obj/%.o: %.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	$(Q)$(CCACHE) $(CXX) $(PCH_FLAGS) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

$(OUT)/obj/%.o: $(OUT)/together/%.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $(*D): $(notdir $(basename $(UNIT.$*.cpp)))"
	$(Q)$(CCACHE) $(CXX) $(PCH_FLAGS) $(CPPFLAGS) $(CXXFLAGS) $(if $(findstring clang,$(CXX)),,-Wno-subobject-linkage) -MMD -MP -c $< -o $@

# Anew when a file came or went.
$(OUT)/together/%.cpp: force
	@mkdir -p $(@D)
	$(Q)printf '#include "%s"\n' $(UNIT.$*.cpp) >$@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
.PHONY: force
.PRECIOUS: $(OUT)/together/%.cpp

$(call either_object,p4/swx/program.cpp $(filter p4/swx/%,$(SRC.p4))): p4/generated/acl.spec # program.cpp holds it

# ar q: r would keep one of two members of the same name.
define archive
@mkdir -p $(@D)
@echo "  AR   $@"
$(Q)rm -f $@ && ar qcs $@ $^
endef

$(LIB_WEIR): $(call objects,$(SRC.weir)) ; $(archive)
$(LIB_CONTROL): $(call objects,$(SRC.control)) ; $(archive)
$(LIB_DAEMON): $(call objects,$(SRC.daemon)) ; $(archive)
$(LIB_CLI): $(call objects,$(filter-out control/cli/main.cpp,$(SRC.cli))) ; $(archive)
$(LIB_DATAPLANE): $(call objects,$(SRC.dataplane)) ; $(archive)
$(LIB_P4): $(call objects,$(SRC.p4)) ; $(archive)
$(LIB_SUPPORT): $(call objects,$(SRC.support)) ; $(archive)

define link
@mkdir -p $(@D)
@echo "  LINK $@"
$(Q)$(CXX) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -o $@
endef

$(BIN)/weir-dataplane: $(call obj,dataplane/main.cpp) $(LIB_DATAPLANE) $(LIB_P4) $(LIB_WEIR)
	$(link) $(LIBS.dataplane)

$(BIN)/weir-control: $(call obj,control/daemon/main.cpp) $(LIB_DAEMON) $(LIB_CONTROL) $(LIB_WEIR)
	$(link) $(LIBS.control)

$(BIN)/weirctl: $(call obj,control/cli/main.cpp) $(LIB_CLI) $(LIB_P4) $(LIB_CONTROL) $(LIB_WEIR)
	$(link) $(LIBS.control) $(LIBS.cli)

# A million packets at a fifth of a million a second: time enough for a swap in the middle.
DEMO = $(BIN)/weirctl replay pcaps/recorded/office.pcap --config pcaps/demo/today.yaml --apply pcaps/demo/tomorrow.yaml \
       --loop 600 --rate 200000

.PHONY: run-now
run-now: $(PROGRAMS)
	@echo "$(DEMO)"; echo
	@$(DEMO)

# ---- install -----------------------------------------------------------------------------------
# Below DESTDIR. What is not made yet is built first, but nothing installed: for that is `make install`.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
SBINDIR ?= $(PREFIX)/sbin
LIBDIR ?= $(PREFIX)/lib
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
VERSION := $(shell sed -n 's/.*version_text = "\(.*\)".*/\1/p' include/weir/base/version.hpp)

to = $(DESTDIR)$(1)
put = $(Q)install -D -m $(1) $(2) $(call to,$(3))
# The folders of this installation into a file NAME.in.
filled = sed -e 's|@sbindir@|$(SBINDIR)|g' -e 's|@sysconfdir@|$(SYSCONFDIR)|g' -e 's|@prefix@|$(PREFIX)|g' \
         -e 's|@libdir@|$(LIBDIR)|g' -e 's|@version@|$(VERSION)|g' $(1) >$(2)

# A configuration that is there stays; weir.yaml.new then stands beside it.
.PHONY: install-now install-dev-now
install-now: $(PROGRAMS)
	$(call put,755,$(BIN)/weirctl,$(BINDIR)/weirctl)
	$(call put,755,$(BIN)/weir-control,$(SBINDIR)/weir-control)
	$(call put,755,$(BIN)/weir-dataplane,$(SBINDIR)/weir-dataplane)
	$(Q)for page in docs/man/*.[1-8]; do install -D -m 644 $$page $(call to,$(PREFIX)/share/man)/man$${page##*.}/$${page##*/}; done
	$(Q)install -d -m 755 $(call to,$(BASHDIR)) $(call to,$(ZSHDIR)) $(call to,$(UNITDIR))
	$(Q)umask 022; $(BIN)/weirctl completion bash >$(call to,$(BASHDIR)/weirctl)
	$(Q)umask 022; $(BIN)/weirctl completion zsh >$(call to,$(ZSHDIR)/_weirctl)
	$(Q)umask 022; $(foreach unit,dataplane control,$(call filled,packaging/systemd/weir-$(unit).service.in,$(call to,$(UNITDIR)/weir-$(unit).service)) &&) true
	$(call put,644,packaging/systemd/weir.sysusers,$(PREFIX)/lib/sysusers.d/weir.conf)
	$(call put,644,packaging/systemd/weir.tmpfiles,$(PREFIX)/lib/tmpfiles.d/weir.conf)
	$(call put,644,packaging/systemd/weir.udev,$(UDEVDIR)/60-weir.rules)
	$(call put,644,packaging/prometheus/weir.rules.yml,$(PREFIX)/share/weir/prometheus/weir.rules.yml)
	$(call put,644,packaging/grafana/weir.json,$(PREFIX)/share/weir/grafana/weir.json)
	$(call put,644,packaging/weir.yaml,$(SYSCONFDIR)/weir/weir.yaml$(if $(wildcard $(DESTDIR)$(SYSCONFDIR)/weir/weir.yaml),.new))

# The library and its headers, for programs that ask images and filters themselves.
install-dev-now: $(LIB_WEIR)
	$(Q)cd include && find weir -name '*.hpp' -exec install -D -m 644 {} $(call to,$(PREFIX)/include)/{} \;
	$(call put,644,$(LIB_WEIR),$(LIBDIR)/libweir.a)
	$(Q)install -d $(call to,$(LIBDIR)/pkgconfig)
	$(Q)umask 022; $(call filled,packaging/weir.pc.in,$(call to,$(LIBDIR)/pkgconfig/weir.pc))

# dpkg-buildpackage wants ./debian at the top: the tracked files are copied, and packaging/debian put there.
DEB_SOURCE := build/deb/src
# The maintainers have no host that receives mail.
LINTIAN_LEFT_OUT := bogus-mail-host,bogus-mail-host-in-debian-changelog
.PHONY: deb-now
deb-now:
	$(Q)rm -rf build/deb && mkdir -p $(DEB_SOURCE)
	$(Q)git ls-files -z | tar c --null --files-from=- | tar x -C $(DEB_SOURCE)
	$(Q)mv $(DEB_SOURCE)/packaging/debian $(DEB_SOURCE)/debian
	$(Q)printf 'weir (%s) unstable; urgency=medium\n\n  * As CHANGELOG.md says.\n\n -- %s  %s\n' '$(VERSION)' \
	  "$$(sed -n 's/^Maintainer: //p' packaging/debian/control)" "$$(git log -1 --format=%aD)" >$(DEB_SOURCE)/debian/changelog
	$(Q)cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage --build=binary --unsigned-changes $(DEB_OPTIONS)
	$(Q)lintian --allow-root --fail-on error,warning --suppress-tags $(LINTIAN_LEFT_OUT) build/deb/*.changes
	@ls build/deb/*.deb

# ---- tests -------------------------------------------------------------------------------------
# What a test of faults puts between a weir process and libc.
$(BIN)/tests/libweirfault.so: tests/faults/preload/weirfault.cpp tests/faults/preload/block.hpp
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CCACHE) $(CXX) $(CPPFLAGS) $(filter-out -fsanitize%,$(CXXFLAGS)) -fPIC -c $< -o $(@:.so=.o)
	$(Q)$(CXX) -shared $(@:.so=.o) -o $@ -ldl

$(BIN)/tests/faults: | $(BIN)/tests/libweirfault.so

weir_first = $(filter tests/$(1)/weir/%,$(2)) $(filter-out tests/$(1)/weir/%,$(2))
define test_program
$(BIN)/tests/$(1): $(call obj,$(call weir_first,$(1),$(call units,$(call tests_of,$(1))))) $(LIB_SUPPORT) $(LIB_DATAPLANE) $(LIB_CLI) $(LIB_P4) $(LIB_DAEMON) $(LIB_CONTROL) $(LIB_WEIR)
	$$(link) -lgtest -lgmock -lgtest_main $$(LIBS.control) $$(LIBS.cli) $$(LIBS.dataplane)
endef
$(foreach k,$(filter-out tidy,$(TEST_KINDS)),$(eval $(call test_program,$(k))))

$(BIN)/tests/tidy: $(call obj,$(call find_cpp,tests/tidy)) # knows the tree, none of its libraries
	$(link) -lgtest -lgtest_main

# In as many parts as there are cores, but for programs whose tests want namespaces or the machine for themselves.
run_tests = $(Q)tests/support/run_tests.py --out $(OUT)/results --shards $(shell nproc) --alone tidy,system,faults,attack \
              $(foreach k,$(filter $(1),$(TEST_KINDS)),$(if $(call tests_of,$(k)),$(BIN)/tests/$(k)))

.PHONY: check-now check-memory-now check-races-now
check-now: tests
	$(call run_tests,tidy unit property fuzz functional system faults attack)
check-memory-now: $(filter-out %/functional %/system %/faults %/attack %/tidy,$(TEST_PROGRAMS))
	$(call run_tests,unit property fuzz)
check-races-now: $(BIN)/tests/races
	$(Q)TSAN_OPTIONS=suppressions=tests/support/tsan.supp tests/support/run_tests.py --out $(OUT)/results \
	  --filter='-*_is_caught' $<

NIC_KINDS ?=
.PHONY: check-package
check-package: deps-nic deb ## the Debian package in a guest with systemd: installed, enforcing on cards, upgraded, purged (not in .ci/run)
	$(call install,$(DEPS.package))
	$(Q)tests/nic/packages.py --deb $$(ls -t build/deb/weir_*.deb | head -1) --build build/nic

.PHONY: check-nic-now
check-nic-now: $(PROGRAMS)
	$(Q)tests/nic/run.py --programs $(BIN) --build build/nic $(if $(NIC_KINDS),--only $(NIC_KINDS))

# Headers that were read, by the .d files of the build that comes first.
.PHONY: check-fast-now
check-fast-now: $(BIN)/tests/unit $(BIN)/tests/property
	$(Q)wanted=(); for kind in unit property; do \
	  tests=$$(tests/support/changed.py filter $(BASE) $(OUT)/obj $$kind) || exit; \
	  [ -z "$$tests" ] || wanted+=("$(BIN)/tests/$$kind=$$tests"); \
	done; \
	[ $${#wanted[@]} -gt 0 ] || { echo "nothing that differs from $(BASE) touches a unit or property test"; exit 0; }; \
	tests/support/run_tests.py --out $(OUT)/results/fast --shards $$(nproc) "$${wanted[@]}"

SOAK_SECONDS ?= 600
SOAK_KINDS ?= unit property functional system

.PHONY: soak-now
soak-now: tests
	$(Q)tests/support/soak.py --seconds $(SOAK_SECONDS) --out $(OUT)/soak $(SOAK_OPTIONS) \
	  $(addprefix $(BIN)/tests/,$(SOAK_KINDS))

# Under TSan only what threads share: table, overlay, image slot, channel, halves of a list. Not the tests that
# break the protocol on purpose and look for the damage.
RACE_TESTS := $(filter %_race_test.cpp %/image_slot_test.cpp tests/unit/dataplane/channel_test.cpp,$(call tests_of,unit))
RACE_SUPPORT := $(wildcard $(addprefix tests/support/,$(addsuffix .cpp,eal dataplane_client packets ring_gate test_image)))
RACE_RULES := $(call find_cpp,control/rules)

$(BIN)/tests/races: $(call obj,$(RACE_TESTS) $(RACE_SUPPORT) $(RACE_RULES)) $(LIB_DATAPLANE) $(LIB_P4) $(LIB_WEIR)
	$(link) -lgtest -lgmock -lgtest_main $(LIBS.dataplane)

# ---- lint --------------------------------------------------------------------------------------
SOURCES = $(shell find include control dataplane p4 tests 2>/dev/null -name '*.[ch]pp')
SCRIPTS = $(shell grep -rlIE -m1 '^\#!/(usr/)?bin/(env )?(ba)?sh' .ci p4 tests pcaps p4 2>/dev/null)
# Not those that clang compiles for check-asan, with the same warnings as errors.
LINT_SOURCES = $(sort $(filter-out tests/unit/% tests/property/%,$(filter %.cpp,$(SOURCES))))
LINT_STAMPS = $(patsubst %.cpp,build/lint/%.ok,$(call units_but,$(ALONE),$(LINT_SOURCES)))
LINT_FLAGS = $(CPPFLAGS) $(DPDK_CFLAGS) $(CXXFLAGS) $(CLANG_FLAGS)

.PHONY: lint-now lint-format lint-scripts lint-laws
lint-now: lint-format lint-scripts lint-laws $(LINT_STAMPS)
lint-format:
	$(Q)clang-format-19 --dry-run -Werror $(SOURCES)
lint-scripts:
	$(Q)$(if $(SCRIPTS),shellcheck $(SCRIPTS))
lint-laws: $(BIN)/tests/tidy # but for the one that compiles every header, for minutes: that is `make check`'s
	$(Q)$< --gtest_brief=1 --gtest_filter=-*each_header_compiles_alone

# A changed header is read alone.
CHANGED = $(eval CHANGED := $$(shell tests/support/changed.py files $(BASE)))$(CHANGED)
CHANGED_SOURCES = $(filter %.cpp %.hpp,$(CHANGED))
CHANGED_STAMPS = $(patsubst %.cpp,build/lint/%.ok,$(filter $(LINT_SOURCES),$(CHANGED))) \
                 $(patsubst %.hpp,build/lint/%.hpp.ok,$(filter %.hpp,$(CHANGED)))

.PHONY: lint-changed-format
lint-changed-format:
	$(Q)$(if $(CHANGED_SOURCES),clang-format-19 --dry-run -Werror $(CHANGED_SOURCES))

# clang reads each file, again only after the file or a header changed. What was clean ccache knows in every checkout,
# by the files that were read and not by what is left of them without comments, which may say NOLINT.
LINT_CCACHE = $(if $(CCACHE),env CCACHE_DEPEND=1 CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK='%compiler% --version' \
                CCACHE_EXTRAFILES=.clang-tidy $(CCACHE))
define lint
@mkdir -p $(@D)
@echo "  LINT $(if $(UNIT.$*.cpp),$(*D): $(notdir $(basename $(UNIT.$*.cpp))),$<)"
$(Q)$(LINT_CCACHE) tests/support/lint.sh $(LINT_FLAGS) $(1) -MMD -MP -MT $@ -MF $(@:.ok=.d) -c $< -o $@
endef
build/lint/%.ok: %.cpp .clang-tidy tests/support/lint.sh
	$(call lint)
build/lint/%.ok: $(OUT)/together/%.cpp .clang-tidy tests/support/lint.sh
	$(call lint)
build/lint/%.hpp.ok: %.hpp .clang-tidy tests/support/lint.sh
	$(call lint,-Wno-pragma-once-outside-header -x c++)

# For clangd: how clang reads each file.
COMMAND_SOURCES = $(filter %.cpp,$(SOURCES))
.PHONY: build/compile_commands.json
build/compile_commands.json:
	$(file >$@,[)
	$(foreach s,$(COMMAND_SOURCES),$(file >>$@,{"directory": "$(CURDIR)", "file": "$(s)", "command": "$(CLANG) $(LINT_FLAGS) -c $(s)"}$(if $(filter-out $(lastword $(COMMAND_SOURCES)),$(s)),$(comma))))
	$(file >>$@,])
	@echo "  MAKE $@"

# ---- fuzz --------------------------------------------------------------------------------------
FUZZ_SECONDS ?= 60
FUZZERS := $(patsubst tests/fuzz/%.cpp,%,$(filter-out %/replay.cpp,$(call find_cpp,tests/fuzz)))

.PHONY: fuzz-now
fuzz-now: $(FUZZERS:%=$(BIN)/fuzz/%)
	$(Q)tests/support/run_fuzzers.sh $(FUZZ_SECONDS) $^

FUZZ_SUPPORT := $(call obj,$(addprefix tests/support/,fake_dataplane.cpp process.cpp))# no Google Test in these

$(BIN)/fuzz/%: $(OUT)/obj/tests/fuzz/%.o $(FUZZ_SUPPORT) $(LIB_DATAPLANE) $(LIB_P4) $(LIB_DAEMON) $(LIB_CONTROL) $(LIB_WEIR)
	$(link) -fsanitize=fuzzer $(LIBS.control) $(LIBS.dataplane)

# ---- faults ------------------------------------------------------------------------------------
FAULTS_SECONDS ?= 3600

.PHONY: faults-now
faults-now: $(BIN)/tests/faults $(PROGRAMS)
	$(Q)WEIR_FAULTS_SECONDS=$(FAULTS_SECONDS) tests/support/run_tests.py --out $(OUT)/results \
	  --timeout $$(($(FAULTS_SECONDS) * 2 + 600)) $<

# ---- attack ------------------------------------------------------------------------------------
ATTACK_SECONDS ?= 3600

.PHONY: attack-now
attack-now: $(BIN)/tests/attack $(PROGRAMS)
	$(Q)code=0; WEIR_ATTACK_SECONDS=$(ATTACK_SECONDS) WEIR_SEED=$${WEIR_SEED:-$$(date +%s)} tests/support/run_tests.py \
	  --out $(OUT)/results --timeout $$(($(ATTACK_SECONDS) + 900)) $< || code=$$?; \
	  grep -hE '^[a-z-]+: [0-9]+ ' $(OUT)/results/attack.log; exit $$code

# ---- lab ---------------------------------------------------------------------------------------
$(BIN)/weir-lab: $(call objects,$(call find_cpp,tests/lab)) $(call obj,tests/support/standings.cpp) $(LIB_CONTROL) $(LIB_WEIR)
	$(link) $(LIBS.control)

# ---- bench -------------------------------------------------------------------------------------
BENCH_SUPPORT := $(addprefix tests/support/,standings.cpp process.cpp dataplane_client.cpp)# no Google Test in these

$(BIN)/weir-bench: $(call obj,$(call find_cpp,tests/bench) $(BENCH_SUPPORT)) $(LIB_CLI) $(LIB_DATAPLANE) $(LIB_P4) $(LIB_CONTROL) $(LIB_WEIR)
	$(link) $(LIBS.control) $(LIBS.cli) $(LIBS.dataplane)

.PHONY: bench-now
bench-now: $(BIN)/weir-bench $(PROGRAMS)
	$(Q)tests/bench/run.sh $<

FIGURE_DATA := $(addprefix build/bench/,lookup.jsonl prefixes.jsonl workers.jsonl cost.jsonl)
LAB_DATA := $(addprefix build/lab/,latency.dat parameters.dat rates_urls.dat rates_ycsb.dat rates_addresses.dat ada.dat)
STACK_RATES := $(addprefix build/lab/stack_,urls.dat bases.dat shift.dat skew.dat depth.dat keys.dat when.dat maps.dat early.dat)
LEARNED_RATES := $(addprefix build/lab/learned_,space.dat rival.dat)
LEARNED_TIMES := build/lab/learned_times.dat
STACK_TIMES := $(addprefix build/lab/stack_,queries.dat cost.dat share.dat build.dat)
LSM_DATA := $(addprefix build/lab/lsm_,latency.dat zipf.dat)
CHAINED_DATA := $(addprefix build/lab/chained_,membership.dat dictionary.dat construction.dat)
PREDICTOR_ERRORS := $(addprefix build/lab/predictor_,rounds.dat space.dat churn.dat)
SLBF_DATA := $(addprefix build/lab/slbf_,model.dat errors.dat settings.dat stream.dat)
PREDICTOR_TIMES := build/lab/predictor_times.dat

.PHONY: figures-now
figures-now: $(FIGURE_DATA) $(LAB_DATA) $(STACK_RATES) $(STACK_TIMES) $(LSM_DATA) $(CHAINED_DATA) $(PREDICTOR_ERRORS) $(PREDICTOR_TIMES) \
             $(LEARNED_RATES) $(LEARNED_TIMES) $(SLBF_DATA) build/lab/huffman.dat build/lab/classifiers.dat build/lab/performance.dat
	$(Q)tests/figures/draw.sh build/bench docs/figures
	$(Q)tests/figures/draw_filters.sh build/lab docs/figures

$(FIGURE_DATA) &: | $(BIN)/weir-bench
	$(Q)BENCH_QUICK=1 BENCH_ONLY=lookup,prefixes,workers,cost tests/bench/run.sh $(BIN)/weir-bench

$(LAB_DATA) &: | $(BIN)/weir-lab
	@mkdir -p build/lab
	$(Q)tests/figures/filters.py $(BIN)/weir-lab build/lab

$(LEARNED_RATES) &: | $(BIN)/weir-lab
	@mkdir -p build/lab
	$(Q)tests/figures/learned.py rates $(BIN)/weir-lab build/lab

# Times after everything else, while nothing else runs.
$(STACK_RATES) &: | $(BIN)/weir-lab
	@mkdir -p build/lab
	$(Q)tests/figures/stacked.py rates $(BIN)/weir-lab build/lab

$(STACK_TIMES) &: | $(BIN)/weir-lab $(FIGURE_DATA) $(LAB_DATA) $(STACK_RATES) $(PREDICTOR_ERRORS) $(LEARNED_RATES) $(SLBF_DATA)
	$(Q)tests/figures/stacked.py times $(BIN)/weir-lab build/lab

$(LSM_DATA) &: | $(BIN)/weir-lab $(FIGURE_DATA) $(LAB_DATA) $(STACK_RATES) $(STACK_TIMES)
	$(Q)tests/figures/lsm.py $(BIN)/weir-lab build/lab

$(CHAINED_DATA) &: | $(BIN)/weir-lab $(FIGURE_DATA) $(LAB_DATA) $(STACK_RATES) $(STACK_TIMES) $(LSM_DATA)
	$(Q)tests/figures/chained.py $(BIN)/weir-lab build/lab

$(PREDICTOR_ERRORS) &: | $(BIN)/weir-lab
	@mkdir -p build/lab
	$(Q)tests/figures/predictor.py errors $(BIN)/weir-lab build/lab

$(PREDICTOR_TIMES): | $(BIN)/weir-lab $(STACK_TIMES) $(LSM_DATA) $(CHAINED_DATA)
	$(Q)tests/figures/predictor.py times $(BIN)/weir-lab build/lab

$(SLBF_DATA) &: | $(BIN)/weir-lab
	@mkdir -p build/lab
	$(Q)tests/figures/slbf.py $(BIN)/weir-lab build/lab

$(LEARNED_TIMES): | $(BIN)/weir-lab $(STACK_TIMES) $(LSM_DATA) $(CHAINED_DATA) $(PREDICTOR_TIMES)
	$(Q)tests/figures/learned.py times $(BIN)/weir-lab build/lab

build/lab/huffman.dat: | $(BIN)/weir-lab $(STACK_TIMES) $(LSM_DATA) $(CHAINED_DATA) $(PREDICTOR_TIMES) $(LEARNED_TIMES)
	@mkdir -p build/lab
	$(Q)tests/figures/huffman.py $(BIN)/weir-lab build/lab

build/lab/classifiers.dat: | $(BIN)/weir-lab $(STACK_TIMES) $(LSM_DATA) $(CHAINED_DATA) $(PREDICTOR_TIMES) $(LEARNED_TIMES) build/lab/huffman.dat
	@mkdir -p build/lab
	$(Q)tests/figures/classifiers.py $(BIN)/weir-lab build/lab

build/lab/performance.dat: | $(BIN)/weir-lab $(STACK_TIMES) $(LSM_DATA) $(CHAINED_DATA) $(PREDICTOR_TIMES) $(LEARNED_TIMES) build/lab/huffman.dat build/lab/classifiers.dat
	@mkdir -p build/lab
	$(Q)tests/figures/performance.py $(BIN)/weir-lab build/lab

-include $(shell find $(OUT)/obj $(OUT)/pch build/lint -name '*.d' 2>/dev/null)
