/* The initramfs reader on archives built here, on damaged ones and on one by cpio(1).
 * sources: kernel/fs/tree/cpio.c */
#include "kernel/fs/tree/cpio.h"

#include <stdlib.h>
#include <unistd.h>

#include "kernel/abi/errno.h"
#include "tests/test.h"

static char archive[65536];
static size_t length;

static void pad(void)
{
    while (length % 4 != 0)
        archive[length++] = '\0';
}

static void put_header(unsigned inode, unsigned mode, size_t size, size_t name_size)
{
    length += (size_t)sprintf(archive + length, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", inode,
                              mode, 0, 0, 1, 0x65000000, size, 8, 1, 0, 0, name_size, 0);
}

static void put_entry(const char *name, unsigned inode, unsigned mode, const char *data)
{
    put_header(inode, mode, strlen(data), strlen(name) + 1);
    memcpy(archive + length, name, strlen(name) + 1);
    length += strlen(name) + 1;
    pad();
    memcpy(archive + length, data, strlen(data));
    length += strlen(data);
    pad();
}

static void begin(void)
{
    memset(archive, 0, sizeof(archive));
    length = 0;
}

/* The reader under test, on a copy of exactly the archive's size so that the sanitizer guards its end. */
static char *copy;
static size_t offset;
static struct cpio_entry entry;

static void open_archive(void)
{
    free(copy);
    copy = malloc(length > 0 ? length : 1);
    memcpy(copy, archive, length);
    offset = 0;
}

static int next(void)
{
    return cpio_next(copy, length, &offset, &entry);
}

static void expect_entry(const char *name, unsigned mode, const char *data)
{
    CHECK_EQ(next(), 1);
    CHECK_TEXT(entry.name, name);
    CHECK_EQ(entry.mode, mode);
    CHECK_EQ(entry.size, strlen(data));
    CHECK(memcmp(entry.data, data, strlen(data)) == 0);
}

TEST(entries, "entries come in order with name, mode, inode, time and data; then the end, again and again")
{
    begin();
    put_entry(".", 1, 040755, "");
    put_entry("bin/tour", 0xabcdef, 0100755, "program");
    put_entry("etc/motd", 3, 0100644, "hello\n");
    put_entry("TRAILER!!!", 0, 0, "");
    open_archive();
    expect_entry(".", 040755, "");
    expect_entry("bin/tour", 0100755, "program");
    CHECK_EQ(entry.inode, 0xabcdef);
    CHECK_EQ(entry.mtime, 0x65000000);
    expect_entry("etc/motd", 0100644, "hello\n");
    CHECK_EQ(next(), 0);
    CHECK_EQ(next(), 0);
    CHECK_EQ(offset, length);
}

TEST(concatenated, "archives one behind another read as one, over zero padding of any length")
{
    begin();
    put_entry("a", 1, 0100644, "1");
    put_entry("TRAILER!!!", 0, 0, "");
    length += 512;
    put_entry("b", 2, 0100644, "2");
    put_entry("TRAILER!!!", 0, 0, "");
    put_entry("c", 3, 0100644, "3");
    open_archive();
    expect_entry("a", 0100644, "1");
    expect_entry("b", 0100644, "2");
    expect_entry("c", 0100644, "3");
    CHECK_EQ(next(), 0);
}

TEST(empty, "an empty archive, or one of zeros or of a trailer alone, has no entry")
{
    begin();
    open_archive();
    CHECK_EQ(next(), 0);
    length = 7;
    open_archive();
    CHECK_EQ(next(), 0);
    begin();
    put_entry("TRAILER!!!", 0, 0, "");
    open_archive();
    CHECK_EQ(next(), 0);
}

TEST(names, "leading / and ./ are taken off a name, however many; other dots stay")
{
    static const char *const names[][2] = {
        {"/run/a.out", "run/a.out"}, {"./bin", "bin"},   {".//././x", "x"}, {"../x", "../x"},
        {".hidden", ".hidden"},      {"a/./b", "a/./b"}, {"./", ""},        {"./TRAILER!!!", "TRAILER!!!"},
    };

    begin();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        put_entry(names[i][0], 1, 0100644, "x");
    open_archive();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        expect_entry(names[i][1], 0100644, "x");
}

TEST(no_padding, "the padding behind the last entry may be missing")
{
    begin();
    put_entry("a", 1, 0100644, "12345");
    length -= 3;
    open_archive();
    expect_entry("a", 0100644, "12345");
    CHECK_EQ(next(), 0);
}

TEST(both_kinds, "the variant with checksums is read too, other magic numbers and the old formats are not")
{
    static const char *const magic[] = {"070702", "070701", "070707", "070700", "\x71\xc7zzzz"};

    for (int i = 0; i < 5; i++) {
        begin();
        put_entry("a", 1, 0100644, "1");
        memcpy(archive, magic[i], 6);
        open_archive();
        CHECK_EQ(next(), i < 2 ? 1 : -EINVAL);
    }
}

TEST(hexadecimal, "digits may be upper or lower case; anything else in a field is refused")
{
    static const char bad[] = {'g', 'G', ' ', '-', '\0', '/', ':', '@', '`', 'x'};

    begin();
    put_entry("a", 1, 0100644, "1");
    memcpy(archive + 6, "00ABCdef", 8);
    open_archive();
    CHECK_EQ(next(), 1);
    CHECK_EQ(entry.inode, 0xabcdef);
    for (size_t i = 0; i < sizeof(bad); i++) {
        static const int fields[] = {6, 14, 46, 54, 94}; /* inode, mode, time, size, name size */
        for (int field = 0; field < 5; field++) {
            begin();
            put_entry("a", 1, 0100644, "1");
            archive[fields[field] + 3] = bad[i];
            open_archive();
            CHECK_EQ(next(), -EINVAL);
            CHECK_EQ(offset, 0);
        }
    }
}

TEST(bad_names, "a name without its NUL, with one inside, empty or absurdly long is refused")
{
    begin();
    put_entry("abc", 1, 0100644, "1");
    archive[110 + 3] = 'd';
    open_archive();
    CHECK_EQ(next(), -EINVAL);
    archive[110 + 3] = '\0';
    archive[110 + 1] = '\0';
    open_archive();
    CHECK_EQ(next(), -EINVAL);
    begin();
    put_header(1, 0100644, 0, 0);
    length += 200;
    open_archive();
    CHECK_EQ(next(), -EINVAL);
    for (size_t size = CPIO_NAME_MAX; size <= CPIO_NAME_MAX + 1; size++) {
        begin();
        put_header(1, 0100644, 0, size);
        memset(archive + length, 'a', size - 1);
        length += size;
        pad();
        open_archive();
        CHECK_EQ(next(), size == CPIO_NAME_MAX ? 1 : -EINVAL);
    }
}

TEST(sizes, "a name or data longer than the archive is refused, the largest sizes included")
{
    static const char *const sizes[] = {"00000002", "00001000", "7fffffff", "ffffffff"};

    for (int i = 0; i < 4; i++) {
        begin();
        put_entry("a", 1, 0100644, "1");
        length -= 3;
        memcpy(archive + 54, sizes[i], 8);
        open_archive();
        CHECK_EQ(next(), -EINVAL);
        begin();
        put_entry("a", 1, 0100644, "");
        memcpy(archive + 94, i == 0 ? "00000003" : sizes[i], 8);
        memset(archive + 112, 'a', 100);
        open_archive();
        CHECK_EQ(next(), -EINVAL);
    }
}

TEST(misaligned, "an entry at an offset that is no multiple of four is refused")
{
    begin();
    put_entry("a", 1, 0100644, "1");
    memmove(archive + 2, archive, length);
    memset(archive, 0, 2);
    length += 2;
    open_archive();
    CHECK_EQ(next(), -EINVAL);
}

TEST(offset_beyond, "an offset beyond the archive is refused")
{
    begin();
    put_entry("a", 1, 0100644, "1");
    open_archive();
    for (size_t beyond = 1; beyond <= 4; beyond++) {
        offset = length + beyond;
        CHECK_EQ(next(), -EINVAL);
    }
}

TEST(cut, "an archive cut at any byte gives its whole entries, then an error or the end")
{
    begin();
    put_entry("first", 1, 0100644, "one");
    size_t one = length;
    put_entry("second", 2, 0100644, "two and more");
    size_t whole = length;
    for (size_t cut = 0; cut <= whole; cut++) {
        length = cut;
        open_archive();
        int count = 0;
        int result;
        while ((result = next()) == 1)
            count++;
        CHECK(count == 2 || count == (cut + 1 >= one)); /* the first entry ends with one byte of padding */
        CHECK(count < 2 || cut == whole);
        CHECK_EQ(result, cut == 0 || cut == one || cut + 1 == one || cut == whole ? 0 : -EINVAL);
    }
}

TEST(flipped, "any bit changed: nothing is read outside the archive and reading ends")
{
    begin();
    put_entry("bin/tour", 1, 0100755, "program");
    put_entry("b", 2, 0100644, "data data");
    put_entry("TRAILER!!!", 0, 0, "");
    for (size_t at = 0; at < length * 8; at++) {
        archive[at / 8] ^= (char)(1 << at % 8);
        open_archive();
        archive[at / 8] ^= (char)(1 << at % 8);
        int steps = 0;
        while (next() == 1) {
            const char *data = entry.data;
            CHECK(entry.name >= copy && entry.name + strlen(entry.name) < copy + length);
            CHECK(data >= copy && entry.size <= (size_t)(copy + length - data));
            CHECK(++steps < 4);
        }
    }
}

TEST(cpio_program, "an archive by cpio(1) is read")
{
    char directory[] = "/tmp/cpio-test-XXXXXX";
    char command[512];

    CHECK(mkdtemp(directory));
    snprintf(command, sizeof(command),
             "cd %s && mkdir bin && echo hello >bin/file && ln bin/file bin/link && ln -s bin/file soft && "
             "find . ! -name archive | LC_ALL=C sort | cpio -o -H newc --quiet >archive && rm -r bin soft",
             directory);
    CHECK_EQ(system(command), 0);
    snprintf(command, sizeof(command), "%s/archive", directory);
    FILE *file = fopen(command, "rb");
    CHECK(file);
    begin();
    length = fread(archive, 1, sizeof(archive), file);
    fclose(file);
    unlink(command);
    rmdir(directory);
    open_archive();
    CHECK_EQ(next(), 1);
    CHECK_TEXT(entry.name, ".");
    CHECK_EQ(next(), 1);
    CHECK_TEXT(entry.name, "bin");
    CHECK_EQ(entry.mode & 0170000, 0040000);
    CHECK_EQ(next(), 1);
    CHECK_TEXT(entry.name, "bin/file");
    uint32_t inode = entry.inode;
    CHECK_EQ(next(), 1);
    CHECK_TEXT(entry.name, "bin/link");
    CHECK_EQ(entry.inode, inode);
    CHECK_EQ(entry.size, 6);
    CHECK(memcmp(entry.data, "hello\n", 6) == 0);
    CHECK_EQ(next(), 1);
    CHECK_TEXT(entry.name, "soft");
    CHECK_EQ(entry.mode & 0170000, 0120000);
    CHECK(memcmp(entry.data, "bin/file", 8) == 0);
    CHECK_EQ(next(), 0);
}
