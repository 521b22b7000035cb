/* An instance: its facts, and how it is built and started.
 *
 * Every instance is a private copy of the loaded image in its own memory, the first one included: boot_main builds
 * instance 0 and enters it, instance 0 builds the others later through the same functions. See boot/boot.md. */
#ifndef KERNEL_INSTANCE_INSTANCE_H
#define KERNEL_INSTANCE_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/acpi/acpi.h"
#include "boot/firmware/bootinfo.h"
#include "boot/plan/plan.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/image.h"

/* The chunk: contiguous memory in which an instance starts. Offsets are the same for all instances of a boot; an
 * instance of another image has that behind the chunk, which is longer then. */
struct chunk_layout {
    uint64_t image;   /* the copy of image_start to image_end */
    uint64_t stack;   /* STACK_SIZE bytes: the boot CPU's first stack */
    uint64_t channel; /* the rings this instance receives on; msg/ defines their layout */
    uint64_t pool;    /* frames for page tables, then free memory */
    uint64_t size;
};

/* The facts of this instance, filled by its builder in the .bss of its copy; [i] once the instance runs. */
struct instance {
    uint32_t kernel;    /* number of this instance */
    uint32_t kernels;   /* number of kernels in the plan */
    uint64_t root;      /* physical address of its kernel page tables */
    uint64_t image;     /* physical address of its copy of the image, of which the text may be missing */
    uint64_t text;      /* physical address of the text and constants that it runs: IMAGE, or another kernel's */
    uint64_t spare;     /* bytes at the start of its chunk that are free memory, as it does not use them; or 0 */
    uint64_t pool_next; /* physical: first unused frame of the chunk's pool */
    uint64_t pool_end;
    struct chunk_layout layout;
    struct clock_rates rates;
    uint64_t lapic_address;
    uint32_t ioapic_count;
    uint32_t override_count;
    struct acpi_ioapic ioapics[ACPI_IOAPIC_MAX];
    struct acpi_override overrides[ACPI_OVERRIDE_MAX];
    struct boot_module initramfs; /* size 0 when there is none; mapped by instance 0 only */
    char cmdline[BOOT_CMDLINE_MAX];
    struct plan plan;
};

extern struct instance instance;

/* The image from which an instance is built. */
struct image_template {
    const struct image_header *header;
    const uint8_t *bytes; /* where it can be read; NULL: it is behind the chunk already, and is not the booted one */
};

/* Computes the chunk's layout when the rings take CHANNEL_SIZE bytes. */
void chunk_layout_compute(uint64_t channel_size, struct chunk_layout *layout);

/* Returns the kernel whose copy of text and constants KERNEL runs, by FACTS: the option `text=`. */
uint32_t instance_text_owner(const struct instance *facts, uint32_t kernel);
/* Bytes of this instance's image that it has from another kernel: its text and constants, or none. */
uint64_t instance_text_shared(void);
/* Bytes behind the chunk of KERNEL that an image may take; its memory there is used by nobody while it does not run. */
uint64_t instance_room(const struct plan *plan, uint32_t kernel);

/* Builds the instance KERNEL in its chunk, which is mapped writable at CHUNK: zeroes it, copies the image, makes page
 * tables that map the copy (text read-execute, constants read-only, the rest without execute), the chunk in the
 * direct map and nothing else, and fills its struct instance from FACTS with its own number and tables. Of the image of
 * a kernel that runs another's text only the data are copied; the caller has put the text at the start of the owner's
 * chunk. Pages of text that are there already are not written: kernels that run them do not notice. An image
 * that is behind the chunk, which is mapped, too, stays there and is used whole: of the chunk the instance then leaves
 * the place of the booted image alone if others run its text, and has it as free memory if not.
 * Returns the physical address of its page tables and, in *STACK, the stack for its start slot.
 * Panics when the chunk's pool is too small, which the layout rules out. */
uint64_t instance_build(const struct instance *facts, uint32_t kernel, uint8_t *chunk,
                        const struct image_template *image, uint64_t *stack);

/* Fills CPU's start slot and wakes it with INIT and two STARTUPs (Intel SDM 3A, 8.4.4.1). Returns
 * true when the CPU has left the trampoline within five seconds; otherwise stops the CPU and returns false. */
bool instance_start_cpu(uint32_t cpu, uint64_t root, uint64_t stack);

/* Functions that boot/ calls and parts above it implement: the first function of an instance, which runs on its boot
 * CPU and on the stack that its builder made; and the size in bytes of the rings of an instance in a machine of KERNELS
 * instances with boot options CMDLINE. */
void kernel_main(void *unused);
uint64_t msg_channel_size(uint32_t kernels, const char *cmdline);

/* Bounds of the image, from the linker script. */
extern uint8_t image_start[], image_text_end[], image_rodata_end[], image_data_end[], image_end[];

#endif
