/* Writes text into a buffer. See the header. */
#include "kernel/fs/text/text.h"

#include <stdarg.h>

#include "kernel/lib/printf.h"

#define MASK_GROUP 32u /* bits between two commas of a mask */

void text_put(struct text *text, const char *format, ...)
{
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list args;

    va_start(args, format);
    text->length += (size_t)vsnprintf(text->bytes + text->length, room, format, args);
    va_end(args);
    if (text->length >= text->size)
        text->length = text->size - 1;
}

void text_put_mask(struct text *text, const uint64_t *bits, uint32_t count)
{
    uint32_t digits = (count + 3) / 4;

    while (digits-- > 0) {
        text_put(text, "%x", (uint32_t)(bits[digits / 16] >> digits % 16 * 4 & 15));
        if (digits > 0 && digits % (MASK_GROUP / 4) == 0)
            text_put(text, ",");
    }
}
