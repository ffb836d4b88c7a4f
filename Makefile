# SPDX-License-Identifier: GPL-3.0-or-later
#
# Knobs (make NAME=value):
#   CC CFLAGS LDFLAGS PKG_CONFIG   tools and flags; CFLAGS replaces only the optimisation flags
#   SANITIZE=address,undefined     build into build-<names>/ with these sanitizers
#   BUILD=dir                      where everything built goes (default build)
#   PREFIX=/usr/local DESTDIR=     where install puts things; LIBDIR=PREFIX/lib: the libraries
#   PYTHON=python3 PYTHONDIR=      interpreter and folder of install-python (default: that of its modules under PREFIX)
#   WITHOUT="sqlite3 nlopt"        build as if these were not installed: sqlite3 libmicrohttpd nlopt libisal mpi metis
#   V=1                            show the commands
#   DEPS=no                        never try to install missing packages
#
# Targets: all (default) demo test bench bench-long data validate stranger portable faults fuzz mutate coverage determinism trust
#          design-page deploy-page screenshots install uninstall python wheel install-python deb deps deps-page format
#          check-format clean
# all needs its packages installed. demo, test and bench first install missing ones (as root or through sudo).

CC         ?= gcc
CFLAGS     ?= -O2 -g
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
PYTHON     ?= python3
LIBDIR     ?= $(PREFIX)/lib
DEPS       ?= yes

VERSION   = 0.1.0
SOVERSION = 0
# In a checkout the version names the commit, and whether what is built differs from it. Nothing is added at the tag of the
# version, in an unpacked archive, or by make COMMIT=.
COMMIT = $(shell export GIT_OPTIONAL_LOCKS=0; [ -z "$$(git rev-parse --show-cdup 2>&1)" ] && commit=$$(git rev-parse --short=8 HEAD 2>/dev/null) && \
    dirty=$$(git status --porcelain -- Makefile sim net collectives workload tools topologies traces) && \
    if [ -n "$$dirty" ]; then echo "+g$$commit.dirty"; else git describe --tags --exact-match --match 'v$(VERSION)' >/dev/null 2>&1 || echo "+g$$commit"; fi)

empty :=
space := $(empty) $(empty)
comma := ,
ifdef SANITIZE
BUILD    ?= build-$(subst $(comma),-,$(SANITIZE))
SANFLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
# Static runtimes at fixed addresses halve the start of a command, which is most of what its tests take. clang links them so.
SANLINK := $(if $(findstring address,$(SANITIZE)),$(if $(findstring clang,$(CC)),,-static-libasan $(if $(findstring undefined,$(SANITIZE)),-static-libubsan) -no-pie))
else
BUILD ?= build
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion
PKGS := libcjson expat zlib
# Loaded when they are first used (sim/late.h): only their headers are needed here, and the names of their shared objects.
LATE_PKGS := igraph
TOOL_PKGS := libuv
# Optional libraries; ringlet --version lists those found. WITHOUT leaves some out.
found = $(if $(filter $(1),$(WITHOUT)),,$(shell $(PKG_CONFIG) --exists $(1) 2>/dev/null && echo yes))
ifeq ($(call found,nlopt),yes)
TOOL_PKGS += nlopt
OPTIONAL := -DRLT_WITH_NLOPT
endif
ifeq ($(call found,sqlite3),yes)
TOOL_PKGS += sqlite3
OPTIONAL += -DRLT_WITH_SQLITE
endif
ifeq ($(call found,libisal),yes)
PKGS += libisal
OPTIONAL += -DRLT_WITH_ISAL
endif
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PKGS) $(LATE_PKGS) 2>/dev/null | sed 's/-I\([^ ]*\)/-isystem \1/g')
PKG_LIBS   = $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)
COMMON     = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -D_DARWIN_C_SOURCE -I. $(OPTIONAL)
ALL_CFLAGS = $(COMMON) -fPIC -fvisibility=hidden -ffp-contract=off \
             $(WARN) $(CFLAGS) $(SANFLAGS)

# Companion executables: the common command starts without their libraries. Each is the whole command, but with SRC in place
# of INSTEAD_OF, the source in the command that runs the companion (tools/base/beside.h).
SERVE_SRC := tools/serve/http.c
SERVE_INSTEAD_OF := tools/serve/none.c
SERVE_PKG := libmicrohttpd
MPI_SRC := tools/sweep/ranks_mpi.c
MPI_INSTEAD_OF := tools/sweep/ranks_none.c
MPI_PKG := ompi-c
DEPLOY_SRC := $(addprefix tools/deploy/,benefit.c cases.c evaluate.c group.c guide.c lessons.c page.c problem.c random.c report.c search.c train.c) $(sort $(wildcard tools/deploy/policy/*.c))
DEPLOY_INSTEAD_OF := tools/deploy/none.c
DEPLOY_LIBS := -lmetis -lopenblas
# METIS has no pkg-config file, and CBLAS several; another package's cblas.h may be there without OpenBLAS.
# GNU make 4.3 keeps the backslash of \# inside a function, older ones do not.
hash := \#
links = $(shell { printf '$(hash)include <%s.h>\n' $(1); echo 'int main(void){return 0;}'; } | $(CC) -x c -o /dev/null - $(2) >/dev/null 2>&1 && echo yes)
has_deploy := $(if $(filter metis,$(WITHOUT)),,$(call links,metis cblas,$(DEPLOY_LIBS)))
ALL_BESIDE := ringlet-serve ringlet-mpi ringlet-deploy
BESIDE := $(if $(call found,$(SERVE_PKG)),ringlet-serve) $(if $(filter mpi,$(WITHOUT)),,$(if $(call found,$(MPI_PKG)),ringlet-mpi)) \
          $(if $(has_deploy),ringlet-deploy)

# Sources are found in the rooms: a new room needs no line here.
sources_of = $(sort $(shell find $(1) -name '*.c'))
LIB_SRC  := $(call sources_of,sim net collectives workload)
TOOL_SRC := $(filter-out tools/report/page/embed.c $(SERVE_SRC) $(MPI_SRC) $(DEPLOY_SRC),$(call sources_of,tools))
PAGE_SRC := tools/report/page/page.html tools/report/page/page.css tools/help/glossary.md $(sort $(wildcard tools/report/page/*.js))
# Whatever is Markdown is a chapter of ringlet help.
CHAPTERS := $(sort $(wildcard README.md) $(shell find sim net collectives workload tools topologies traces test -name '*.md' 2>/dev/null))
TEST_SRC := $(filter-out test/support/% test/bench/% test/faults/% test/fuzz/% test/install/% test/plugins/% $(if $(has_deploy),,test/tools/policy.c test/tools/lessons.c),$(call sources_of,test))

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
TOOL_OBJ := $(TOOL_SRC:%.c=$(BUILD)/%.o) $(addprefix $(BUILD)/tools/,report/page_parts.o help/texts.o base/version.o)
# Fuzz targets are one program for make test, and one for libFuzzer: see test/fuzz/README.md.
FUZZ_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(filter-out test/fuzz/engine.c test/fuzz/replay.c,$(call sources_of,test/fuzz)))
TESTS    := $(TEST_SRC:%.c=$(BUILD)/%) $(patsubst %.c,$(BUILD)/%,$(wildcard test/fuzz/replay.c))
SERVE_OBJ := $(filter-out $(SERVE_INSTEAD_OF:%.c=$(BUILD)/%.o),$(TOOL_OBJ)) $(SERVE_SRC:%.c=$(BUILD)/%.o)
MPI_OBJ   := $(filter-out $(MPI_INSTEAD_OF:%.c=$(BUILD)/%.o),$(TOOL_OBJ)) $(MPI_SRC:%.c=$(BUILD)/%.o)
DEPLOY_OBJ := $(filter-out $(DEPLOY_INSTEAD_OF:%.c=$(BUILD)/%.o),$(TOOL_OBJ)) $(DEPLOY_SRC:%.c=$(BUILD)/%.o)

Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)  $(2)")

all: $(BUILD)/ringlet $(BESIDE:%=$(BUILD)/%)

# A source may have become a folder: its old program would be in the way of that folder.
$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC  ,$<)
	@mkdir -p $(@D) 2>/dev/null || { rm -f $(@D) 2>/dev/null; mkdir -p $(@D); }
	$(Q)$(CC) $(ALL_CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

# Writes a text into the target, unless it is there: what depends on it is then rebuilt.
record = @[ "$$(cat $@ 2>/dev/null)" = '$(1)' ] || echo '$(1)' > $@

# Objects of deleted sources leave the archives; executables that are no longer built are removed.
$(BUILD)/objects: FORCE
	@mkdir -p $(BUILD)
	@rm -f $(patsubst %,$(BUILD)/%,$(filter-out $(BESIDE),$(ALL_BESIDE)))
	$(call record,$(LIB_OBJ) $(TOOL_OBJ) $(CHAPTERS))

ifeq ($(LIBRARY),shared)
# For mutants. What is linked with it asks for libringlet.so.0, whose place a mutant takes that needs whole.so for the rest.
$(BUILD)/libringlet.a: $(LIB_OBJ) $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -o $(BUILD)/whole.so $(LIB_OBJ) $(PKG_LIBS) -lm -lpthread
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -o $(BUILD)/$(SONAME) $(LIB_OBJ) $(PKG_LIBS) -lm -lpthread
	@rm -f $@ && cp $(BUILD)/$(SONAME) $@
else
$(BUILD)/libringlet.a: $(LIB_OBJ) $(BUILD)/objects
	$(call say,AR  ,$@)
	@rm -f $@
	$(Q)$(AR) qcs $@ $(LIB_OBJ)
endif

# The command exports what the installed headers declare, for plug-ins: see workload/plugin/plugin.h.
WHOLE := -rdynamic -Wl,--whole-archive $(BUILD)/libringlet.a -Wl,--no-whole-archive -ldl

$(BUILD)/ringlet: $(TOOL_OBJ)
$(BUILD)/ringlet-serve: $(SERVE_OBJ)
$(BUILD)/ringlet-mpi: $(MPI_OBJ)
$(BUILD)/ringlet-deploy: $(DEPLOY_OBJ)
$(BUILD)/ringlet-deploy: private PKG_LIBS += $(DEPLOY_LIBS)
COMMANDS := $(BUILD)/ringlet $(ALL_BESIDE:%=$(BUILD)/%)
$(COMMANDS): $(BUILD)/libringlet.a $(BUILD)/objects
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(SANLINK) $(LDFLAGS) -Wl,--as-needed -o $@ $(filter %.o,$^) $(WHOLE) $(PKG_LIBS) -lm -lpthread

$(BUILD)/test/%: $(BUILD)/test/%.o $(BUILD)/libringlet.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(SANLINK) $(LDFLAGS) -Wl,--as-needed -o $@ $< $(TOOLS) $(BUILD)/libringlet.a -lcmocka $(PKG_LIBS) $(PEER_LIBS) -lm -lpthread
# Solvers that tests compare with, where they are here. GLPK has no pkg-config file.
$(BUILD)/test/workload/deploy/sfb: private PEER_LIBS = $(if $(call links,glpk,-lglpk),-lglpk)

# Tests of parts of the command. Those of a companion are linked with it where that is built.
TOOL_TESTS := $(filter $(BUILD)/test/tools/% $(BUILD)/test/fuzz/%,$(TESTS)) $(BUILD)/test/fuzz/engine
SERVE_TEST := $(if $(filter ringlet-serve,$(BESIDE)),$(BUILD)/test/tools/serve)
DEPLOY_TEST := $(filter $(BUILD)/test/tools/policy $(BUILD)/test/tools/lessons,$(TESTS))
$(TOOL_TESTS): private TOOLS = $(filter %.o,$(filter-out $<,$^))
$(SERVE_TEST): $(filter-out %/main.o,$(SERVE_OBJ))
$(DEPLOY_TEST): $(filter-out %/main.o,$(DEPLOY_OBJ))
$(DEPLOY_TEST): private PEER_LIBS = $(DEPLOY_LIBS)
$(filter-out $(SERVE_TEST) $(DEPLOY_TEST),$(TOOL_TESTS)): $(filter-out %/main.o,$(TOOL_OBJ))
$(BUILD)/test/fuzz/replay $(BUILD)/test/fuzz/engine: $(FUZZ_OBJ) $(addprefix $(BUILD)/tools/deploy/policy/,file.o weights.o)
$(BUILD)/test/fuzz/engine: private SANFLAGS += -fsanitize=fuzzer

# Objects that the command needs and the library does not.
OF_SERVE := $(SERVE_SRC:%.c=$(BUILD)/%.o) $(BUILD)/ringlet-serve $(SERVE_TEST)
OF_MPI   := $(MPI_SRC:%.c=$(BUILD)/%.o) $(BUILD)/ringlet-mpi
$(sort $(TOOL_OBJ) $(COMMANDS) $(OF_SERVE) $(OF_MPI) $(TOOL_TESTS:%=%.o) $(TOOL_TESTS) $(FUZZ_OBJ)): private PKGS += $(TOOL_PKGS)
$(OF_SERVE): private PKGS += $(SERVE_PKG)
$(OF_MPI): private PKGS += $(MPI_PKG)

# The name by which the loader finds a shared library: what a program that is linked with it asks for.
file_of = $(shell t=$$(mktemp) && echo 'int main(void){return 0;}' | $(CC) -x c -o $$t - -Wl,--no-as-needed $(LDFLAGS) $$($(PKG_CONFIG) --libs $(1)) \
          && objdump -p $$t | sed -n 's/^ *NEEDED *\(lib$(1:lib%=%)\.so.*\)/\1/p'; rm -f $$t)
$(BUILD)/net/topology/graph.o: private ALL_CFLAGS += -DRLT_IGRAPH_FILE='"$(call file_of,igraph)"'

# Installation paths are known to this file only.
$(BUILD)/workload/setup/locate.o: private ALL_CFLAGS += -DRLT_DATADIR='"$(PREFIX)/share/ringlet"'
$(BUILD)/workload/setup/locate.o: $(BUILD)/prefix
$(BUILD)/prefix: FORCE
	@mkdir -p $(BUILD)
	$(call record,$(PREFIX))

# The page of reports: a build program joins its sources.
$(BUILD)/embed: tools/report/page/embed.c
	$(call say,HOST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 $(filter-out -Wconversion,$(WARN)) -o $@ $<
$(BUILD)/tools/report/page_parts.c: $(BUILD)/embed $(PAGE_SRC)
	@mkdir -p $(@D)
	$(Q)$(BUILD)/embed $(PAGE_SRC) > $@.tmp && mv $@.tmp $@
$(BUILD)/tools/report/page_parts.o: $(BUILD)/tools/report/page_parts.c $(BUILD)/flags
	$(call say,CC  ,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# Chapters, as they stand.
$(BUILD)/tools/help/texts.c: $(BUILD)/embed $(CHAPTERS) $(BUILD)/objects
	@mkdir -p $(@D)
	$(Q)$(BUILD)/embed --texts tools/help/chapters.h rlt__help_texts $(CHAPTERS) > $@.tmp && mv $@.tmp $@
$(BUILD)/tools/help/texts.o: $(BUILD)/tools/help/texts.c $(BUILD)/flags
	$(call say,CC  ,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The version is in one object, so that a commit rebuilds no other.
$(BUILD)/tools/base/version.c: FORCE
	@mkdir -p $(@D)
	@printf '#include "tools/base/version.h"\n\nconst char rlt_version[] = "%s";\n' '$(VERSION)$(COMMIT)' > $@.tmp
	@if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
$(BUILD)/tools/base/version.o: $(BUILD)/tools/base/version.c $(BUILD)/flags
	$(call say,CC  ,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Everything is rebuilt when the compiler or its flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	$(call record,$(CC) $(ALL_CFLAGS))

# Headers for programs and plug-ins: these doors, and the closure of their includes.
DOORS := sim/base/error.h sim/base/time.h sim/base/units.h sim/base/param.h sim/base/random.h sim/base/registry.h sim/queue.h sim/sim.h \
         net/topology/topology.h net/topology/placement.h net/import/import.h net/endpoint/endpoint.h net/route.h net/usage.h net/network.h \
         collectives/collective.h collectives/algorithm.h collectives/plan.h collectives/lanes.h collectives/check/checker.h \
         collectives/bound.h collectives/executor.h \
         workload/program/program.h workload/program/reader.h workload/program/rescale.h \
         workload/models/model.h workload/models/accelerator.h workload/training/training.h \
         workload/daso/daso.h workload/timing/timing.h workload/replay/replay.h workload/plugin/plugin.h workload/experiment/experiment.h
$(BUILD)/headers: FORCE
	@mkdir -p $(BUILD)
	@printf '#include "%s"\n' $(DOORS) | $(CC) -std=c11 -I. -x c -MM -MT all - | tr ' \\' '\n\n' | sed -n 's,^\(\./\)*\(.*\.h\)$$,\2,p' | sort -u > $@
SONAME := libringlet.so.$(SOVERSION)

$(BUILD)/$(SONAME): $(LIB_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--as-needed -o $@ $(LIB_OBJ) $(PKG_LIBS) -lm -lpthread

# One page for each command, and one that lists them.
$(BUILD)/man/ringlet.1: $(BUILD)/ringlet
	$(Q)rm -rf $(@D) && mkdir -p $(@D) && $(BUILD)/ringlet --generate-man > $@.tmp
	$(Q)for c in $$(sed -n 's/^\.BR ringlet..\(.*\) (1)$$/\1/p' $@.tmp | tr -d '\\'); do \
	    $(BUILD)/ringlet --generate-man $$c > $(@D)/ringlet-$$c.1 || exit 1; done
	$(Q)mv $@.tmp $@
$(BUILD)/ringlet.bash: $(BUILD)/ringlet
	$(Q)$(BUILD)/ringlet --generate-completion > $@.tmp && mv $@.tmp $@
$(BUILD)/ringlet.pc: FORCE
	@mkdir -p $(BUILD)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR:$(PREFIX)/%=$${prefix}/%)' 'includedir=$${prefix}/include/ringlet' '' 'Name: ringlet' \
	    'Description: discrete-event simulator of distributed deep-learning training' 'Version: $(VERSION)' \
	    'Requires.private: $(PKGS)' 'Libs: -L$${libdir} -lringlet' 'Libs.private: -lm -lpthread -ldl' 'Cflags: -I$${includedir}' > $@

D = $(DESTDIR)$(PREFIX)
L = $(DESTDIR)$(LIBDIR)
install: all $(BUILD)/$(SONAME) $(BUILD)/man/ringlet.1 $(BUILD)/ringlet.bash install-headers install-data
	$(Q)install -d $(D)/bin $(D)/share/man/man1
	$(Q)install -m 755 $(BUILD)/ringlet $(D)/bin/ringlet
	$(if $(strip $(BESIDE)),$(Q)install -m 755 $(BESIDE:%=$(BUILD)/%) $(D)/bin)
	$(Q)install -m 644 $(BUILD)/libringlet.a $(L)/libringlet.a
	$(Q)install -m 644 $(BUILD)/$(SONAME) $(L)/libringlet.so.$(VERSION)
	$(Q)ln -sf libringlet.so.$(VERSION) $(L)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(L)/libringlet.so
	$(Q)install -m 644 $(BUILD)/man/*.1 $(D)/share/man/man1
	$(Q)install -D -m 644 $(BUILD)/ringlet.bash $(D)/share/bash-completion/completions/ringlet

# What is found by name: see workload/setup/locate.h.
S = $(D)/share/ringlet
install-data:
	$(Q)install -D -m 644 -t $(S)/topologies topologies/*
	$(Q)install -D -m 644 -t $(S)/accelerators workload/accelerators/*
	$(Q)install -D -m 644 -t $(S)/stacks workload/stacks/*
	$(Q)install -D -m 644 -t $(S)/dispatchers workload/dispatchers/*
	$(Q)install -D -m 644 -t $(S)/studies tools/sweep/examples/*.json
	$(Q)install -D -m 644 -t $(S)/weights tools/deploy/policy/*.weights
	$(Q)install -D -m 644 -t $(S)/measured tools/calibrate/training/*.json tools/calibrate/training/*.csv
	$(Q)install -d $(S)/traces && cp -R traces/. $(S)/traces

# Everything that a plug-in is built against.
install-headers: $(BUILD)/ringlet.pc $(BUILD)/headers
	$(Q)for h in $$(cat $(BUILD)/headers); do install -D -m 644 $$h $(D)/include/ringlet/$$h || exit 1; done
	$(Q)install -D -m 644 $(BUILD)/ringlet.pc $(L)/pkgconfig/ringlet.pc

# The Python package calls the command. The wheel carries it, and needs no compiler and no network where it is installed.
python: all
	@mkdir -p $(BUILD)/python
	$(Q)$(PYTHON) tools/python/build.py package $(BUILD)/python $(BUILD)/ringlet
wheel: all
	@mkdir -p $(BUILD)/python
	$(Q)$(PYTHON) tools/python/build.py wheel $(BUILD) $(BUILD)/python $(BUILD)/ringlet $(BESIDE:%=$(BUILD)/%)
PYTHONDIR ?= $(shell $(PYTHON) -c 'import os, sys, sysconfig as s; kind = os.path.basename(s.get_path("purelib")); \
    shared = (kind, sys.argv[1]) == ("dist-packages", "/usr"); \
    print("%s/lib/python%s/%s" % (sys.argv[1], "3" if shared else s.get_python_version(), kind))' '$(PREFIX)' 2>/dev/null)
install-python: python
	$(if $(PYTHONDIR),,$(error install-python: $(PYTHON) does not run; PYTHONDIR names the folder))
	$(Q)install -d $(DESTDIR)$(PYTHONDIR)
	$(Q)rm -rf $(DESTDIR)$(PYTHONDIR)/ringlet
	$(Q)cp -R $(BUILD)/python/ringlet $(DESTDIR)$(PYTHONDIR)/ringlet

uninstall:
	$(if $(PYTHONDIR),rm -rf $(DESTDIR)$(PYTHONDIR)/ringlet)
	rm -rf $(D)/bin/ringlet $(ALL_BESIDE:%=$(D)/bin/%) $(L)/libringlet.a $(L)/libringlet.so $(L)/$(SONAME)* $(D)/include/ringlet \
	    $(L)/pkgconfig/ringlet.pc $(D)/share/man/man1/ringlet.1 $(D)/share/man/man1/ringlet-*.1 \
	    $(D)/share/bash-completion/completions/ringlet $(D)/share/ringlet

# Debian packages, in build/deb: see tools/packaging/README.md.
deb:
	@tools/packaging/deb.sh '$(BUILD)/deb' '$(VERSION)$(COMMIT)'

deps:
	@if [ '$(DEPS)' != no ]; then tools/deps.sh; fi

# Extra needs of some tests: a browser and its driver (in the build folder), clang-format, valgrind, gdb.
deps-page:
	@tools/deps.sh page
	@[ -d $(BUILD)/page/node_modules/playwright-core ] || \
	    { mkdir -p $(BUILD)/page && cd $(BUILD)/page && npm install --silent --no-audit --no-fund --ignore-scripts playwright-core; }

# These targets work on a bare machine: after installing packages a second make builds.
demo: deps
	@$(MAKE) --no-print-directory all
	@echo
	$(BUILD)/ringlet run --trace traces/transformer-8 --topology topologies/hgx-h100-8.json --explain

# Long tests first: the last one then keeps no processor waiting. Sanitizers see nothing in tests of sources and of make.
SCRIPTS = $(sort $(shell find test/cli test/page test/python -name '*.sh')) test/house.sh test/tidy.sh
test: deps
	@$(MAKE) --no-print-directory all tests
	@test/run.sh $(BUILD) $(if $(SANITIZE),$(filter-out test/cli/make/% test/house.sh test/tidy.sh,$(SCRIPTS)),$(SCRIPTS)) $(sort $(TESTS))

# Prints the test programs, one a line, for running some of them.
list-tests:
	@echo $(sort $(TESTS))

# Lines and branches that the tests execute, and changes of meaning that they do not notice: test/mutate/README.md.
COVERED := COMMIT= BUILD=build-coverage CFLAGS='-O0 --coverage'
# The library is a shared object, so that a mutant takes the place of its own file alone.
MUTABLE := COMMIT= BUILD=build-mutate CFLAGS='-O1 -fvisibility=default' LDFLAGS='-Wl,--enable-new-dtags,-rpath,build-mutate'
PROGRAMS ?= all tests
coverage: deps
	@$(MAKE) --no-print-directory -s $(COVERED) $(PROGRAMS)
	@$(PYTHON) test/mutate/coverage.py build-coverage $(LIKE)

mutate: deps
	@$(MAKE) --no-print-directory -s $(COVERED) $(PROGRAMS)
	@$(MAKE) --no-print-directory -s $(MUTABLE) LIBRARY=shared $(PROGRAMS)
	@ROOM='$(ROOM)' N='$(N)' SEED='$(SEED)' LIKE='$(LIKE)' BUDGET='$(BUDGET)' JOBS='$(JOBS)' $(PYTHON) test/mutate/mutate.py build-coverage build-mutate

# Hostile inputs under sanitizers for SECONDS, of one TARGET or of all: see test/fuzz/README.md. Needs clang.
fuzz: SECONDS ?= 60
fuzz:
	@test/fuzz/fuzz.sh '$(SECONDS)' '$(TARGET)'

bench: deps
	@$(MAKE) --no-print-directory all benches
	@BUILD=$(BUILD) test/bench/bench.sh
	@BUILD=$(BUILD) test/bench/peers.sh

bench-long: deps
	@$(MAKE) --no-print-directory all benches
	@BUILD=$(BUILD) test/bench/bench.sh long
	@$(BUILD)/test/bench/queue
	@BUILD=$(BUILD) test/bench/sweep.sh
	@BUILD=$(BUILD) test/bench/peers.sh long

# Public files that tests read: from their repositories (MIRROR: another address, or a folder) to DATA, where tests look.
DATA ?= ../shared/data
data:
	@test/data/fetch.sh '$(DATA)' $(if $(MIRROR),'$(MIRROR)')

# Builds and tests in a minimal Debian (SUITE) as a stranger would. As root, with debootstrap.
SUITE ?= bookworm
stranger:
	@test/stranger.sh $(SUITE)

# Compiles all sources for musl (musl-gcc) and macOS (ZIG=path), where these compilers are there. Nothing is linked.
portable:
	@test/portable.sh $(COMMON)

# One table of hashes over compilers, optimisation, threads, ranks of MPI, locale, time zone, addresses and folder; valgrind
# and ThreadSanitizer. BUILDS="gcc:-O0 clang:-O3" names other builds. Minutes.
determinism:
	@test/determinism.sh all

# One page of all that holds the project together, each line printed by its run: hours; FUZZ, N and STEPS make it shorter.
trust:
	@test/trust.sh

# Errors of simulated collectives and predicted trainings, with the constants in topologies/ and workload/accelerators/.
# Trainings: left out by group, accelerator and source, on networks as measured and as sold (minutes).
# Tables: with the rows of all sources where they are at hand, else what this repository holds of them (test/data/README.md).
published = $(firstword $(wildcard $(DATA)/$(1)) test/data/$(1))
MEASURED ?= $(call published,collectives/measured_collectives.csv)
MEASURED_NODES ?= $(call published,collectives/measured_multinode.csv)
MEASURED_TRAINING ?= $(foreach t,training layouts dispatch,$(call published,throughput/measured_$t.csv))
validate: EVALUATIONS ?= 2000
validate: HARNESS ?= row
validate: all
	@$(BUILD)/ringlet calibrate --check $(MEASURED)
	@$(BUILD)/ringlet calibrate --leave-one-out nvswitch --harness $(HARNESS) -w inplace=out -w dtype=half --max-evaluations $(EVALUATIONS) $(MEASURED)
	@for test in --check --halves '--leave-one-out all --by site'; do \
	    $(BUILD)/ringlet calibrate $$test --clusters tools/calibrate/clusters.json --max-evaluations 100 $(MEASURED_NODES) $(MEASURED) || exit; done
	@RINGLET=$(BUILD)/ringlet tools/calibrate/all_to_all.sh
	@for sold in '' --networks-as-sold; do \
	    $(BUILD)/ringlet calibrate-training $$sold --leave-out group,accelerator,source $(MEASURED_TRAINING) || exit; done
	@test/data/left_out.sh $(MEASURED) $(MEASURED_NODES) $(MEASURED_TRAINING)

# Saving by each added dimension at equal iteration time, in network interfaces and dollars, for three models: table and plot.
design-page: all
	$(Q)$(BUILD)/ringlet design dimensions --study added-dimension -n 1024 --total 100GB/s \
	    --any-memory -w turing-nlg-17b@tp=1,microbatch=8 -w gpt3-175b@tp=16,microbatch=16 -w megatron-1t@tp=32,microbatch=8 --plot $(BUILD)/design-page.svg -o $(BUILD)/design-page.txt
	@cat $(BUILD)/design-page.txt
	@echo 'wrote $(BUILD)/design-page.txt and $(BUILD)/design-page.svg'

# Search methods of ringlet deploy, its two timings and its policy (many minutes): the tables of tools/deploy/DEPLOY.md. Without
# published graphs: on random models.
GRAPHS ?= $(or $(wildcard $(DATA)/pipedream/*.graph.txt),traces/small-cnn.graph.txt random:1 random:2 random:3)
TESTBEDS := testbed-4xv100-8x1080ti-4xp100;testbed-4xv100-4xv100;testbed-2xv100-4xp100-2x1080ti
deploy-page: graphs := $(subst $(space),$(comma),$(strip $(GRAPHS)))
deploy-page: all
	$(Q)$(BUILD)/ringlet deploy evaluate --graphs '$(graphs)' --topologies '$(TESTBEDS)'
	$(Q)$(BUILD)/ringlet deploy judges --graphs '$(graphs)' --topologies '$(TESTBEDS)'
	$(Q)$(BUILD)/ringlet deploy policy --graphs '$(graphs)'

# Pictures of the README and of the chapters: studies and designs.
EXAMPLES := tools/sweep/examples
pictures: design-page
	@rm -rf $(BUILD)/pictures && mkdir -p $(BUILD)/pictures
	$(Q)$(BUILD)/ringlet sweep $(EXAMPLES)/replay.json -q --db $(BUILD)/pictures/r --plot $(EXAMPLES)/replay.svg
	$(Q)$(BUILD)/ringlet sweep $(EXAMPLES)/collectives.json -q --db $(BUILD)/pictures/c --panels network --plot $(EXAMPLES)/collectives.svg
	$(Q)$(BUILD)/ringlet sweep $(EXAMPLES)/aggregation.json -q --db $(BUILD)/pictures/a --panels loss --plot $(EXAMPLES)/aggregation.svg
	$(Q)$(BUILD)/ringlet sweep $(EXAMPLES)/training.json -q --db $(BUILD)/pictures/t
	$(Q)$(BUILD)/ringlet sweep pareto $(BUILD)/pictures/t --by layout --plot $(EXAMPLES)/training.svg >/dev/null
	$(Q)cp $(BUILD)/design-page.svg tools/design/added-dimension.svg

# Pictures of all kinds of pages and drawings, to look at: build/page/screenshots/index.html.
screenshots: all deps-page
	$(Q)sh test/screenshots/screenshots.sh $(BUILD) $(BUILD)/page/screenshots

# A shared object that makes the k-th allocation, or call on a file, fail; tests preload it.
tests: $(TESTS) $(if $(SANITIZE),,$(BUILD)/test/faults.so)
$(BUILD)/test/faults.so: test/faults/faults.c
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 $(WARN) $(CFLAGS) -fPIC -shared -o $@ $<

# Makes memory and files of commands fail, call by call (many minutes); FAULTS="run coll" names some.
faults: all tests
	$(Q)RINGLET=$(BUILD)/ringlet sh test/faults/faults.sh

# Compared on machines that have it (apt-get install libsimgrid-dev).
ifeq ($(shell $(PKG_CONFIG) --exists simgrid 2>/dev/null && echo yes),yes)
PEERS := $(BUILD)/test/bench/simgrid
endif
benches: $(addprefix $(BUILD)/test/bench/,limits queue spawn) $(PEERS)

$(BUILD)/test/bench/simgrid: test/bench/simgrid.c
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_DEFAULT_SOURCE $(WARN) $(CFLAGS) $$($(PKG_CONFIG) --cflags simgrid | sed 's/-I/-isystem /g') -o $@ $< $$($(PKG_CONFIG) --libs simgrid)

format:
	clang-format -i $(shell find sim net collectives workload tools test -name '*.[ch]')

check-format:
	clang-format --dry-run -Werror $(shell find sim net collectives workload tools test -name '*.[ch]')

clean:
	rm -rf build build-*

.PHONY: all demo test tests portable faults fuzz mutate coverage determinism trust list-tests bench bench-long benches data validate stranger design-page deploy-page pictures screenshots deps deps-page install install-headers install-data uninstall python wheel install-python deb format check-format clean FORCE
FORCE:
.PRECIOUS: $(BUILD)/%.o

-include $(shell find $(addprefix $(BUILD)/,sim net collectives workload tools test) -name "*.d" 2>/dev/null)
