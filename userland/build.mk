# Programs that run inside the machine, their library, and the base initramfs. Included by the top Makefile.
#
#   build/libc/libkettle.a    libc/kettle.h for programs
#   build/userland/NAME       static programs, from userland/NAME.c or userland/tests/NAME.c
#   build/initramfs.cpio      all of them at bin/NAME, the files of userland/tests/files at share/test
#
# A new program is one word in USERLAND_PROGRAMS or USERLAND_TESTS, and a line below when it has more files.

MUSL_CC ?= musl-gcc
Q ?= @

USERLAND_PROGRAMS = tour kettle-ctl console msgbench pingpong ps kill taskset taskbench nothing schedbench vmbench abibench filebench
# one line for what belongs together: a program is added at the end of its line
USERLAND_TESTS = hello exit7 nullderef spin echo-stdin interrupted \
	test-libc test-memory test-fork-memory test-newcomer test-migrate test-registers test-threads test-files \
	test-fork test-exec test-signals test-futex test-thread-state test-moved stress-tasks test-sched test-balance \
	test-pipes test-descriptors test-proc leak-tasks test-stop \
	test-prefetch test-vm test-map test-remap test-break test-advise test-resident test-exhaust
# every test-NAME.c there is, named above or not: a merge that loses a word loses no test
USERLAND_TESTS := $(sort $(USERLAND_TESTS) $(basename $(notdir $(wildcard userland/tests/test-*.c))))

USERLAND_CFLAGS = -static -O2 -Wall -Wextra -Werror -std=c11 -D_GNU_SOURCE -I. -MMD -MP
USERLAND_OBJECTS = build/userland-objects
USERLAND_NAMES = $(USERLAND_PROGRAMS) $(USERLAND_TESTS)
USERLAND_BINARIES = $(USERLAND_NAMES:%=build/userland/%)
USERLAND_FILES = $(wildcard userland/tests/files/*)
LIBKETTLE = build/libc/libkettle.a

.PHONY: userland
userland: $(LIBKETTLE) $(USERLAND_BINARIES) build/initramfs.cpio

# What a program is made of besides NAME.c.
USERLAND_PARTS_tour = proc_file message_table
USERLAND_PARTS_kettle-ctl = kernel_list proc_file message_table program
USERLAND_PARTS_msgbench = bench msgbench_cases msgbench_run msgbench_flood tests/thread
USERLAND_PARTS_pingpong = bench
USERLAND_PARTS_bench = bench bench_measure bench_place bench_program
USERLAND_PARTS_taskbench = $(USERLAND_PARTS_bench) $(addprefix taskbench_,cases child move process thread signal memory) \
	tests/thread
USERLAND_PARTS_vmbench = $(USERLAND_PARTS_bench) $(addprefix vmbench_,cases fault lock range team messages) message_counts tests/thread
USERLAND_PARTS_abibench = $(USERLAND_PARTS_bench) $(addprefix abibench_,cases call pair team) tests/thread
USERLAND_PARTS_filebench = $(USERLAND_PARTS_bench) message_counts
USERLAND_PARTS_schedbench = tests/thread
USERLAND_PARTS_console = kernel_list proc_file message_table program
USERLAND_PARTS_ps = kernel_cpus proc_file message_table
USERLAND_PARTS_test-libc = tests/tap
USERLAND_PARTS_test-memory = tests/tap
USERLAND_PARTS_test-fork-memory = tests/tap tests/thread
USERLAND_PARTS_test-newcomer = tests/tap tests/thread
USERLAND_PARTS_test-migrate = tests/tap tests/visit $(addprefix tests/migrate_,mappings calls programs)
USERLAND_PARTS_test-registers = tests/tap tests/registers tests/registers_random
USERLAND_PARTS_test-threads = tests/tap tests/thread
USERLAND_PARTS_test-files = tests/tap
USERLAND_PARTS_test-pipes = tests/tap tests/thread
USERLAND_PARTS_test-descriptors = tests/tap
USERLAND_PARTS_test-pty = tests/tap tests/pty tests/pty_session
USERLAND_PARTS_case = tests/case tests/place tests/tap kernel_cpus proc_file message_table
USERLAND_PARTS_test-fork = $(USERLAND_PARTS_case) tests/fork_wait tests/fork_clone
USERLAND_PARTS_test-exec = $(USERLAND_PARTS_case) tests/exec_others
USERLAND_PARTS_test-signals = $(USERLAND_PARTS_case) tests/registers tests/registers_random \
	$(addprefix tests/signal_,info frame wait group lost)
USERLAND_PARTS_test-futex = $(addprefix tests/,tap thread futex_crew futex_pthread futex_owner futex_shared \
	futex_signal futex_several futex_priority)
USERLAND_PARTS_test-pi = $(addprefix tests/,tap futex_crew)
USERLAND_PARTS_test-thread-state = $(USERLAND_PARTS_case) tests/registers tests/registers_random
USERLAND_PARTS_test-moved = $(USERLAND_PARTS_case) tests/moved_wait
USERLAND_PARTS_test-proc = $(USERLAND_PARTS_case)
USERLAND_PARTS_test-accounting = $(USERLAND_PARTS_case)
USERLAND_PARTS_test-machine = tests/tap
USERLAND_PARTS_leak-tasks = $(USERLAND_PARTS_case)
USERLAND_PARTS_stress-tasks = $(USERLAND_PARTS_case) tests/stress_ledger
USERLAND_PARTS_test-sched = tests/tap tests/thread
USERLAND_PARTS_test-stop = tests/tap
USERLAND_PARTS_test-vm = $(USERLAND_PARTS_case) tests/thread $(addprefix tests/vm_,report access model operation \
	advise remap grow fork heap feature crew race change)
USERLAND_PARTS_test-audit = tests/tap
USERLAND_PARTS_spread = $(addprefix tests/,tap thread spread)
USERLAND_PARTS_test-map = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-remap = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-lease = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-stale = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-crossing = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-break = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-advise = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-filemap = $(USERLAND_PARTS_spread) $(addprefix tests/filemap_,file process)
USERLAND_PARTS_test-content = $(USERLAND_PARTS_spread) tests/filemap_file
USERLAND_PARTS_test-lock = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-lock-wait = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-memfd = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-users = $(USERLAND_PARTS_spread) tests/users_reach
USERLAND_PARTS_test-mqueue = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-sysv = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-shm = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-inotify = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-xattr = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-splice = $(USERLAND_PARTS_spread) tests/splice_process
USERLAND_PARTS_test-tree = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-names = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-lent = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-known = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-root = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-partly = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-host = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-policy = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-pidfd = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-pthreads = tests/tap
USERLAND_PARTS_test-clone-files = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-reaper = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-zero = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-share = $(USERLAND_PARTS_spread) $(addprefix tests/share_,bytes names host)
USERLAND_PARTS_test-eventfd = tests/tap tests/thread tests/left
USERLAND_PARTS_test-timerfd = tests/tap tests/thread tests/left
USERLAND_PARTS_test-signalfd = tests/tap tests/thread tests/left
USERLAND_PARTS_test-epoll = tests/tap tests/thread tests/left tests/place tests/case message_counts kernel_cpus proc_file message_table
USERLAND_PARTS_test-epoll-far = tests/tap tests/thread tests/left
USERLAND_PARTS_test-sockets = tests/socket_far tests/socket_user tests/tap tests/thread tests/left tests/place tests/case kernel_cpus proc_file message_table
USERLAND_PARTS_test-socket-race = tests/tap tests/thread tests/left
USERLAND_PARTS_test-stop-sets = tests/tap tests/thread tests/left
USERLAND_PARTS_test-exhaust = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-resident = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-vdso = $(addprefix tests/,tap thread thread_place)
USERLAND_PARTS_test-handoff = $(addprefix tests/,tap futex_crew)
USERLAND_PARTS_test-timers = $(addprefix tests/,tap thread thread_place)
USERLAND_PARTS_test-limits = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-membarrier = $(USERLAND_PARTS_spread) message_counts
USERLAND_PARTS_test-huge = $(USERLAND_PARTS_spread)
USERLAND_PARTS_test-balance = $(USERLAND_PARTS_case) tests/thread
USERLAND_PARTS_test-prefetch = $(USERLAND_PARTS_case) tests/thread
USERLAND_PARTS_test-events = $(USERLAND_PARTS_case) tests/thread tests/events
USERLAND_PARTS_test-one-frame = $(USERLAND_PARTS_case) tests/thread
USERLAND_PARTS_test-retrieve = $(USERLAND_PARTS_case) tests/thread tests/events

define USERLAND_LINK
build/userland/$(1): $(2:%=$(USERLAND_OBJECTS)/%.o) $(LIBKETTLE)
	@mkdir -p $$(@D)
	$$(Q)$$(MUSL_CC) -static -O2 -o $$@ $$^
endef
$(foreach name,$(USERLAND_PROGRAMS),$(eval $(call USERLAND_LINK,$(name),$(name) $(USERLAND_PARTS_$(name)))))
$(foreach name,$(USERLAND_TESTS),\
	$(eval $(call USERLAND_LINK,$(name),tests/$(name) $(USERLAND_PARTS_$(name)))))

$(USERLAND_OBJECTS)/%.o: userland/%.c
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

$(USERLAND_OBJECTS)/%.o: userland/%.S
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

# An OpenMP program as users make them, with glibc and libgomp. It is not in the image: it is a file of the host.
OPENMP_CC ?= gcc
OPENMP_OBJECTS = $(addprefix $(USERLAND_OBJECTS)/openmp/,ompbench.o bench.o bench_measure.o bench_place.o bench_program.o)
userland: build/userland/ompbench
build/userland/ompbench: $(OPENMP_OBJECTS)
	@mkdir -p $(@D)
	$(Q)$(OPENMP_CC) -static -O2 -fopenmp -Wl,--no-warnings -o $@ $^
$(USERLAND_OBJECTS)/openmp/%.o: userland/openmp/%.c
	@mkdir -p $(@D)
	$(Q)$(OPENMP_CC) $(USERLAND_CFLAGS) -fopenmp -c -o $@ $<
$(USERLAND_OBJECTS)/openmp/%.o: userland/%.c
	@mkdir -p $(@D)
	$(Q)$(OPENMP_CC) $(USERLAND_CFLAGS) -fopenmp -c -o $@ $<

build/libc/kettle.o: libc/kettle.c
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USERLAND_CFLAGS) -c -o $@ $<

$(LIBKETTLE): build/libc/kettle.o
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $^

build/initramfs.cpio: userland/initramfs.py $(USERLAND_BINARIES) $(USERLAND_FILES)
	$(Q)python3 userland/initramfs.py $@ $(foreach name,$(USERLAND_NAMES),bin/$(name)=build/userland/$(name)) \
		$(foreach file,$(USERLAND_FILES),share/test/$(notdir $(file))=$(file))

# The same sources under clang, for what gcc does not warn about.
.PHONY: userland-clang
userland-clang:
	$(Q)clang -fsyntax-only $(filter-out -static -MMD -MP,$(USERLAND_CFLAGS)) -nostdinc \
		-isystem /usr/include/x86_64-linux-musl -isystem $$(clang -print-resource-dir)/include \
		libc/*.c userland/*.c userland/tests/*.c

-include $(wildcard build/libc/*.d $(USERLAND_OBJECTS)/*.d $(USERLAND_OBJECTS)/tests/*.d $(USERLAND_OBJECTS)/openmp/*.d)
