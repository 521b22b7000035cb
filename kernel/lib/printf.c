/* Formatted text into a buffer (the subset named in the header; anything else is copied unchanged). */
#include "kernel/lib/printf.h"

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/string.h"

struct sink {
    char *text;
    size_t size;
    size_t length; /* of the whole text, including the part that did not fit */
};

struct spec {
    bool left, zero;
    size_t width;
    size_t precision; /* SIZE_MAX: none given */
};

static void put(struct sink *sink, char byte)
{
    if (sink->length + 1 < sink->size)
        sink->text[sink->length] = byte;
    sink->length++;
}

static void put_padded(struct sink *sink, const char *text, size_t length, const struct spec *spec)
{
    size_t pad = spec->width > length ? spec->width - length : 0;

    if (!spec->left) {
        for (; pad > 0; pad--)
            put(sink, ' ');
    }
    for (size_t i = 0; i < length; i++)
        put(sink, text[i]);
    for (; pad > 0; pad--)
        put(sink, ' ');
}

static void put_number(struct sink *sink, uint64_t value, unsigned base, const char *prefix, bool upper,
                       const struct spec *spec)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[32];
    size_t start = sizeof(text);
    size_t length = strlen(prefix);
    struct spec rest = *spec; /* for what follows the zeros */

    do {
        text[--start] = digits[value % base];
        value /= base;
    } while (value != 0);
    if (spec->zero && !spec->left) {
        put_padded(sink, prefix, length, &(struct spec){.width = 0});
        for (length += sizeof(text) - start; length < spec->width; length++)
            put(sink, '0');
        rest.width = 0;
    } else {
        for (start -= length; length > 0; length--)
            text[start + length - 1] = prefix[length - 1];
    }
    put_padded(sink, text + start, sizeof(text) - start, &rest);
}

static size_t parse_number(const char **format)
{
    size_t value = 0;

    while (**format >= '0' && **format <= '9')
        value = value * 10 + (size_t)(*(*format)++ - '0');
    return value;
}

/* A number of the lengths that LONGS counts (-1: short, -2: char), converted as C does. */
static int64_t take_signed(va_list *args, int longs)
{
    int value;

    if (longs > 0)
        return va_arg(*args, int64_t);
    value = va_arg(*args, int);
    return longs == 0 ? value : longs == -1 ? (int16_t)value : (int8_t)value;
}

static uint64_t take_unsigned(va_list *args, int longs)
{
    unsigned value;

    if (longs > 0)
        return va_arg(*args, uint64_t);
    value = va_arg(*args, unsigned);
    return longs == 0 ? value : longs == -1 ? (uint16_t)value : (uint8_t)value;
}

int vsnprintf(char *text, size_t size, const char *format, va_list args)
{
    struct sink sink = {.text = text, .size = size};
    va_list rest; /* a parameter of this type may be a pointer, whose address is of no use */

    va_copy(rest, args);

    for (; *format != '\0'; format++) {
        struct spec spec = {.precision = SIZE_MAX};
        int longs = 0;

        if (*format != '%') {
            put(&sink, *format);
            continue;
        }
        format++;
        for (;; format++) {
            if (*format == '-')
                spec.left = true;
            else if (*format == '0')
                spec.zero = true;
            else
                break;
        }
        if (*format == '*') {
            int width = va_arg(rest, int);

            spec.left = spec.left || width < 0;
            spec.width = width < 0 ? 0 - (size_t)width : (size_t)width;
            format++;
        } else {
            spec.width = parse_number(&format);
        }
        if (*format == '.') {
            format++;
            if (*format == '*') {
                int precision = va_arg(rest, int);

                spec.precision = precision < 0 ? SIZE_MAX : (size_t)precision;
                format++;
            } else {
                spec.precision = parse_number(&format);
            }
        }
        for (; *format == 'l' || *format == 'z' || *format == 'h'; format++)
            longs += *format == 'h' ? -1 : 1;

        switch (*format) {
        case 'd':
        case 'i': {
            int64_t value = take_signed(&rest, longs);
            uint64_t size_of_value = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

            put_number(&sink, size_of_value, 10, value < 0 ? "-" : "", false, &spec);
            break;
        }
        case 'u':
        case 'x':
        case 'X':
            put_number(&sink, take_unsigned(&rest, longs), *format == 'u' ? 10 : 16, "", *format == 'X', &spec);
            break;
        case 'p':
            put_number(&sink, (uint64_t)(uintptr_t)va_arg(rest, void *), 16, "0x", false, &spec);
            break;
        case 'c': {
            char byte = (char)va_arg(rest, int);

            put_padded(&sink, &byte, 1, &spec);
            break;
        }
        case 's': {
            const char *s = va_arg(rest, const char *);

            if (s == NULL)
                s = "(null)";
            put_padded(&sink, s, spec.precision == SIZE_MAX ? strlen(s) : strnlen(s, spec.precision), &spec);
            break;
        }
        case '%':
            put(&sink, '%');
            break;
        case '\0':
            format--; /* a lone % at the end */
            break;
        default:
            put(&sink, '%');
            put(&sink, *format);
            break;
        }
    }
    va_end(rest);
    if (size > 0)
        text[sink.length < size ? sink.length : size - 1] = '\0';
    return (int)sink.length;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, size, format, args);
    va_end(args);
    return length;
}
