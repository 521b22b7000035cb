/* What the home of a descriptor table tells other kernels of it, and how long that lasts, while other CPUs change it.
 * sources: kernel/file/home.c kernel/file/table.c kernel/file/descriptor.c kernel/file/rule.c */
#include "kernel/file/home.h"

#include <stdlib.h>

#include "kernel/file/anonymous.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/file.h"
#include "kernel/file/lock.h"
#include "kernel/file/operation.h"
#include "kernel/file/root.h"
#include "kernel/file/table.h"
#include "kernel/file/table_share.h"
#include "kernel/instance/instance.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define ELSEWHERE 2u

struct instance instance = {.kernels = 4};

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    abort(); /* no slice is ever over */
}

static struct file_table *table;
static struct file files[2]; /* of another kernel */
static int current;          /* which of them descriptor 0 is */
static uint64_t changes;     /* the count of the table's descriptors */
static void (*meanwhile)(void);

uint16_t descriptor_cache_count_new(void)
{
    return 7;
}

void descriptor_cache_changed(uint16_t count)
{
    CHECK_EQ(count, 7);
    changes++;
}

/* Another CPU is faster than who reads the count, each time. */
uint64_t descriptor_cache_stamp(uint16_t count)
{
    CHECK_EQ(count, 7);
    if (meanwhile != NULL)
        meanwhile();
    return changes;
}

void file_open_again(struct file *file)
{
    file->opens++;
}

void file_close(struct file *file)
{
    CHECK(file->opens > 0);
    file->opens--;
}

void root_changed(void)
{
}

void file_table_part(struct file_table *part)
{
    (void)part; /* nothing is shared here */
}

/* Not called here. */
void file_free(struct file *file)
{
    (void)file;
    CHECK(false);
}

struct file *file_find(uint64_t id)
{
    (void)id;
    CHECK(false);
    return NULL;
}

struct file *file_create_proxy(uint32_t kernel, uint64_t id)
{
    (void)kernel;
    (void)id;
    CHECK(false);
    return NULL;
}

int64_t file_do(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                size_t room, struct file_answer *answer)
{
    (void)file;
    (void)request;
    (void)data;
    (void)size;
    (void)result;
    (void)room;
    (void)answer;
    CHECK(false);
    return 0;
}

int64_t anonymous_add(struct file_table *of, enum anonymous what, uint32_t flags, const void *data, size_t size,
                      void *result, size_t room)
{
    (void)of;
    (void)what;
    (void)flags;
    (void)data;
    (void)size;
    (void)result;
    (void)room;
    CHECK(false);
    return 0;
}

void file_unlock(uint32_t kernel, uint64_t id, uint32_t process)
{
    (void)kernel;
    (void)id;
    (void)process;
    CHECK(false);
}

void file_unlock_later(struct file *file, uint32_t process)
{
    (void)file;
    (void)process;
    CHECK(false);
}

static void begin(void (*change)(void))
{
    heap_objects = 0;
    instance.kernel = 0;
    table = file_table_new();
    for (uint32_t i = 0; i < 2; i++)
        files[i] = (struct file){.id = 10 + i, .kernel = ELSEWHERE, .pins = 1};
    current = 0;
    files[0].opens++;
    CHECK_EQ(table_add(table, &files[0], 0, 0), 0);
    meanwhile = change;
}

static void end(void)
{
    file_table_free(table);
    CHECK_EQ(heap_objects, 0);
}

/* Asks for descriptor 0's file, by an operation on it or by FILE_LOCATE. Returns its id. */
static uint64_t ask(uint32_t operation, struct file_answer *answer)
{
    struct file_request request = {.operation = operation};
    struct file_place place = {.id = 0};
    int32_t fd = 0;

    if (operation == MSG_FILE_LOCATE)
        CHECK_EQ(home_do(table, &request, &fd, sizeof(fd), &place, sizeof(place), answer), sizeof(place));
    else
        home_do(table, &request, NULL, 0, NULL, 0, answer);
    return operation == MSG_FILE_LOCATE ? place.id : answer->id;
}

/* Whether the asker may keep ANSWER, and finds the count that goes with it. */
static bool lasts(const struct file_answer *answer)
{
    return (answer->flags & FILE_STAMPED) != 0 && answer->seen == changes;
}

static const uint32_t operations[] = {MSG_FILE_READ, MSG_FILE_LOCATE};

/* Descriptor 0 is the other file. */
static void replace(void)
{
    current = !current;
    files[current].opens++;
    CHECK_EQ(table_close(table, 0), 0);
    CHECK_EQ(table_add(table, &files[current], 0, 0), 0);
}

TEST(home_lasts, "an answer lasts until the descriptor is replaced")
{
    struct file_answer answer;

    for (int i = 0; i < 2; i++) {
        begin(NULL);
        CHECK_EQ(ask(operations[i], &answer), 10);
        CHECK(lasts(&answer) && (i != 0 || (answer.flags & FILE_ELSEWHERE) != 0));
        replace();
        CHECK(!lasts(&answer));
        end();
    }
}

TEST(home_replaced, "a file that was looked up before its descriptor was replaced is not kept for the new one")
{
    struct file_answer answer;

    for (int i = 0; i < 2; i++) {
        begin(replace);
        CHECK(ask(operations[i], &answer) == files[current].id || !lasts(&answer));
        end();
    }
}

static void leave(void)
{
    __atomic_store_n(&table->left, true, __ATOMIC_RELEASE);
    changes++;
}

static void limit(void)
{
    file_table_limit(table, TABLE_MAX, 4096);
}

TEST(home_overtaken, "an answer is not kept if its process has left the table, or got a limit, while it was made")
{
    struct file_answer answer;

    for (int i = 0; i < 2; i++) {
        begin(leave);
        ask(operations[i], &answer);
        CHECK(!lasts(&answer));
        end();
        begin(limit);
        ask(operations[i], &answer);
        CHECK(!lasts(&answer));
        end();
    }
}
