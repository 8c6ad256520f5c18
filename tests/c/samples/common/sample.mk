# How samples find LAPI. Each group's Makefile sets PROGRAMS, in C, CXXPROGRAMS, in C++, and
# FPROGRAMS, in Fortran, and includes this file.
#
#   make                       in the source tree: uses ../../../../include and build/lib (run `make` at the top first);
#                              in share/lapi/samples of an installation: uses that
#   make LAPI_PREFIX=/opt/lapi an installed copy, wherever it was put
#   make                       anywhere else: the installation whose lapirun is in PATH, or that which pkg-config knows as
#                              "lapi" (PKG_CONFIG_PATH may have to name its folder)
#
# The programs remember where the library is (rpath), so that they run without LD_LIBRARY_PATH.

CC ?= gcc
CFLAGS ?= -O2 -g -Wall -Wextra
CXX ?= g++
CXXFLAGS ?= -O2 -g -Wall -Wextra -std=c++11
FORTRAN ?= gfortran
FFLAGS ?= -O2 -g -Wall -Wno-unused-dummy-argument
common := $(dir $(lastword $(MAKEFILE_LIST)))
top := $(abspath $(common)/../../../..)
lapi_build := $(top)/$(or $(BUILD),build)

# The installation that this file is part of, or else the one in PATH.
ifeq ($(wildcard $(top)/tests/c/samples),)
  lapirun_here := $(or $(wildcard $(top)/bin/lapirun),$(shell command -v lapirun))
  LAPI_PREFIX ?= $(patsubst %/bin/lapirun,%,$(if $(lapirun_here),$(realpath $(lapirun_here))))
endif

ifneq ($(LAPI_PREFIX),)
  lapi_bits := $(if $(findstring -m32,$(CC)),32)
  lapi_cflags := -I$(LAPI_PREFIX)/include
  lapi_fflags := $(if $(lapi_bits),-m32) -I$(LAPI_PREFIX)/include$(or $(lapi_bits),64) \
    $(if $(lapi_bits),,-I$(LAPI_PREFIX)/include)
  lapi_libs := -L$(LAPI_PREFIX)/lib$(lapi_bits) -Wl,-rpath,$(abspath $(LAPI_PREFIX)/lib$(lapi_bits)) -llapi_r
  LAPIRUN ?= $(LAPI_PREFIX)/bin/lapirun
else ifneq ($(wildcard $(top)/include/lapi.h),)
  lapi_cflags := -I$(top)/include
  lapi_fflags := $(if $(findstring -m32,$(CC)),-m32 -I$(top)/fortran/include32,-I$(top)/fortran)
  lapi_libs := -L$(lapi_build)/lib -Wl,-rpath,$(lapi_build)/lib -llapi_r
  LAPIRUN ?= $(lapi_build)/bin/lapirun
else
  lapi_cflags := $(shell pkg-config --cflags lapi)
  lapi_fflags := -I$(shell pkg-config --variable=includedir lapi)
  lapi_libs := $(shell pkg-config --libs lapi) -Wl,-rpath,$(shell pkg-config --variable=libdir lapi)
  LAPIRUN ?= $(shell pkg-config --variable=prefix lapi)/bin/lapirun
  ifeq ($(strip $(lapi_libs)),)
    $(error LAPI not found: set LAPI_PREFIX, or PKG_CONFIG_PATH to the folder of lapi.pc)
  endif
endif

# Where the programs go; `make samples` at the top puts them under build/.
OUT ?= .
TASKS ?= 2

# Programs in Fortran, FPROGRAMS of the Makefile, where there is a compiler, and its library, for
# their word size.
lapi_word := $(filter -m32,$(CC))
fprograms := $(if $(FPROGRAMS),$(if $(shell echo end | $(FORTRAN) $(lapi_word) -x f95 -o /dev/null - 2>/dev/null && echo yes),$(FPROGRAMS)))
fbuilt := $(addprefix $(OUT)/,$(fprograms))
cxxbuilt := $(addprefix $(OUT)/,$(CXXPROGRAMS))
built := $(addprefix $(OUT)/,$(PROGRAMS)) $(cxxbuilt) $(fbuilt)

all: $(built)
	@$(if $(filter-out $(fprograms),$(FPROGRAMS)),echo 'skipped: no $(FORTRAN) $(lapi_word) makes programs here: $(FPROGRAMS)')

.SECONDEXPANSION:
$(fbuilt): $(OUT)/%: $$(wildcard $$*.F $$*.F90) $(common)samplef.F
	@mkdir -p $(@D)
	$(FORTRAN) $(FFLAGS) $(lapi_fflags) -J $(@D) -o $@ $^ $(lapi_libs) $(LDLIBS)

$(addprefix $(OUT)/,$(PROGRAMS)): $(OUT)/%: %.c $(common)sample.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -I$(common) $(lapi_cflags) -o $@ $< $(lapi_libs) $(LDLIBS)

$(cxxbuilt): $(OUT)/%: %.cc
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS) $(lapi_cflags) -o $@ $< $(lapi_libs) $(LDLIBS)

# Runs every program of the group with TASKS tasks, over shared memory and then over UDP/IP. A group
# whose tasks are started without lapirun sets STANDALONE and gives `run` a way of its own.
run: $(if $(STANDALONE),,run-each)
run-each: all
	@for program in $(built); do for shm in yes no; do \
		echo "== LAPI_USE_SHM=$$shm $(notdir $(LAPIRUN)) -n $(TASKS) $$program"; \
		LAPI_USE_SHM=$$shm $(LAPIRUN) -n $(TASKS) $$program || exit 1; \
	done; done

clean:
	rm -f $(built) $(EXTRA_CLEAN)

.PHONY: all run run-each clean
.DEFAULT_GOAL := all
