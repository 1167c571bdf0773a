# weir: read from the top. `make help` lists the targets; `V=1` shows the commands.
#
# Folders become programs: dataplane/ -> weir-dataplane, control/daemon/ -> weir-control,
# control/cli/ -> weirctl, tests/<kind>/ -> build/bin/tests/<kind>. A new .cpp file is found by itself.

MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DEFAULT_GOAL := help
SHELL := /bin/bash

# ---- what to build with ------------------------------------------------------------------------
PROFILE ?= release# release | asan (with UBSan) | tsan
CXX := g++
ifeq ($(origin CLANG),undefined)
CLANG := clang++-19
endif
CCACHE := $(shell command -v ccache 2>/dev/null)
export CCACHE_NOHASHDIR := 1
Q := $(if $(V),,@)

ifneq ($(filter-out release asan tsan,$(PROFILE)),)
$(error PROFILE=$(PROFILE) is unknown: use release, asan or tsan)
endif

OUT := build/$(PROFILE)
BIN := $(if $(filter release,$(PROFILE)),build/bin,$(OUT)/bin)

DPDK_CFLAGS = $(patsubst -I%,-isystem %,$(filter-out -march=%,$(shell pkg-config --cflags libdpdk)))
DPDK_LIBS = $(filter-out -Wl$(comma)--as-needed,$(shell pkg-config --libs libdpdk))
comma := ,

CXXFLAGS.release := -O2 -g1 -DNDEBUG
CXXFLAGS.asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CXXFLAGS.tsan := -O1 -g -fsanitize=thread -DRTE_USE_C11_MEM_MODEL
LDFLAGS.release :=
LDFLAGS.asan := -fsanitize=address,undefined
LDFLAGS.tsan := -fsanitize=thread

CPPFLAGS := -Iinclude -I. -D_GNU_SOURCE
CXXFLAGS := -std=c++23 -ffile-prefix-map=$(CURDIR)=. -march=x86-64-v2 -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror \
            -pthread $(CXXFLAGS.$(PROFILE))
LDFLAGS := -pthread -Wl,--as-needed $(LDFLAGS.$(PROFILE))

# ---- what there is -----------------------------------------------------------------------------
find_cpp = $(sort $(wildcard $(addsuffix /*.cpp,$(1))))

SRC.control := $(call find_cpp,control/config control/rules control/store control/plan control/build control/push control/workload)
SRC.daemon := $(call find_cpp,control/daemon)
SRC.cli := $(call find_cpp,control/cli)
SRC.dataplane := $(filter-out dataplane/main.cpp,$(call find_cpp,dataplane))
SRC.support := $(call find_cpp,tests/support)
TEST_KINDS := unit property functional system
SRC.tests := $(foreach k,$(TEST_KINDS),$(call find_cpp,tests/$(k)))

obj = $(patsubst %.cpp,$(OUT)/obj/%.o,$(1))

LIB_CONTROL := $(OUT)/libcontrol.a
LIB_DAEMON := $(OUT)/libdaemon.a
LIB_CLI := $(OUT)/libcli.a
LIB_DATAPLANE := $(OUT)/libdataplane.a
LIB_SUPPORT := $(OUT)/libsupport.a

LIBS.control := -lrocksdb -lnlopt_cxx -lyaml-cpp -lfmt
LIBS.dataplane = -lyaml-cpp -lfmt -lpcap $(DPDK_LIBS)

PROGRAMS := $(BIN)/weir-dataplane $(BIN)/weir-control $(BIN)/weirctl
TEST_PROGRAMS := $(foreach k,$(TEST_KINDS),$(if $(call find_cpp,tests/$(k)),$(BIN)/tests/$(k)))

# ---- targets a person calls --------------------------------------------------------------------
.PHONY: help
help: ## list the targets and the flags in force
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
	@echo; echo "PROFILE=$(PROFILE)   programs in $(BIN)/"
	@echo "CXX=$(CCACHE) $(CXX)"; echo "CXXFLAGS=$(CXXFLAGS)"

.PHONY: all
all: $(PROGRAMS) ## build the programs

.PHONY: tests
tests: $(TEST_PROGRAMS) $(PROGRAMS) ## build the programs and the tests

.PHONY: clean
clean: ## remove build/
	$(Q)rm -rf build

# ---- how things are made -----------------------------------------------------------------------
DPDK_OBJECTS := $(call obj,$(SRC.dataplane) dataplane/main.cpp $(SRC.tests) $(SRC.support) $(call find_cpp,tests/bench tests/fuzz))

$(DPDK_OBJECTS): CPPFLAGS += $(DPDK_CFLAGS)

$(OUT)/obj/%.o: %.cpp
	@mkdir -p $(@D)
	@echo "  CXX  $<"
	$(Q)$(CCACHE) $(CXX) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@

define archive
@mkdir -p $(@D)
@echo "  AR   $@"
$(Q)rm -f $@ && ar rcs $@ $^
endef

$(LIB_CONTROL): $(call obj,$(SRC.control)) ; $(archive)
$(LIB_DAEMON): $(call obj,$(filter-out control/daemon/main.cpp,$(SRC.daemon))) ; $(archive)
$(LIB_CLI): $(call obj,$(filter-out control/cli/main.cpp,$(SRC.cli))) ; $(archive)
$(LIB_DATAPLANE): $(call obj,$(SRC.dataplane)) ; $(archive)
$(LIB_SUPPORT): $(call obj,$(SRC.support)) ; $(archive)

define link
@mkdir -p $(@D)
@echo "  LINK $@"
$(Q)$(CXX) $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -o $@
endef

$(BIN)/weir-dataplane: $(call obj,dataplane/main.cpp) $(LIB_DATAPLANE) $(LIB_CONTROL)
	$(link) $(LIBS.dataplane)

$(BIN)/weir-control: $(call obj,control/daemon/main.cpp) $(LIB_DAEMON) $(LIB_CONTROL)
	$(link) $(LIBS.control)

$(BIN)/weirctl: $(call obj,control/cli/main.cpp) $(LIB_CLI) $(LIB_CONTROL)
	$(link) $(LIBS.control) -lpcap

define test_program
$(BIN)/tests/$(1): $(call obj,$(call find_cpp,tests/$(1))) $(LIB_SUPPORT) $(LIB_DATAPLANE) $(LIB_CLI) $(LIB_DAEMON) $(LIB_CONTROL)
	$$(link) -lgtest -lgmock -lgtest_main $$(LIBS.control) $$(LIBS.dataplane)
endef
$(foreach k,$(TEST_KINDS),$(eval $(call test_program,$(k))))

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
