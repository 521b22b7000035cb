/* Opens and grants that are accounted for. See the header.
 *
 * An open of a file is held by a place in a descriptor table of its kernel, by a packet in a socket there, by the
 * listener whose connection it is until that is accepted, by a proxy on another kernel, or by its kernel itself
 * (file_kind.owned); a grant of an object, by a home that has areas of it.
 * While programs are quiesced nobody else has any, and none is under way: every request has been answered. */
#include "kernel/file/move/references.h"

#include "kernel/abi/errno.h"
#include "kernel/file/file.h"
#include "kernel/file/table.h"
#include "kernel/fs/node/map.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/socket.h"
#include "mm/area/backing.h"
#include "mm/audit/audit.h"
#include "mm/file/hold.h"
#include "msg/slice.h"
#include "tasks/freeze/freeze.h"
#include "tasks/process/group.h"
#include "tasks/remote/operation.h"

#define WORDS_AT_ONCE 512u
#define GRANTS_SHIFT 32 /* of a word of HOLDS: the object, and below that how many grants */

/* PROXIES: ids of files; HOLDS: objects and grants of them */
struct msg_references {
    uint64_t from; /* how many to leave out */
};

/* --- asking --- */

/* Calls EACH for every word that KERNEL answers to messages of TYPE. */
static int ask(uint32_t kernel, enum msg_type type, void (*each)(uint64_t word, void *context), void *context)
{
    static uint64_t words[WORDS_AT_ONCE]; /* a step or an audit at a time, which asks one kernel at a time */
    struct remote_how how = {.why = "what it has of others", .key = kernel, .sure = true};
    struct msg_references asked = {.from = 0};
    int length;

    do {
        length = remote_call(kernel, type, &asked, sizeof(asked), words, sizeof(words), &how);
        for (uint32_t i = 0; length > 0 && i < (uint32_t)length / sizeof(*words); i++)
            each(words[i], context);
        slice_check();
        asked.from += WORDS_AT_ONCE;
    } while (length == (int)sizeof(words));
    return length < 0 ? length : 0;
}

/* --- answering --- */

struct listing {
    uint32_t kernel, count;
    uint64_t skip;
    uint64_t *words;
};

static void list_word(struct listing *listing, uint64_t word)
{
    if (listing->count == WORDS_AT_ONCE)
        return;
    if (listing->skip > 0)
        listing->skip--;
    else
        listing->words[listing->count++] = word;
}

static void list_proxy(struct file *file, void *context)
{
    struct listing *listing = context;

    if (file->kernel == listing->kernel)
        list_word(listing, file->id);
}

static uint64_t hold_word(uint64_t backing, const struct file_held *held)
{
    return (uint64_t)backing_object(backing) << GRANTS_SHIFT | held->granted;
}

static void list_hold(void *context, uint64_t backing, const struct file_held *held)
{
    struct listing *listing = context;

    if (backing_kernel(backing) == listing->kernel && held->granted != 0)
        list_word(listing, hold_word(backing, held) + (audit_lies_of_grants() && listing->count == 0 ? 1 : 0));
}

static int room_for_words(const struct remote_request *request)
{
    (void)request;
    return WORDS_AT_ONCE * sizeof(uint64_t);
}

static struct listing listing_for(const struct remote_request *request, void *result)
{
    const struct msg_references *asked = request->data;

    return (struct listing){.kernel = request->kernel, .skip = asked->from, .words = result};
}

static int run_proxies(const struct remote_request *request, void *result)
{
    struct listing listing = listing_for(request, result);

    if (!freeze_active())
        return -EPROTO;
    listing.skip += audit_lies_of_opens() ? 1 : 0;
    file_proxies_each(list_proxy, &listing);
    return (int)(listing.count * sizeof(uint64_t));
}

static int run_holds(const struct remote_request *request, void *result)
{
    struct listing listing = listing_for(request, result);

    if (!freeze_active())
        return -EPROTO;
    file_hold_look(list_hold, &listing);
    return (int)(listing.count * sizeof(uint64_t));
}

/* --- opens --- */

static void forget_count(struct file *file, void *context)
{
    (void)context;
    file->counted = file->kind != NULL && file->kind->owned ? 1 : 0;
}

static void count_place(struct file *file)
{
    if (file != NULL)
        file->counted++;
}

static void count_of_socket(struct file *file, void *context)
{
    (void)context;
    count_place(file);
}

static bool forget_table(struct group *group, void *context)
{
    struct file_table *table = group->files;

    (void)context;
    slice_check();
    if (table != NULL)
        table->descriptors->counted = table->directories->counted_directories = false;
    return true;
}

/* Tables may share descriptors or directories: these are counted once. */
static bool count_table(struct group *group, void *context)
{
    struct file_table *table = group->files, *part;

    (void)context;
    if (table == NULL)
        return true;
    part = table->descriptors;
    for (uint32_t fd = 0; fd < part->size && !part->counted; fd++) {
        count_place(part->slots[fd].file);
        slice_check();
    }
    part->counted = true;
    part = table->directories;
    if (!part->counted_directories) {
        count_place(part->directory);
        count_place(part->root);
    }
    part->counted_directories = true;
    count_place(table->executable);
    return true;
}

/* A proxy of another kernel. The file may be one of this kernel's former life. */
static void count_proxy(uint64_t id, void *context)
{
    struct file *file = file_find(id);

    (void)context;
    if (file == NULL)
        return;
    file->counted++;
    file_unpin(file);
}

int references_count_opens(kernel_set others)
{
    int error = 0;

    file_each(forget_count, NULL);
    file_proxies_each(forget_count, NULL);
    group_each_still(forget_table, NULL);
    group_each_still(count_table, NULL);
    socket_files_each(count_of_socket, NULL);
    for (; others != 0 && error == 0; others &= others - 1)
        error = ask((uint32_t)__builtin_ctzll(others), MSG_PROXIES, count_proxy, NULL);
    return error;
}

/* --- grants --- */

static void note_word(uint64_t word, void *context)
{
    (void)context;
    node_maps_note_held((uint32_t)(word >> GRANTS_SHIFT), (uint32_t)word);
}

static void note_own(void *context, uint64_t backing, const struct file_held *held)
{
    if (backing_kernel(backing) == instance.kernel)
        note_word(hold_word(backing, held), context);
}

/* Has KERNEL, which of all but OTHERS and this one has nothing, say what it holds of the objects here. */
static int note_holds(uint32_t kernel, kernel_set others)
{
    node_maps_forget_held();
    if (kernel == instance.kernel)
        file_hold_each(note_own, NULL);
    else if ((others >> kernel & 1) != 0)
        return ask(kernel, MSG_HOLDS, note_word, NULL);
    return 0;
}

int references_take_grants(kernel_set others, int64_t *taken)
{
    int error = 0;

    for (uint32_t k = 0; k < instance.kernels && error == 0 && node_maps_any(); k++) {
        error = note_holds(k, others);
        if (error == 0)
            error = node_maps_take_back(k, taken);
        slice_check();
    }
    return error;
}

/* --- the audit --- */

static void check_opens(struct file *file, void *context)
{
    if (file->opens != file->counted)
        audit_violation(context, AUDIT_OPENS,
                        "file %lx of kernel %u is open %u times on kernel %u, %u are accounted for",
                        (unsigned long)file->id, file->kernel, file->opens, instance.kernel, file->counted);
}

struct checking {
    struct audit_report *report;
    uint32_t kernel;
};

static void check_grants(void *context, uint32_t object, uint32_t granted, uint32_t held)
{
    const struct checking *checking = context;

    audit_violation(checking->report, AUDIT_GRANTS, "kernel %u was granted object %u of kernel %u %u times and has %u",
                    checking->kernel, object, instance.kernel, granted, held);
}

int references_audit(kernel_set others, struct audit_report *report)
{
    int error = references_count_opens(others);

    if (error == 0) {
        file_each(check_opens, report);
        file_proxies_each(check_opens, report);
    }
    for (uint32_t k = 0; k < instance.kernels && error == 0 && node_maps_any(); k++) {
        struct checking checking = {report, k};

        error = note_holds(k, others);
        if (error == 0)
            node_maps_each_wrong(k, check_grants, &checking);
        slice_check();
    }
    return error;
}

void references_init(void)
{
    /* Steps of a clean-up wait for them. */
    REMOTE_SERVE_TASK(PROXIES, WORK_LEAF, run_proxies, room_for_words, struct msg_references, struct msg_none);
    REMOTE_SERVE_TASK(HOLDS, WORK_LEAF, run_holds, room_for_words, struct msg_references, struct msg_none);
}
