/* Text written into a buffer of fixed size. Text that does not fit is cut off. */
#ifndef KERNEL_FS_TEXT_TEXT_H
#define KERNEL_FS_TEXT_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t size;
    size_t length; /* always less than SIZE */
};

/* Appends formatted text, as printf does. */
void text_put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends the first COUNT bits as hexadecimal digits, in groups of 32 bits that commas separate. */
void text_put_mask(struct text *text, const uint64_t *bits, uint32_t count);

#endif
