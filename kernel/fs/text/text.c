/* Text into a buffer. See the header. */
#include "kernel/fs/text/text.h"

#include <stdarg.h>

#include "kernel/lib/printf.h"

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
