# Host unit tests and fuzzers. Included by the Makefile; needs BUILD; Q= shows the commands.
#
#   host-test   builds and runs every tests/<room>/<file>_test.c under the address and undefined behaviour sanitizers
#   fuzz-short  runs every tests/<room>/<name>_fuzz.c for a fixed number of inputs, from generated seeds
#   build/host/tests/boot/acpi/acpi_test   builds one test; run it from the project root, with part of a test's name or none
#
# A test is added by dropping its file. Its opening comment may have the lines
#   sources: FILE...     C files under test, from the project root
#   sanitize: thread     the thread sanitizer in place of the others
# and a fuzzer's the first of them, "runs: N" and "flags: ..." for libFuzzer.

Q ?= @
HOST_CC ?= gcc
FUZZ_CC ?= clang
HOST_CFLAGS := -std=c11 -D_GNU_SOURCE -O1 -g -Itests/stand_in -I. -Wall -Wextra -Werror -MMD -MP
HOST_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HOST_SANITIZE_THREAD := -fsanitize=thread
FUZZ_SANITIZE := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_SECONDS ?= 30
# Repeatable: a fixed seed and number of runs, from the same first inputs; the time is a bound for slow machines.
FUZZ_FLAGS := -seed=1 -max_len=8192 -max_total_time=$(FUZZ_SECONDS) -timeout=5 -rss_limit_mb=1024 -reload=0

HOST_TESTS := $(sort $(shell find tests -name '*_test.c'))
FUZZERS := $(sort $(shell find tests -name '*_fuzz.c'))
HOST_PROGRAMS := $(HOST_TESTS:%.c=$(BUILD)/host/%)
FUZZ_PROGRAMS := $(FUZZERS:%.c=$(BUILD)/fuzz/%)

# The words of line "KEY: ..." of file $(2)'s opening comment.
header_words = $(shell sed -n 's,^[ /]*\** *$(1): *\([^*]*\).*,\1,p; /\*\//q' $(2))

# $(1) file, $(2) object folder: the objects of a test or fuzzer.
test_objects = $(patsubst %.c,$(2)/%.o,$(1) $(call header_words,sources,$(1)))

define host_program
$(BUILD)/host/$(1:.c=): $$(call test_objects,$(1),$$(BUILD)/host/$(if $(filter thread,$(2)),thread,address))
	@mkdir -p $$(@D)
	$$(Q)$$(HOST_CC) $(if $(filter thread,$(2)),$$(HOST_SANITIZE_THREAD),$$(HOST_SANITIZE)) -pthread $$^ -o $$@
endef
$(foreach test,$(HOST_TESTS),$(eval $(call host_program,$(test),$(call header_words,sanitize,$(test)))))

define fuzz_program
$(BUILD)/fuzz/$(1:.c=): $$(call test_objects,$(1),$$(BUILD)/fuzz)
	@mkdir -p $$(@D)
	$$(Q)$$(FUZZ_CC) $$(FUZZ_SANITIZE) -fsanitize=fuzzer $$^ -o $$@
endef
$(foreach fuzzer,$(FUZZERS),$(eval $(call fuzz_program,$(fuzzer))))

$(BUILD)/host/address/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) $(HOST_SANITIZE) -c $< -o $@

$(BUILD)/host/thread/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) $(HOST_SANITIZE_THREAD) -c $< -o $@

$(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(HOST_CFLAGS) $(FUZZ_SANITIZE) -c $< -o $@

$(BUILD)/fuzz/seeds: tests/fuzz/seeds.py $(wildcard tests/boot/tables/*.acpi)
	rm -rf $@
	python3 tests/fuzz/seeds.py $@
	@touch $@

# Every test runs even when one fails, HOST_JOBS at a time; the last line sums up. A program that dies counts as a failure.
HOST_JOBS ?= 2
.PHONY: host-test
host-test: $(HOST_PROGRAMS) ## unit tests on the host, under sanitizers
	@printf '%s\n' $(HOST_PROGRAMS) | xargs -P $(HOST_JOBS) -I {} sh -c '{} >{}.log 2>&1; echo $$? >{}.status'
	@passed=0; failed=0; \
	for program in $(HOST_PROGRAMS); do \
	    echo "# $${program#$(BUILD)/host/}"; \
	    status=$$(cat $$program.status); \
	    grep -v '^[0-9]* passed, [0-9]* failed$$' $$program.log; \
	    sum=$$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$$/\1 \2/p' $$program.log); \
	    set -- $${sum:-0 0}; \
	    passed=$$((passed + $$1)); failed=$$((failed + $$2)); \
	    if [ $$status -ne 0 ] && [ $$2 -eq 0 ]; then \
	        echo "not ok - $$program died with status $$status"; failed=$$((failed + 1)); \
	    fi; \
	done; \
	echo "host tests: $$passed passed, $$failed failed"; [ $$failed -eq 0 ]

# $(1): the source of a fuzzer, $(2): its name.
define fuzz_run
.PHONY: fuzz-$(2)
fuzz-$(2): $$(BUILD)/fuzz/$(1:.c=) $$(BUILD)/fuzz/seeds
	@rm -rf $$(BUILD)/fuzz/work/$(2)
	@mkdir -p $$(BUILD)/fuzz/found $$(BUILD)/fuzz/seeds/$(2) $$(BUILD)/fuzz/work/$(2)
	@$$< $$(FUZZ_FLAGS) -runs=$$(call header_words,runs,$(1)) $$(call header_words,flags,$(1)) \
	    -artifact_prefix=$$(BUILD)/fuzz/found/$(2)- $$(BUILD)/fuzz/work/$(2) $$(BUILD)/fuzz/seeds/$(2) \
	    2>$$(BUILD)/fuzz/$(2).log \
	    && echo "ok - fuzz $(2): $$$$(grep -o 'Done .*' $$(BUILD)/fuzz/$(2).log)" \
	    || { cat $$(BUILD)/fuzz/$(2).log; echo "not ok - fuzz $(2)"; exit 1; }
endef
fuzz_name = $(patsubst %_fuzz.c,%,$(notdir $(1)))
$(foreach fuzzer,$(FUZZERS),$(eval $(call fuzz_run,$(fuzzer),$(call fuzz_name,$(fuzzer)))))

.PHONY: fuzz-short
fuzz-short: $(foreach fuzzer,$(FUZZERS),fuzz-$(call fuzz_name,$(fuzzer))) ## every fuzzer for a fixed number of inputs

-include $(shell find $(BUILD)/host $(BUILD)/fuzz -name "*.d" 2>/dev/null)
