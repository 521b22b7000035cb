/* Text that is written into a buffer; what does not fit is cut. */
#ifndef KERNEL_FS_TEXT_TEXT_H
#define KERNEL_FS_TEXT_TEXT_H

#include <stddef.h>

struct text {
    char *bytes;
    size_t size;
    size_t length; /* below SIZE */
};

/* As printf. */
void text_put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
