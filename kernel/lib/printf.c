/* Formatted text into a buffer (the subset named in the header; anything else is copied as it stands). */
#include "kernel/lib/printf.h"

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/string.h"

struct sink {
    char *text;
    size_t size;
    size_t length; /* of the whole text, also of what did not fit */
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
    char text[80];
    char reversed[24];
    size_t count = 0, length = 0, prefix_length = strlen(prefix);

    do {
        reversed[count++] = digits[value % base];
        value /= base;
    } while (value != 0);
    for (size_t i = 0; i < prefix_length; i++)
        text[length++] = prefix[i];
    if (spec->zero && !spec->left) {
        while (length + count < spec->width && length + count < sizeof(text))
            text[length++] = '0';
    }
    while (count > 0)
        text[length++] = reversed[--count];
    put_padded(sink, text, length, spec);
}

static size_t parse_number(const char **format)
{
    size_t value = 0;

    while (**format >= '0' && **format <= '9')
        value = value * 10 + (size_t)(*(*format)++ - '0');
    return value;
}

int vsnprintf(char *text, size_t size, const char *format, va_list args)
{
    struct sink sink = {.text = text, .size = size};

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
            spec.width = (size_t)va_arg(args, int);
            format++;
        } else {
            spec.width = parse_number(&format);
        }
        if (*format == '.') {
            format++;
            if (*format == '*') {
                spec.precision = (size_t)va_arg(args, int);
                format++;
            } else {
                spec.precision = parse_number(&format);
            }
        }
        for (; *format == 'l' || *format == 'z' || *format == 'h'; format++) {
            if (*format != 'h')
                longs++;
        }

        switch (*format) {
        case 'd':
        case 'i': {
            int64_t value = longs > 0 ? va_arg(args, int64_t) : va_arg(args, int);
            uint64_t size_of_value = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

            put_number(&sink, size_of_value, 10, value < 0 ? "-" : "", false, &spec);
            break;
        }
        case 'u':
        case 'x':
        case 'X': {
            uint64_t value = longs > 0 ? va_arg(args, uint64_t) : va_arg(args, unsigned);

            put_number(&sink, value, *format == 'u' ? 10 : 16, "", *format == 'X', &spec);
            break;
        }
        case 'p':
            put_number(&sink, (uint64_t)(uintptr_t)va_arg(args, void *), 16, "0x", false, &spec);
            break;
        case 'c': {
            char byte = (char)va_arg(args, int);

            put_padded(&sink, &byte, 1, &spec);
            break;
        }
        case 's': {
            const char *s = va_arg(args, const char *);

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
