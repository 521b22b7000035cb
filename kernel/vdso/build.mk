# build/vdso/vdso.so: one page of code for programs, which the kernel's image includes. Included by the top Makefile.
VDSO_CFLAGS := -std=gnu11 -O2 -I. -ffreestanding -nostdinc -isystem $(shell $(CC) -print-file-name=include) -fPIC \
	-mno-sse -mgeneral-regs-only -fno-stack-protector -fasynchronous-unwind-tables -fcf-protection=none \
	-Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes
VDSO_LINK := $(CC) -shared -nostdlib -Wl,-soname,linux-vdso.so.1 -Wl,--hash-style=both,-Bsymbolic,--eh-frame-hdr \
	-Wl,--build-id=sha1,-z,max-page-size=4096,-z,noexecstack -Wl,-T,kernel/vdso/vdso.lds

$(BUILD)/vdso/vdso.o: kernel/vdso/vdso.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(VDSO_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/vdso/vdso.full.so: $(BUILD)/vdso/vdso.o kernel/vdso/vdso.lds
	$(Q)$(VDSO_LINK) -o $@ $<

$(BUILD)/vdso/vdso.so: $(BUILD)/vdso/vdso.full.so
	$(Q)objcopy -S $< $@
	@[ $$(stat -c %s $@) -le 4096 ] || { echo "$@ is larger than a page"; rm $@; exit 1; }

$(BUILD)/kernel/kernel/arch/x86_64/vdso_image.S.o: KERNEL_CFLAGS += -Wa,-I$(BUILD)
$(BUILD)/kernel/kernel/arch/x86_64/vdso_image.S.o: $(BUILD)/vdso/vdso.so
-include $(BUILD)/vdso/vdso.d
$(BUILD)/host/tests/kernel/vdso/vdso_test: | $(BUILD)/vdso/vdso.so
