/* The boot option share=. See the header. */
#include "kernel/fs/share/option.h"

#include "kernel/lib/string.h"

static bool copy(char *to, size_t room, const char *from, size_t length)
{
    if (length == 0 || length >= room)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

static size_t part(const char *text, size_t length)
{
    size_t size = 0;

    while (size < length && text[size] != ':')
        size++;
    return size;
}

static bool parse(const char *text, size_t length, struct share_option *out)
{
    size_t tag = part(text, length), directory;

    if (tag == length || !copy(out->tag, sizeof(out->tag), text, tag))
        return false;
    text += tag + 1;
    length -= tag + 1;
    directory = part(text, length);
    if (!copy(out->directory, sizeof(out->directory), text, directory) || out->directory[0] != '/')
        return false;
    out->read_only = directory != length;
    return !out->read_only || (length - directory == 3 && memcmp(text + directory, ":ro", 3) == 0);
}

int share_option_next(const char **text, struct share_option *out)
{
    const char *from = *text;
    size_t length = 0;

    if (*from == '\0')
        return 0;
    while (from[length] != '\0' && from[length] != ',')
        length++;
    *text = from + length + (from[length] == ',' ? 1 : 0);
    memset(out, 0, sizeof(*out));
    if (parse(from, length, out))
        return 1;
    memset(out, 0, sizeof(*out));
    return -1;
}
