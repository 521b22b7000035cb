# Programs that run inside the machine, their library, and the base initramfs. Included by the top Makefile.
#
#   build/libc/libkettle.a    libc/kettle.h and libc/numa.h for programs
#   build/userland/NAME       a static program, for each NAME.c with main in the folders below
#   build/initramfs.cpio      all of them at bin/NAME, the files of tests/guest/files at share/test
#
# A program is added by dropping its file. The files without main are parts, in one archive: each program gets those that
# it calls.

MUSL_CC ?= musl-gcc
Q ?= @

# What is made with glibc and libgomp is not in the image.
BENCH_FOLDERS = $(filter-out userland/bench/openmp userland/bench/workloads,\
	$(patsubst %/,%,$(sort $(dir $(wildcard userland/bench/*.c userland/bench/*/*.c)))))
USERLAND_FOLDERS = userland $(BENCH_FOLDERS) $(patsubst %/,%,$(sort $(dir $(wildcard tests/guest/*/*.c))))
USERLAND_SOURCES = $(sort $(wildcard $(USERLAND_FOLDERS:%=%/*.c)))
USERLAND_MAINS := $(shell grep -l '^int main\b' $(USERLAND_SOURCES))
USERLAND_PARTS = $(filter-out $(USERLAND_MAINS),$(USERLAND_SOURCES)) $(wildcard $(USERLAND_FOLDERS:%=%/*.S))

USERLAND_CFLAGS = -static -O2 -Wall -Wextra -Werror -std=c11 -D_GNU_SOURCE -I. -MMD -MP
USERLAND_OBJECTS = build/userland-objects
USERLAND_NAMES = $(notdir $(USERLAND_MAINS:.c=))
USERLAND_BINARIES = $(USERLAND_NAMES:%=build/userland/%)
USERLAND_FILES = $(wildcard tests/guest/files/*)
USERLAND_ARCHIVE = $(USERLAND_OBJECTS)/parts.a
LIBKETTLE = build/libc/libkettle.a

.PHONY: userland
userland: $(LIBKETTLE) $(USERLAND_BINARIES) build/initramfs.cpio

$(USERLAND_ARCHIVE): $(addprefix $(USERLAND_OBJECTS)/,$(addsuffix .o,$(basename $(USERLAND_PARTS))))
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^

define USERLAND_LINK
build/userland/$(notdir $(1)): $(USERLAND_OBJECTS)/$(1).o $(USERLAND_ARCHIVE) $(LIBKETTLE)
	@mkdir -p $$(@D)
	$$(Q)$$(MUSL_CC) -static -O2 -o $$@ $$^
endef
$(foreach main,$(USERLAND_MAINS),$(eval $(call USERLAND_LINK,$(main:.c=))))

$(USERLAND_OBJECTS)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

$(USERLAND_OBJECTS)/%.o: %.S
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

# An OpenMP program as users make them, with glibc and libgomp. It is not in the image: it is a file of the host.
OPENMP_CC ?= gcc
OPENMP_OBJECTS = $(addprefix build/openmp-objects/,openmp/ompbench.o bench.o bench_measure.o bench_place.o bench_program.o)
userland: build/userland/ompbench
build/userland/ompbench: $(OPENMP_OBJECTS)
	@mkdir -p $(@D)
	$(Q)$(OPENMP_CC) -static -O2 -fopenmp -Wl,--no-warnings -o $@ $^
build/openmp-objects/%.o: userland/bench/%.c
	@mkdir -p $(@D)
	$(Q)$(OPENMP_CC) $(USERLAND_CFLAGS) -fopenmp -c -o $@ $<

# The programs of the evaluation, likewise a file of the host for both systems (userland/bench/workloads/README.md).
WORKLOAD_OBJECTS := $(patsubst userland/bench/%.c,build/openmp-objects/%.o,$(wildcard userland/bench/workloads/*.c)) \
	build/openmp-objects/message_counts.o
userland: build/userland/workload
build/userland/workload: $(WORKLOAD_OBJECTS)
	@mkdir -p $(@D)
	$(Q)$(OPENMP_CC) -static -O2 -fopenmp -Wl,--no-warnings -o $@ $^ -lm

build/libc/kettle.o build/libc/numa.o: build/libc/%.o: libc/%.c
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

$(LIBKETTLE): build/libc/kettle.o build/libc/numa.o
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^

# For programs that are to tell where they allocate (tools/plugin/numa/trace.md).
userland: build/libc/liballoctrace.a
build/libc/liballoctrace.a: build/libc/alloc_trace.o
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^
build/libc/alloc_trace.o: libc/alloc_trace.c
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

build/initramfs.cpio: userland/initramfs.py $(USERLAND_BINARIES) $(USERLAND_FILES)
	$(Q)python3 userland/initramfs.py $@ $(foreach name,$(USERLAND_NAMES),bin/$(name)=build/userland/$(name)) \
		$(foreach file,$(USERLAND_FILES),share/test/$(notdir $(file))=$(file))

# The same sources under clang, for what gcc does not warn about.
.PHONY: userland-clang
userland-clang:
	$(Q)clang -fsyntax-only $(filter-out -static -MMD -MP,$(USERLAND_CFLAGS)) -nostdinc \
		-isystem /usr/include/x86_64-linux-musl -isystem $$(clang -print-resource-dir)/include \
		libc/*.c $(USERLAND_SOURCES)

-include $(wildcard build/libc/*.d build/openmp-objects/*.d build/openmp-objects/*/*.d) \
	$(addprefix $(USERLAND_OBJECTS)/,$(addsuffix .d,$(basename $(USERLAND_SOURCES))))
