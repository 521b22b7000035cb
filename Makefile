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

# $(1): the result, without .elf; $(2): objects; $(3): the hash of what kernels share.
define link_kernel
	$(Q)tools/make-symbols $(3) >$(1)-symbols.S
	$(Q)$(KERNEL_LINK) -o $(1)-nosymbols.elf $(2) $(1)-symbols.S
	$(Q)tools/make-symbols $(3) $(1)-nosymbols.elf >$(1)-symbols.S
	$(Q)$(KERNEL_LINK) -o $(1).elf $(2) $(1)-symbols.S
	@echo "built $(1).elf"
endef
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))

.PHONY: all setup run debug iso test test-long check clean help
.DEFAULT_GOAL := all

all: setup ## build the kernel, the programs, the initramfs and QEMU's plugins
	+$(Q)$(MAKE) $(if $(Q),-s) --no-print-directory $(BUILD)/kettle.image userland $(BUILD)/plugin/count.so $(BUILD)/plugin/preempt.so

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
$(BUILD)/kettle.elf: $(KERNEL_OBJECTS) boot/kettle.ld tools/make-symbols tools/wire-hash
	$(Q)tools/wire-hash $(BUILD)/vdso/vdso.so >$(BUILD)/wire
	$(call link_kernel,$(basename $@),$(KERNEL_OBJECTS),$$(cat $(BUILD)/wire))

# The same kernel as a file from which a kernel of a running machine starts (kernel/machine/update.md).
$(BUILD)/kettle.image: $(BUILD)/kettle.elf
	$(Q)tools/make-image $< $@
	@echo "built $@"

# For tests: a kernel of the same objects, each at another place; and one that speaks another language.
$(BUILD)/moved.image: $(BUILD)/kettle.elf
	$(call link_kernel,$(basename $@),$(call reverse,$(KERNEL_OBJECTS)),$$(cat $(BUILD)/wire))
	$(Q)tools/make-image $(basename $@).elf $@
$(BUILD)/foreign.image: $(BUILD)/kettle.elf
	$(call link_kernel,$(basename $@),$(KERNEL_OBJECTS),0123456789abcdef)
	$(Q)tools/make-image $(basename $@).elf $@

include kernel/vdso/build.mk
include userland/build.mk
include tools/plugin/build.mk
include tools/docs/build.mk
include tests/host.mk
-include tests/check.mk
-include $(KERNEL_OBJECTS:.o=.d)
