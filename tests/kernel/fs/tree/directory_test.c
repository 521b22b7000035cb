/* Entries of directories, and the ordered sets that they are in, against an array.
 * sources: kernel/fs/tree/directory.c kernel/lib/ordered.c */
#include "kernel/fs/tree/directory.h"

#include "kernel/abi/errno.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#include "tests/stand_in/quota.h"

#define NAMES 600

static struct directory directory;
static struct entry *entries[NAMES]; /* NULL: not there */
static uint32_t there;

static size_t name_of(int i, char *name)
{
    return (size_t)sprintf(name, "%s%d", i % 3 == 0 ? "a-longer-name-" : "n", i);
}

static void begin(void)
{
    memset(&directory, 0, sizeof(directory));
    memset(entries, 0, sizeof(entries));
    heap_objects = 0;
    there = 0;
}

static void put(int i)
{
    char name[40];
    size_t length = name_of(i, name);

    CHECK_EQ(entry_new(name, length, 0, &entries[i]), 0);
    CHECK_TEXT(entries[i]->name, name);
    directory_add(&directory, entries[i]);
    there++;
}

static void take(int i)
{
    directory_remove(&directory, entries[i]);
    entry_free(entries[i]);
    entries[i] = NULL;
    there--;
}

static void end(void)
{
    for (int i = 0; i < NAMES; i++) {
        if (entries[i] != NULL)
            take(i);
    }
    CHECK_EQ(directory.count, 0);
    CHECK(directory.names.top == NULL && directory.cookies.top == NULL);
    CHECK_EQ(heap_objects, 0);
}

/* What is there is found by name, and listed once in the order of its cookies; nothing else is. */
static void check_all(void)
{
    uint64_t cookie = 0;
    uint32_t listed = 0;
    char name[40];

    for (int i = 0; i < NAMES; i++) {
        size_t length = name_of(i, name);

        CHECK(directory_find(&directory, name, length) == entries[i]);
    }
    for (struct entry *e = directory_next(&directory, 0); e != NULL; e = directory_next(&directory, cookie)) {
        CHECK(e->by_cookie.key > cookie && e->by_cookie.key >= DIRECTORY_FIRST_COOKIE);
        cookie = e->by_cookie.key;
        listed++;
    }
    CHECK_EQ(listed, there);
    CHECK_EQ(directory.count, there);
}

TEST(directory_random, "after any changes names are found, and a listing has each once")
{
    uint64_t seed = 1;

    begin();
    for (int step = 0; step < 20000; step++) {
        int i = (int)test_below(&seed, NAMES);

        if (entries[i] == NULL)
            put(i);
        else
            take(i);
        if (step % 500 == 0)
            check_all();
    }
    check_all();
    end();
}

TEST(directory_quota, "a name counts for who made it, until it is freed")
{
    struct entry *entry, *other, *theirs;

    begin();
    quota_is_kept = true;
    quota_most = 1;
    CHECK_EQ(entry_new("name", 4, 1000, &entry), -EDQUOT);
    CHECK(entry == NULL);
    quota_most = UINT64_MAX;
    CHECK_EQ(entry_new("name", 4, 1000, &entry), 0);
    CHECK(quota_counts[QUOTA_FILE_BYTES] > 4);
    CHECK_EQ(entry_new("long name", 9, 1001, &theirs), 0);
    quota_most = quota_counts[QUOTA_FILE_BYTES]; /* at the limit it is renamed, but not to a longer name */
    CHECK_EQ(entry_new_for(entry, NULL, "long name", 9, 1000, &other), -EDQUOT);
    CHECK_EQ(entry_new_for(entry, theirs, "long name", 9, 1000, &other), -EDQUOT);
    CHECK_EQ(entry_new_for(entry, NULL, "name", 4, 1001, &other), 0);
    CHECK_EQ(other->uid, 1000);
    entry_free(other);
    CHECK_EQ(entry_new_for(entry, theirs, "long name", 9, 1001, &other), 0); /* who pays for the longer one */
    CHECK_EQ(other->uid, 1001);
    entry_free(other);
    quota_most = UINT64_MAX;
    entry_free(theirs);
    entry_free(entry);
    CHECK_EQ(quota_counts[QUOTA_FILE_BYTES], 0);
    CHECK_EQ(heap_objects, 0);
}

TEST(directory_same_hash, "names with the same hash are told apart, whichever of them goes first")
{
    for (int first = 0; first < 3; first++) {
        begin();
        for (int i = 0; i < 3; i++) {
            char name[40];
            size_t length = name_of(i, name);

            CHECK_EQ(entry_new(name, length, 0, &entries[i]), 0);
            entries[i]->by_name.key = 77; /* as if the hash were: it is looked up by these below */
            directory_add(&directory, entries[i]);
            there++;
        }
        CHECK_EQ(directory.count, 3);
        for (int n = 0; n < 3; n++)
            take((first + n) % 3);
        CHECK(directory.names.top == NULL);
        end();
    }
}

TEST(directory_listing, "a listing goes on behind its cookie, whatever was removed or came meanwhile")
{
    uint64_t cookie = 0;
    int seen = 0;

    begin();
    for (int i = 0; i < 100; i++)
        put(i);
    for (struct entry *e = directory_next(&directory, 0); e != NULL; e = directory_next(&directory, cookie)) {
        int i = 0;

        while (entries[i] != e)
            i++;
        CHECK_EQ(i, 2 * seen);
        cookie = e->by_cookie.key;
        seen++;
        take(i);
        if (i + 1 < 100)
            take(i + 1); /* which would have been next */
    }
    CHECK_EQ(seen, 50);
    put(5);
    CHECK(directory_next(&directory, cookie) == entries[5]); /* what comes later is listed, too */
    end();
}

static int depth_of(const struct ordered_link *link)
{
    int less, more;

    if (link == NULL)
        return 0;
    less = depth_of(link->less);
    more = depth_of(link->more);
    return 1 + (less > more ? less : more);
}

TEST(directory_depth, "100000 entries that come in order make no deep tree")
{
    static struct ordered_link links[100000];
    struct ordered set = {NULL};

    for (uint64_t i = 0; i < 100000; i++) {
        links[i].key = i;
        ordered_add(&set, &links[i]);
    }
    CHECK(depth_of(set.top) < 60);
    CHECK(ordered_find(&set, 4711) == &links[4711]);
    CHECK(ordered_find(&set, 100000) == NULL);
    CHECK(ordered_from(&set, 99999) == &links[99999] && ordered_from(&set, 100000) == NULL);
}
