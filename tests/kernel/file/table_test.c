/* Descriptor tables.
 * sources: kernel/file/table.c kernel/file/descriptor.c */
#include "kernel/file/table.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/lock.h"
#include "kernel/file/root.h"
#include "kernel/file/wire.h"
#include "msg/slice.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

static const struct file_kind locked_kind = {.locks = true};

uint64_t rdtsc_unordered(void)
{
    return 0;
}

bool slice_pause(void)
{
    abort(); /* no slice is ever over */
}

static int changes; /* of what others know of descriptors */
static int roots;   /* changes of them */

/* Files that only count. */
static struct file files[3];

void file_open_again(struct file *file)
{
    file->opens++;
}

void file_close(struct file *file)
{
    CHECK(file->opens > 0);
    file->opens--;
}

void file_free(struct file *file)
{
    (void)file;
    CHECK(false);
}

uint16_t descriptor_cache_count_new(void)
{
    return 7;
}

void descriptor_cache_changed(uint16_t count)
{
    CHECK_EQ(count, 7);
    changes++;
}

void root_changed(void)
{
    roots++;
}

void file_table_part(struct file_table *part)
{
    (void)part; /* nothing is shared here */
}

static struct file_table *table;

static void begin(void)
{
    heap_objects = 0;
    for (int i = 0; i < 3; i++)
        files[i] = (struct file){.pins = 1};
    table = file_table_new();
}

static void end(void)
{
    file_table_free(table);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(files[i].opens, 0);
    CHECK_EQ(heap_objects, 0);
}

static int64_t add(int file)
{
    files[file].opens++;
    return table_add(table, &files[file], 0, 0);
}

static struct file *at(int64_t fd)
{
    struct file *file = table_find(table, fd);

    if (file != NULL)
        file->pins--;
    return file;
}

static int unlocked; /* calls */

void file_unlock(uint32_t kernel, uint64_t id, uint32_t process)
{
    unlocked++;
    CHECK_EQ(kernel, 0);
    CHECK_EQ(id, 5);
    CHECK_EQ(process, 7);
    CHECK_EQ(files[1].opens, 1); /* it is still open */
}

void file_unlock_later(struct file *file, uint32_t process)
{
    (void)file;
    (void)process;
    CHECK(false);
}

TEST(table_lowest, "a file gets the lowest free number, and closing frees it")
{
    begin();
    for (int i = 0; i < 100; i++)
        CHECK_EQ(add(i % 3), i);
    CHECK_EQ(table_close(table, 70), 0);
    CHECK_EQ(table_close(table, 20), 0);
    CHECK_EQ(table_close(table, 20), -EBADF);
    CHECK_EQ(add(1), 20);
    CHECK_EQ(add(1), 70);
    CHECK_EQ(add(1), 100);
    CHECK(at(0) == &files[0] && at(1) == &files[1] && at(20) == &files[1]);
    CHECK(at(101) == NULL && at(-1) == NULL && at(1000000) == NULL);
    end();
}

TEST(table_full, "a process has 1024 descriptors, and a file that has no place is closed")
{
    begin();
    for (int i = 0; i < TABLE_MAX; i++)
        CHECK_EQ(add(0), i);
    CHECK_EQ(add(1), -EMFILE);
    CHECK_EQ(files[1].opens, 0);
    CHECK_EQ(table_duplicate(table, 0, 0, 0), -EMFILE);
    CHECK_EQ(files[0].opens, TABLE_MAX);
    end();
}

TEST(table_no_memory, "without memory a table keeps what it has, and the file is closed")
{
    begin();
    while (table->lowest < table->size)
        add(0);
    heap_left = 0;
    CHECK_EQ(add(1), -ENOMEM);
    CHECK_EQ(files[1].opens, 0);
    CHECK_EQ(table_duplicate_to(table, 0, 900, 0), -ENOMEM);
    CHECK_EQ(table_close(table, 3), 0);
    CHECK_EQ(add(1), 3);
    heap_left = -1;
    end();
}

TEST(table_duplicates, "duplicates begin at the number asked for, with flags of their own")
{
    begin();
    add(0);
    CHECK_EQ(table_duplicate(table, 0, 40, DESCRIPTOR_CLOEXEC), 40);
    CHECK_EQ(table_duplicate(table, 0, 40, 0), 41);
    CHECK_EQ(table_duplicate(table, 0, 0, 0), 1);
    CHECK_EQ(files[0].opens, 4);
    CHECK_EQ(table_get_flags(table, 40), DESCRIPTOR_CLOEXEC);
    CHECK_EQ(table_get_flags(table, 41), 0);
    CHECK_EQ(table_duplicate(table, 5, 0, 0), -EBADF);
    CHECK_EQ(table_duplicate(table, 0, -1, 0), -EINVAL);
    CHECK_EQ(table_duplicate(table, 0, TABLE_MAX, 0), -EINVAL);
    end();
}

TEST(table_replaces, "a duplicate to a number closes what was there, and to its own changes nothing")
{
    begin();
    add(0);
    add(1);
    CHECK_EQ(table_set_flags(table, 0, DESCRIPTOR_CLOEXEC), 0);
    CHECK_EQ(table_duplicate_to(table, 0, 1, 0), 1);
    CHECK_EQ(files[1].opens, 0);
    CHECK(at(1) == &files[0]);
    CHECK_EQ(table_duplicate_to(table, 0, 0, 0), 0);
    CHECK_EQ(table_get_flags(table, 0), DESCRIPTOR_CLOEXEC);
    CHECK_EQ(files[0].opens, 2);
    CHECK_EQ(table_duplicate_to(table, 0, TABLE_MAX - 1, 0), TABLE_MAX - 1);
    CHECK_EQ(table_duplicate_to(table, 0, TABLE_MAX, 0), -EBADF);
    CHECK_EQ(table_duplicate_to(table, 9, 1, 0), -EBADF);
    CHECK(at(1) == &files[0]);
    end();
}

TEST(table_changes, "what others know of descriptors and of the working directory is over when one is closed or "
                    "replaced, and only then")
{
    int before;

    begin();
    before = changes;
    add(0);
    add(1);
    CHECK_EQ(table_duplicate(table, 0, 5, 0), 5);
    CHECK_EQ(table_set_flags(table, 0, DESCRIPTOR_CLOEXEC), 0);
    CHECK_EQ(table_duplicate_to(table, 0, 0, 0), 0);
    CHECK_EQ(changes, before);
    CHECK_EQ(table_duplicate_to(table, 0, 1, 0), 1);
    CHECK_EQ(changes, before + 1);
    file_table_exec(table);
    CHECK_EQ(changes, before + 2);
    files[2].opens++;
    file_table_set_working_directory(table, &files[2]);
    CHECK_EQ(changes, before + 3);
    end();
}

TEST(table_exec, "exec closes what is marked and nothing else")
{
    begin();
    add(0);
    add(1);
    add(2);
    table_set_flags(table, 1, DESCRIPTOR_CLOEXEC);
    file_table_exec(table);
    CHECK(at(0) == &files[0] && at(1) == NULL && at(2) == &files[2]);
    CHECK_EQ(files[1].opens, 0);
    CHECK_EQ(add(1), 1);
    end();
}

TEST(table_range, "a range is closed or marked, also to the highest number there is")
{
    int64_t stopped;

    begin();
    for (int i = 0; i < 10; i++)
        add(0);
    CHECK_EQ(table_close_range(table, 3, 4, true, -1, &stopped), 0);
    CHECK_EQ(table_get_flags(table, 3), DESCRIPTOR_CLOEXEC);
    CHECK_EQ(table_get_flags(table, 5), 0);
    CHECK_EQ(table_close_range(table, 8, UINT32_MAX, false, -1, &stopped), 0);
    CHECK_EQ(stopped, -1);
    CHECK(at(7) != NULL && at(8) == NULL && at(9) == NULL);
    CHECK_EQ(table_close_range(table, 2, 1, false, -1, &stopped), -EINVAL);
    end();
}

TEST(table_locks, "what has locks stays open until they have gone")
{
    int64_t stopped;

    begin();
    files[1].kind = &locked_kind;
    files[1].id = 5;
    files[0].kernel = files[2].kernel = 3; /* what stands for files of other kernels than 0, which have none */
    for (int i = 0; i < 3; i++)
        add(i);
    CHECK_EQ(table_close_range(table, 0, 9, false, -1, &stopped), 0);
    CHECK_EQ(stopped, -1); /* nobody locks anything yet */
    for (int i = 0; i < 3; i++)
        add(i);
    table->process = 7;
    CHECK_EQ(table_close_range(table, 0, 9, true, -1, &stopped), 0);
    CHECK_EQ(stopped, -1);
    CHECK_EQ(table_close_range(table, 0, 9, false, -1, &stopped), 0);
    CHECK_EQ(stopped, 1);
    CHECK(at(0) == NULL && at(1) == &files[1] && at(2) == &files[2]);
    CHECK_EQ(table_close_range(table, 1, 9, false, 1, &stopped), 0);
    CHECK_EQ(stopped, -1);
    CHECK(at(1) == NULL && at(2) == NULL);
    for (int i = 0; i < 3; i++) {
        add(i);
        table_set_flags(table, i, DESCRIPTOR_CLOEXEC);
    }
    unlocked = 0;
    file_table_exec(table);
    CHECK_EQ(unlocked, 1);
    CHECK(at(0) == NULL && at(1) == NULL && at(2) == NULL);
    end();
}

TEST(table_program, "the program is remembered until it changes")
{
    char out[16];

    begin();
    CHECK_EQ(file_table_program(table, out, sizeof(out)), 0);
    CHECK_TEXT(out, "");
    CHECK_EQ(file_table_set_program(table, "/bin/abc"), 0);
    CHECK_EQ(file_table_set_program(table, "/bin/x"), 0);
    CHECK_EQ(file_table_program(table, out, sizeof(out)), 6);
    CHECK_TEXT(out, "/bin/x");
    CHECK_EQ(file_table_program(table, out, 6), -ERANGE);
    end();
}

TEST(table_directory, "the working directory has an open as descriptors have, and is found in place of one")
{
    begin();
    CHECK(at(FILE_WORKING_DIRECTORY) == NULL);
    files[1].opens = files[2].opens = 1;
    file_table_set_working_directory(table, &files[1]);
    CHECK(at(FILE_WORKING_DIRECTORY) == &files[1]);
    file_table_set_working_directory(table, &files[2]);
    CHECK(at(FILE_WORKING_DIRECTORY) == &files[2]);
    CHECK_EQ(files[1].opens, 0);
    file_table_exec(table);
    CHECK_EQ(files[2].opens, 1);
    end();
    CHECK_EQ(files[2].opens, 0);
}

TEST(table_root, "the root is found and closed as the working directory is, and each change of it is told")
{
    begin();
    roots = 0;
    CHECK(at(FILE_ROOT) == NULL);
    files[1].opens = files[2].opens = 1;
    file_table_set_root(table, &files[1]);
    CHECK(at(FILE_ROOT) == &files[1] && at(FILE_WORKING_DIRECTORY) == NULL && roots == 1);
    file_table_set_root(table, &files[2]);
    CHECK(at(FILE_ROOT) == &files[2] && roots == 2);
    CHECK_EQ(files[1].opens, 0);
    end();
    CHECK_EQ(files[2].opens, 0);
}

TEST(table_executable, "the executable has an open until the process runs another one, or ends")
{
    begin();
    files[1].opens = files[2].opens = 1;
    file_table_set_executable(table, &files[1]);
    file_table_set_executable(table, &files[2]);
    CHECK_EQ(files[1].opens, 0);
    file_table_exec(table);
    CHECK_EQ(files[2].opens, 1);
    end();
    CHECK_EQ(files[2].opens, 0);
}

TEST(table_terminal, "the first process's table has the terminal three times")
{
    begin();
    file_table_free(table);
    heap_objects = 0;
    files[0].opens = 1;
    table = file_table_create(&files[0]);
    CHECK_EQ(files[0].opens, 3);
    CHECK(at(0) == &files[0] && at(1) == &files[0] && at(2) == &files[0]);
    CHECK_EQ(add(1), 3);
    end();
}
