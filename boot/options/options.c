/* The boot command line. See the header. */
#include "boot/options/options.h"

#include "kernel/lib/string.h"

#define NUMBER_MAX (1ull << 63)

static const struct option_row rows[] = {
#define OPTION(name, fallback, values) {#name, fallback, values},
#include "boot/options/options.def"
#undef OPTION
};

/* A part of a text. */
struct slice {
    const char *start, *end;
};

static struct slice slice_of(const char *text)
{
    return (struct slice){text, text + strlen(text)};
}

static size_t length_of(struct slice slice)
{
    return (size_t)(slice.end - slice.start);
}

static bool equal(struct slice slice, const char *text)
{
    return strlen(text) == length_of(slice) && memcmp(text, slice.start, length_of(slice)) == 0;
}

/* Takes what TEXT has before its first SEPARATOR, or all, into *PART. Returns false when nothing was left to take;
 * *TEXT begins as a text that has been taken from never. */
static bool take(struct slice *text, char separator, struct slice *part)
{
    if (text->start == NULL)
        return false;
    *part = *text;
    for (part->end = part->start; part->end < text->end && *part->end != separator;)
        part->end++;
    text->start = part->end < text->end ? part->end + 1 : NULL;
    return true;
}

/* --- values --- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Takes a decimal number of at most NUMBER_MAX from the start of TEXT. */
static bool take_number(struct slice *text, uint64_t *number)
{
    const char *start = text->start;

    *number = 0;
    for (; text->start < text->end && *text->start >= '0' && *text->start <= '9'; text->start++) {
        if (*number > NUMBER_MAX / 10)
            return false;
        *number = *number * 10 + (uint64_t)(*text->start - '0');
    }
    return text->start != start && *number <= NUMBER_MAX;
}

/* Returns whether all of TEXT is of the form PART, which has neither '|' nor ','. */
static bool matches_part(struct slice part, struct slice text)
{
    while (part.start < part.end) {
        uint64_t from, to, number;

        if (is_upper(*part.start)) {
            const char *start = text.start;

            while (part.start < part.end && is_upper(*part.start))
                part.start++;
            while (text.start < text.end && *text.start != ',' && *text.start != ':')
                text.start++;
            if (text.start == start)
                return false;
        } else if (take_number(&part, &from)) {
            to = from;
            if (length_of(part) > 2 && part.start[0] == '.') {
                part.start += 2;
                take_number(&part, &to);
            }
            if (!take_number(&text, &number) || number < from || number > to)
                return false;
        } else if (text.start == text.end || *text.start++ != *part.start++) {
            return false;
        }
    }
    return text.start == text.end;
}

static bool matches_one(struct slice parts, struct slice text)
{
    struct slice part;

    while (take(&parts, ',', &part)) {
        if (matches_part(part, text))
            return true;
    }
    return false;
}

static bool matches_alternative(struct slice alternative, struct slice text)
{
    struct slice rest = alternative, part;
    bool all = true;

    take(&rest, ',', &part);
    if (part.end == alternative.end) /* no list */
        return matches_part(alternative, text);
    while (take(&text, ',', &part))
        all = all && matches_one(alternative, part);
    return all;
}

static bool matches(const char *values, struct slice text)
{
    struct slice rest = slice_of(values), alternative;

    while (take(&rest, '|', &alternative)) {
        if (matches_alternative(alternative, text))
            return true;
    }
    return false;
}

/* --- rows --- */

static const struct option_row *find_row(struct slice name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (equal(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

const struct option_row *option_row(const char *name)
{
    return find_row(slice_of(name));
}

bool option_valid(const char *name, const char *value)
{
    const struct option_row *row = option_row(name);

    return row != NULL && matches(row->values, slice_of(value));
}

uint32_t option_index(const char *name, const char *value)
{
    struct slice rest = slice_of(option_row(name)->values), word;
    uint32_t i = 0;

    while (take(&rest, '|', &word) && !equal(word, value))
        i++;
    return i;
}

/* --- the command line --- */

/* Takes the next word of *CMDLINE: NAME is what is before its first '=', VALUE what is behind it (start NULL: the word
 * has no '='). Returns false at the end. */
static bool next_word(const char **cmdline, struct slice *name, struct slice *value)
{
    const char *c = *cmdline;

    while (*c == ' ')
        c++;
    name->start = c;
    while (*c != '\0' && *c != ' ' && *c != '=')
        c++;
    name->end = c;
    value->start = *c == '=' ? c + 1 : NULL;
    while (*c != '\0' && *c != ' ')
        c++;
    value->end = c;
    *cmdline = c;
    return c != name->start;
}

/* Finds the value of the last word NAME=... */
static bool find(const char *cmdline, const char *name, struct slice *value)
{
    struct slice found, candidate;
    bool any = false;

    while (next_word(&cmdline, &found, &candidate)) {
        if (candidate.start != NULL && equal(found, name)) {
            *value = candidate;
            any = true;
        }
    }
    return any;
}

/* Returns the value that counts: that of the command line if it is valid, else the default. */
static struct slice effective(const char *cmdline, const char *name)
{
    const struct option_row *row = option_row(name);
    struct slice value;

    if (find(cmdline, name, &value) && matches(row->values, value))
        return value;
    return slice_of(row->fallback);
}

bool option_find(const char *cmdline, const char *name, char *value, size_t size)
{
    struct slice found;

    value[0] = '\0';
    if (!find(cmdline, name, &found) || length_of(found) >= size)
        return false;
    memcpy(value, found.start, length_of(found));
    value[length_of(found)] = '\0';
    return true;
}

bool option_is(const char *cmdline, const char *name, const char *word)
{
    return equal(effective(cmdline, name), word);
}

uint64_t option_number(const char *cmdline, const char *name)
{
    struct slice value = effective(cmdline, name);
    uint64_t number;

    return take_number(&value, &number) && value.start == value.end ? number : UINT64_MAX;
}

bool option_wrong(const char **cmdline, struct option_wrong *wrong)
{
    struct slice name, value, later;

    while (next_word(cmdline, &name, &value)) {
        wrong->row = value.start == NULL ? NULL : find_row(name);
        if (wrong->row == NULL) {
            *wrong = (struct option_wrong){NULL, name.start, length_of(name)};
            return true;
        }
        if (!find(*cmdline, wrong->row->name, &later) && !matches(wrong->row->values, value)) {
            *wrong = (struct option_wrong){wrong->row, value.start, length_of(value)};
            return true;
        }
    }
    return false;
}

bool option_parse_number(const char *text, uint64_t most, uint64_t *value)
{
    struct slice rest = slice_of(text);

    return take_number(&rest, value) && rest.start == rest.end && *value <= most;
}
