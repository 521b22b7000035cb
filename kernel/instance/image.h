/* The header of a kernel image, which is at IMAGE_HEADER from its first byte on, in its text. tools/make-symbols writes
 * it. By it a kernel decides whether it may build an instance from an image that it was not booted from:
 * kernel/machine/update.md. */
#ifndef KERNEL_INSTANCE_IMAGE_H
#define KERNEL_INSTANCE_IMAGE_H

#include <stdint.h>

#define IMAGE_HEADER 64u /* bytes before it: the code by which a CPU enters the image (boot/trampoline.S) */
#define IMAGE_MAGIC 0x31656c7474656b2eull

struct image_header { /* addresses are virtual, but for BOOT_PAGE */
    uint64_t magic;
    uint64_t wire;          /* what its messages and shared structures look like: tools/wire-hash */
    uint64_t build;         /* of its own bytes; differs between any two builds that differ */
    uint64_t start;         /* the image's first byte */
    uint64_t text_end;      /* page aligned, as START */
    uint64_t constants_end; /* page aligned */
    uint64_t data_end;      /* what is in a file ends here */
    uint64_t end;           /* page aligned */
    uint64_t instance;      /* its struct instance */
    uint64_t main;          /* the function that an instance runs */
    uint64_t boot_page;     /* physical */
};

/* This kernel's own. */
extern const struct image_header image_header;

static inline uint64_t image_size(const struct image_header *image)
{
    return image->end - image->start;
}

/* Bytes of text and constants, whole pages: the first part of the image. */
static inline uint64_t image_constants_size(const struct image_header *image)
{
    return image->constants_end - image->start;
}

#endif
