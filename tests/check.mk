# Static checks. Included by the Makefile; needs BUILD and KERNEL_CFLAGS. KERNEL_OBJECT_FOLDER holds the kernel's object
# files, from which the direction of calls is read.
#
#   check           every check below; what has passed is not checked again until a file it depends on changes
#   check-static    all but the models
#   format   lays out all C files as .clang-format says
#
#   check-format    clang-format finds nothing to change
#   check-tidy      clang-tidy over the kernel, by .clang-tidy, and all warnings of clang as errors (gcc does the build itself)
#   check-clang     those warnings alone, in a sixth of the time
#   check-cppcheck  cppcheck over all C files, less what tests/cppcheck.suppress explains
#   check-layers    tools/check-layers: includes and calls go down only; and its own test
#   check-models    tests/models/run: spin finds no error in the protocol models, and each seeded bug; with small bounds
#                   (80 s of CPU time), KETTLE_LONG=1: with the full ones

Q ?= @
CHECK_CC ?= clang
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy
CPPCHECK ?= cppcheck
CHECK_JOBS ?= 2
KERNEL_OBJECT_FOLDER ?= $(BUILD)/kernel

# All C of the project: what is in git, and what is about to be in its folders. What else lies in the root is a reader's.
CHECK_FOLDERS := boot kernel libc mm msg tasks tests tools userland
CHECK_ALL := $(wildcard $(shell git ls-files --cached --others --exclude-standard $(CHECK_FOLDERS) | grep '\.[ch]$$'))
CHECK_C := $(filter %.c,$(CHECK_ALL))
# The programs of tests/abi do on purpose what is wrong: bad addresses, divisions by zero, what is lost.
CHECK_CPPCHECK := $(filter tests/abi/runner.c,$(CHECK_C)) $(filter-out tests/abi/%,$(CHECK_C))
CHECK_KERNEL := boot/% kernel/% mm/% msg/% tasks/%
CHECK_KERNEL_C := $(filter $(CHECK_KERNEL),$(CHECK_C))
CHECK_KERNEL_H := $(filter $(CHECK_KERNEL) libc/%,$(filter %.h,$(CHECK_ALL))) $(wildcard $(shell git ls-files --cached --others --exclude-standard "*.def"))
# Flags that make writes files for, or that only gcc knows, are nothing to clang.
CHECK_CFLAGS = $(filter-out -MMD -MP -MD $(CHECK_DROP_CFLAGS),$(KERNEL_CFLAGS)) -Wall -Wextra -Werror \
    -Wno-unknown-warning-option -Wno-unused-command-line-argument

.PHONY: check check-static format check-format check-clang check-tidy check-cppcheck check-layers check-models
check: check-static check-models ## every static check, and the protocol models
check-static: check-format check-layers check-cppcheck check-tidy ## every static check

format: ## lay out all C files as .clang-format says
	$(Q)$(CLANG_FORMAT) -i $(CHECK_ALL)

check-format: $(BUILD)/check/format ## clang-format finds nothing to change
$(BUILD)/check/format: $(CHECK_ALL) .clang-format
	@mkdir -p $(@D)
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(CHECK_ALL)
	@echo "ok - layout of $(words $(CHECK_ALL)) C files"
	@touch $@

check-clang: $(CHECK_KERNEL_C:%=$(BUILD)/check/clang/%) ## the kernel compiles under clang, which check-tidy sees, too
	@echo "ok - clang compiles $(words $(CHECK_KERNEL_C)) kernel files"
$(BUILD)/check/clang/%: % $(CHECK_KERNEL_H)
	@mkdir -p $(@D)
	$(Q)$(CHECK_CC) $(CHECK_CFLAGS) -fsyntax-only $<
	@touch $@

# The static analyzer looks at 20,000 states of each function; with CHECK_TIDY_DEPTH=full at 225,000, which takes six times as
# long.
CHECK_TIDY_DEPTH ?= short
CHECK_TIDY_FLAGS = $(if $(filter short,$(CHECK_TIDY_DEPTH)),$(addprefix --extra-arg=,-Xclang -analyzer-config -Xclang max-nodes=20000))
check-tidy: $(CHECK_KERNEL_C:%=$(BUILD)/check/tidy-$(CHECK_TIDY_DEPTH)/%) ## clang-tidy over the kernel
	@echo "ok - clang-tidy over $(words $(CHECK_KERNEL_C)) kernel files"
$(BUILD)/check/tidy-$(CHECK_TIDY_DEPTH)/%: % $(CHECK_KERNEL_H) .clang-tidy
	@mkdir -p $(@D)
	$(Q)$(CLANG_TIDY) --quiet $(CHECK_TIDY_FLAGS) $< -- $(CHECK_CFLAGS) 2>$@.log || { grep -v 'warnings generated' $@.log; false; }
	@touch $@

check-cppcheck: $(BUILD)/check/cppcheck/ok ## cppcheck over all C files
$(BUILD)/check/cppcheck/ok: $(CHECK_ALL) tests/cppcheck.suppress
	@mkdir -p $(@D)
	$(Q)$(CPPCHECK) --quiet --enable=warning,performance,portability --std=c11 --platform=unix64 --language=c -I. \
	    '-D_Noreturn=__attribute__((noreturn))' --inline-suppr --suppressions-list=tests/cppcheck.suppress --error-exitcode=1 -j$(CHECK_JOBS) \
	    --cppcheck-build-dir=$(@D) $(CHECK_CPPCHECK)
	@echo "ok - cppcheck over $(words $(CHECK_CPPCHECK)) C files"
	@touch $@

check-layers: $(BUILD)/check/layers-test ## includes and calls go down only
	@tools/check-layers --objects $(KERNEL_OBJECT_FOLDER)
$(BUILD)/check/layers-test: tools/check-layers tests/tools/tree/check_layers_test.py
	@mkdir -p $(@D)
	$(Q)python3 -B tests/tools/tree/check_layers_test.py >$@.log 2>&1 || { cat $@.log; false; }
	@echo "ok - tools/check-layers finds what it should"
	@touch $@

CHECK_MODELS := $(BUILD)/check/models$(if $(filter 1,$(KETTLE_LONG)),-full)
check-models: $(CHECK_MODELS) ## spin over the protocol models (tests/models/run NAME: one)
$(CHECK_MODELS): tests/models/run $(wildcard tests/models/*.pml)
	@mkdir -p $(@D)
	$(Q)tests/models/run
	@touch $@
