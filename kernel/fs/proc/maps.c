/* /proc/PID/maps: the areas of a process, as its home has them, in Linux's format. */
#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/fs/proc/process_text.h"
#include "kernel/fs/remote/remote.h"
#include "kernel/lib/string.h"
#include "kernel/vdso/pages.h"
#include "mm/area/area.h"
#include "mm/area/backing.h"
#include "mm/frame/heap.h"
#include "mm/retrieve/areas.h"
#include "mm/retrieve/wire.h"
#include "mm/space/wire.h"
#include "msg/slice.h"
#include "tasks/account/facts.h"
#include "tasks/program/program.h"

#define LINE_MAX 256u /* of a line without its name */
#define NAME_COLUMN 73u

struct maps {
    struct text *text;
    bool lines;
    proc_each_area *each; /* or NULL */
    void *context;
    uint64_t file; /* kernel and object of the file whose NAME and FACTS are cached, as a backing; 0: none */
    struct file_facts facts;
    char name[PATH_MAX + 1];
    uint64_t areas[MSG_MAX / sizeof(uint64_t)]; /* a reply of the home */
};

/* Neighbouring areas are often of the same file, so the last file's name and facts are cached. */
static int64_t find_file(struct maps *maps, uint64_t backing)
{
    uint64_t file = backing - backing_page(backing);
    int64_t error;

    if (file == maps->file)
        return 0;
    maps->file = 0;
    error = tree_ask_mapped(backing_kernel(backing), backing_object(backing), maps->name, sizeof(maps->name),
                            &maps->facts);
    if (error == 0)
        maps->file = file;
    return error;
}

static const char *name_of(const struct msg_space_area *area, const struct msg_space_areas *head)
{
    if (area->start < head->break_now && area->end > head->break_start)
        return "[heap]";
    return area->end == PROGRAM_STACK_TOP ? "[stack]" : "";
}

static int64_t put_line(struct maps *maps, const struct msg_space_area *area, const char *name, bool file)
{
    size_t start = maps->text->length;

    if (proc_text_grow(maps->text, LINE_MAX + strlen(name)) != 0)
        return -ENOMEM;
    text_put(maps->text, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu", (unsigned long)area->start,
             (unsigned long)area->end, (area->prot & AREA_READ) != 0 ? 'r' : '-',
             (area->prot & AREA_WRITE) != 0 ? 'w' : '-', (area->prot & AREA_EXEC) != 0 ? 'x' : '-',
             (area->prot & AREA_SHARED) != 0 ? 's' : 'p',
             (unsigned long)(file ? backing_page(area->backing) * PAGE_SIZE : 0),
             file ? (unsigned)(maps->facts.device >> 8) : 0, file ? (unsigned)(maps->facts.device & 0xff) : 0,
             (unsigned long)(file ? maps->facts.inode : 0));
    while (*name != '\0' && maps->text->length < start + NAME_COLUMN)
        text_put(maps->text, " ");
    text_put(maps->text, "%s\n", name);
    return 0;
}

static int64_t put_area(struct maps *maps, const struct msg_space_area *area, const struct msg_space_areas *head)
{
    bool vdso = backing_stays(area->backing);
    bool file = backing_is_file(area->backing) && !vdso;
    const char *name = vdso ? vdso_name(backing_page(area->backing)) : name_of(area, head);
    int64_t error = slice_check() ? -EINTR : file ? find_file(maps, area->backing) : 0;

    if (error != 0)
        return error;
    if (file)
        name = maps->name;
    if (maps->lines)
        error = put_line(maps, area, name, file);
    if (error == 0 && maps->each != NULL)
        maps->each(maps->context, area, name);
    return error;
}

/* True when AREA continues HELD, of memory without an object: the two are one area, of which a part is leased. */
static bool continues(const struct msg_space_area *held, const struct msg_space_area *area)
{
    return held->end == area->start && held->prot == area->prot && held->backing == BACKING_NONE &&
           area->backing == BACKING_NONE;
}

static int64_t put_areas(struct maps *maps, const struct process_facts *process)
{
    struct msg_space_areas *head = (struct msg_space_areas *)(void *)maps->areas;
    const struct msg_space_area *areas = (const struct msg_space_area *)(head + 1);
    struct msg_space_area held = {.end = 0}; /* the last area, which the next one may continue */
    uint64_t from = 0;
    int64_t error = 0;

    do {
        int length = space_areas_of(process->space, process->space_home, from, head);
        uint64_t count;

        if (length < 0)
            return length == -ENOMEM ? length : 0; /* it has ended: the file is empty, as a zombie's */
        count = ((uint64_t)length - sizeof(*head)) / sizeof(*areas);
        for (uint64_t i = 0; i < count && error == 0; i++) {
            if (continues(&held, &areas[i])) {
                held.end = areas[i].end;
                continue;
            }
            if (held.end != 0)
                error = put_area(maps, &held, head);
            held = areas[i];
        }
        if (head->next <= from)
            break;
        from = head->next;
    } while (error == 0);
    return error == 0 && held.end != 0 ? put_area(maps, &held, head) : error;
}

int64_t proc_write_maps(const struct proc_at *at, struct text *text)
{
    return proc_write_areas(at, text, true, NULL, NULL);
}

int64_t proc_write_areas(const struct proc_at *at, struct text *text, bool lines, proc_each_area *each, void *context)
{
    struct process_facts process;
    struct maps *maps;
    int64_t error = process_facts_of((uint32_t)at->keys[0], &process);

    if (error == -ESRCH)
        error = -ENOENT;
    if (error == 0)
        error = proc_text(text, LINE_MAX);
    if (error != 0 || process.space == 0)
        return error;
    maps = heap_alloc(sizeof(*maps));
    error = -ENOMEM;
    if (maps != NULL) {
        maps->text = text;
        maps->lines = lines;
        maps->each = each;
        maps->context = context;
        error = put_areas(maps, &process);
    }
    heap_free(maps, sizeof(*maps));
    if (error != 0)
        heap_free(text->bytes, text->size);
    return error;
}
