/* Scripts. See the header. As on Linux (fs/binfmt_script.c), only the first 255 bytes of the first line count, and
 * everything behind the interpreter's name is one argument. The script's name and its arguments without the first
 * follow. */
#include "kernel/exec/script.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define LINE_MAX 256u
#define NESTED_MAX 5u

struct line {
    char interpreter[LINE_MAX];
    char argument[LINE_MAX]; /* or "" */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Parses the first line of DATA, which begins with "#!". -ENOEXEC. */
static int parse(const char *data, size_t size, struct line *line)
{
    size_t end = 2, at = 2, length;

    while (end < size && end < LINE_MAX - 1 && data[end] != '\n' && data[end] != '\0')
        end++;
    while (end > at && is_blank(data[end - 1]))
        end--;
    while (at < end && is_blank(data[at]))
        at++;
    for (length = 0; at + length < end && !is_blank(data[at + length]); length++)
        continue;
    if (length == 0 || at + length == LINE_MAX - 1)
        return -ENOEXEC; /* no name, or a name that does not end within the line's limit */
    memcpy(line->interpreter, data + at, length);
    line->interpreter[length] = '\0';
    for (at += length; at < end && is_blank(data[at]); at++)
        continue;
    memcpy(line->argument, data + at, end - at);
    line->argument[end - at] = '\0';
    return 0;
}

static size_t put(char *to, const char *text)
{
    size_t size = strlen(text) + 1;

    memcpy(to, text, size);
    return size;
}

/* Replaces SCRIPT's strings by those with which LINE's interpreter runs PATH. -ENOMEM, -E2BIG. */
static int rewrite(const struct line *line, const char *path, struct script *script)
{
    const struct exec_strings *old = &script->strings;
    size_t first = old->argc > 0 ? exec_string_size(old->argv) : 0;
    size_t size = 2 * (size_t)LINE_MAX + strlen(path) + 1 + old->argv_size - first + old->envp_size;
    struct exec_strings strings = {.envc = old->envc, .envp_size = old->envp_size};
    char *memory = size <= EXEC_STRINGS_MAX ? heap_alloc_unset(size) : NULL;
    size_t used;

    if (memory == NULL)
        return size <= EXEC_STRINGS_MAX ? -ENOMEM : -E2BIG;
    used = put(memory, line->interpreter);
    if (line->argument[0] != '\0')
        used += put(memory + used, line->argument);
    used += put(memory + used, path);
    exec_strings_copy(memory + used, old->argv + first, old->argv_size - first);
    used += old->argv_size - first;
    exec_strings_copy(memory + used, old->envp, old->envp_size);
    strings.argv = memory;
    strings.argv_size = used;
    strings.argc = old->argc - (old->argc > 0 ? 1 : 0) + 2 + (line->argument[0] != '\0' ? 1 : 0);
    strings.envp = memory + used;
    heap_free(script->memory, script->size);
    *script = (struct script){.strings = strings, .memory = memory, .size = size};
    return 0;
}

static int parse_first(const struct elf_file *file, struct line *line)
{
    char text[LINE_MAX];
    size_t size = file->size < sizeof(text) ? file->size : sizeof(text);

    elf_file_read(file, 0, text, size);
    return parse(text, size, line);
}

static bool is_script(const struct loaded *loaded)
{
    char begin[2];

    if (loaded->file.size < sizeof(begin))
        return false;
    elf_file_read(&loaded->file, 0, begin, sizeof(begin));
    return begin[0] == '#' && begin[1] == '!';
}

int script_load(struct group *group, const struct name *name, const struct exec_strings *strings, struct loaded *loaded,
                struct script *script)
{
    struct line *line = NULL;
    char *path = NULL; /* of the previous script, which the file loaded now interprets */
    int error = file_load(group, name, loaded);

    *script = (struct script){.strings = *strings};
    for (uint32_t depth = 0; error == 0 && is_script(loaded); depth++) {
        if (line == NULL)
            line = heap_alloc(sizeof(*line));
        if (line == NULL)
            error = -ENOMEM;
        else if (depth == NESTED_MAX)
            error = -ELOOP;
        else
            error = parse_first(&loaded->file, line);
        if (error == 0)
            error = rewrite(line, depth == 0 ? name->path : path, script);
        if (error != 0)
            break;
        heap_free(path, LINE_MAX);
        path = heap_alloc(LINE_MAX);
        if (path == NULL) {
            error = -ENOMEM;
            break;
        }
        memcpy(path, line->interpreter, LINE_MAX);
        file_unload(loaded);
        error = file_load(group, &(struct name){NAME_WORKING_DIRECTORY, path}, loaded);
    }
    heap_free(line, sizeof(*line));
    heap_free(path, LINE_MAX);
    return error;
}

void script_free(struct script *script)
{
    heap_free(script->memory, script->size);
    script->memory = NULL;
}
