/* Text that is written into a buffer; what does not fit is cut. */
#ifndef KERNEL_FS_TEXT_TEXT_H
#define KERNEL_FS_TEXT_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t size;
    size_t length; /* below SIZE */
};

/* As printf. */
void text_put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first COUNT bits as hexadecimal digits, in groups of 32. */
void text_put_mask(struct text *text, const uint64_t *bits, uint32_t count);

#endif
