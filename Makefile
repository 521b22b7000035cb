# Kettle. `make run` and `make test` are the two commands; `make help` lists the others.

BUILD := build
Q ?= @
CC := gcc

# The kernel runs without the C library, red zone and vector registers, in the top 2 GiB of the address space.
KERNEL_CFLAGS := -std=gnu11 -O2 -g -I. -ffreestanding -fno-builtin -nostdinc \
	-isystem $(shell $(CC) -print-file-name=include) -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
	-fno-pic -fno-pie -fno-stack-protector -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-fno-strict-aliasing -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes
# Every source of the kernel's parts, but the one that runs in user mode (kernel/vdso/build.mk).
KERNEL_ROOMS := $(sort $(shell find boot kernel mm msg tasks -type d))
KERNEL_SOURCES := $(filter-out kernel/vdso/vdso.c,$(sort $(wildcard $(KERNEL_ROOMS:%=%/*.c))))
KERNEL_ASSEMBLY := $(sort $(wildcard $(KERNEL_ROOMS:%=%/*.S)))
KERNEL_OBJECTS := $(KERNEL_SOURCES:%.c=$(BUILD)/kernel/%.o) $(KERNEL_ASSEMBLY:%.S=$(BUILD)/kernel/%.S.o)
KERNEL_LINK := $(CC) -nostdlib -static -no-pie -Wl,-z,max-page-size=4096,--build-id=none,--no-warn-rwx-segments \
	-T boot/kettle.ld

.PHONY: all setup run debug iso test test-long check clean help
.DEFAULT_GOAL := all

all: setup ## build the kernel, the programs, the initramfs and the counting plugin
	+$(Q)$(MAKE) $(if $(Q),-s) --no-print-directory $(BUILD)/kettle.elf userland $(BUILD)/plugin/count.so

setup:
	$(Q)tools/setup

run: all ## boot 8 CPUs on 4 nodes as 8 kernels and run the tour
	$(Q)tools/kettle run --cpus 8 --nodes 4 --kernels core -- tour

debug: all ## gdb on kernel KERNEL (default 0) of the same machine
	$(Q)tools/kettle debug --kernel $(or $(KERNEL),0) --cpus 8 --nodes 4 -- tour

iso: all ## build/kettle.iso: boots in QEMU, in Bochs and on a PC with a serial port
	$(Q)tools/make-iso $(BUILD)/kettle.elf $(BUILD)/initramfs.cpio "kernels=core" $(BUILD)/kettle.iso
	@echo "built $(BUILD)/kettle.iso"

test: all ## every check and test
	$(Q)tools/run-tests

test-long: all ## the soaks: many boots, hours
	$(Q)tools/run-tests --long

clean: ## remove everything built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' $(filter %Makefile %.mk,$(MAKEFILE_LIST)) | expand -t 16

$(BUILD)/kernel/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(KERNEL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/kernel/%.S.o: %.S
	@mkdir -p $(@D)
	$(Q)$(CC) $(KERNEL_CFLAGS) -MMD -MP -c $< -o $@

# Linked twice: the table of symbols, which comes behind all code, is made from the first link.
$(BUILD)/kettle.elf: $(KERNEL_OBJECTS) boot/kettle.ld tools/make-symbols
	$(Q)tools/make-symbols >$(BUILD)/symbols.S
	$(Q)$(KERNEL_LINK) -o $(BUILD)/kettle-nosymbols.elf $(KERNEL_OBJECTS) $(BUILD)/symbols.S
	$(Q)tools/make-symbols $(BUILD)/kettle-nosymbols.elf >$(BUILD)/symbols.S
	$(Q)$(KERNEL_LINK) -o $@ $(KERNEL_OBJECTS) $(BUILD)/symbols.S
	@echo "built $@"

include kernel/vdso/build.mk
include userland/build.mk
include tools/plugin/build.mk
include tools/docs/build.mk
include tests/host.mk
-include tests/check.mk
-include $(KERNEL_OBJECTS:.o=.d)
