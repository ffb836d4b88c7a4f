# SPDX-License-Identifier: GPL-3.0-or-later
#
# Knobs (make NAME=value):
#   CC CFLAGS LDFLAGS PKG_CONFIG   tools and flags; CFLAGS replaces only the optimisation flags
#   SANITIZE=address,undefined     build into build-<names>/ with these sanitizers
#   BUILD=dir                      where everything built goes (default build)
#   PREFIX=/usr/local DESTDIR=     where install puts things
#   V=1                            show the commands
#   DEPS=no                        never try to install missing packages
#
# Targets: all (default) demo test bench install uninstall deps format check-format clean

CC         ?= gcc
CFLAGS     ?= -O2 -g
PKG_CONFIG ?= pkg-config
PREFIX     ?= /usr/local
DEPS       ?= yes

VERSION   = 0.1.0
SOVERSION = 0

empty :=
space := $(empty) $(empty)
comma := ,
ifdef SANITIZE
BUILD    ?= build-$(subst $(comma),-,$(SANITIZE))
SANFLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
else
BUILD ?= build
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion
PKGS := igraph libcjson zlib
# Recipes that need the packages come after deps has run, so these are expanded late.
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null | sed 's/-I\([^ ]*\)/-isystem \1/g')
PKG_LIBS   = $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null)
UV_LIBS    = $(shell $(PKG_CONFIG) --libs libuv 2>/dev/null)
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I. -fPIC -fvisibility=hidden -ffp-contract=off \
             -DRLT_VERSION='"$(VERSION)"' -DRLT_DATADIR='"$(PREFIX)/share/ringlet"' $(WARN) $(CFLAGS) $(SANFLAGS)

SIM_SRC := sim/error.c sim/mem.c sim/map.c sim/units.c sim/random.c sim/queue.c sim/sim.c
NET_SRC := $(sort $(wildcard net/*.c))
COLL_SRC := $(sort $(wildcard collectives/*.c))
WORK_SRC := $(sort $(wildcard workload/*.c))
LIB_SRC := $(SIM_SRC) $(NET_SRC) $(COLL_SRC) $(WORK_SRC)
TOOL_SRC := $(sort $(wildcard tools/*.c))
TEST_SRC := $(sort $(wildcard test/test_*.c))

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
TOOL_OBJ := $(TOOL_SRC:%.c=$(BUILD)/%.o)
TESTS    := $(TEST_SRC:test/%.c=$(BUILD)/test/%)

Q := $(if $(V),,@)
say = $(if $(V),,@echo "  $(1)  $(2)")

all: $(BUILD)/ringlet

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC  ,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/libringlet.a: $(LIB_OBJ)
	$(call say,AR  ,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

$(BUILD)/ringlet: $(TOOL_OBJ) $(BUILD)/libringlet.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $(TOOL_OBJ) $(BUILD)/libringlet.a $(PKG_LIBS) $(UV_LIBS) -lm -lpthread

$(BUILD)/test/%: $(BUILD)/test/%.o $(BUILD)/libringlet.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -Wl,--as-needed -o $@ $< $(BUILD)/libringlet.a -lcmocka $(PKG_LIBS) -lm -lpthread

# Everything is rebuilt when the compiler or its flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(BUILD)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@

tests: $(TESTS)

format:
	clang-format -i $(wildcard */*.c */*.h)

check-format:
	clang-format --dry-run -Werror $(wildcard */*.c */*.h)

clean:
	rm -rf build build-*

.PHONY: all tests format check-format clean FORCE
FORCE:
.PRECIOUS: $(BUILD)/%.o

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
