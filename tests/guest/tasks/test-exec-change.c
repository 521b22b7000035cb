/* test-exec-change: a program runs what its file has when it is executed, on every place, however the file was changed
 * since another run of it; and what a run writes to its memory no other run sees.
 *
 * The program is made here. Its exit status is the sum of a byte of its text, one of its constants and one of its
 * variables, after it has waited for a byte of its standard input, made its constants writable and added one to each of
 * the latter two. */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"

#define PAGE 0x1000
#define LARGE 80 /* pages of variables, of a program that has many */
#define NAME "program"
#define ROUNDS 3

static const unsigned char text[] = {
    0x31, 0xc0, 0x31, 0xff, 0x48, 0x89, 0xe6, 0xba, 1,    0, 0,    0, 0x0f, 0x05, /* read(0, stack, 1) */
    0xb8, 10,   0,    0,    0,    0xbf, 0,    0x10, 0x40, 0, 0xbe, 0, 0x10, 0,
    0,    0xba, 3,    0,    0,    0,    0x0f, 0x05, /* mprotect */
    0xfe, 0x04, 0x25, 0,    0x10, 0x40, 0,          /* incb 0x401000 */
    0xfe, 0x04, 0x25, 0,    0x20, 0x40, 0,          /* incb 0x402000 */
    0x0f, 0xb6, 0x3c, 0x25, 0,    0x10, 0x40, 0,    /* movzbl 0x401000, %edi */
    0x40, 0x02, 0x3c, 0x25, 0,    0x20, 0x40, 0,    /* addb 0x402000, %dil */
    0x40, 0x02, 0x3c, 0x25, 0,    0x29, 0x40, 0,    /* addb 0x402900, %dil: of zeros */
    0x40, 0x80, 0xc7, 0,                            /* addb $VALUE, %dil */
    0xb8, 231,  0,    0,    0,    0x0f, 0x05,       /* exit_group(%edi) */
};

#define TEXT 0x200
#define TEXT_VALUE (TEXT + sizeof(text) - 8)
#define CONSTANT_VALUE PAGE
#define VARIABLE_VALUE (2 * PAGE)
#define SIZE ((2 + LARGE) * PAGE)

static unsigned char image[SIZE];

/* A program whose values are TEXT_BYTE, CONSTANT and VARIABLE. With few variables zeros follow them in the same page,
 * and in the file something else. */
static void make(bool large, int text_byte, int constant, int variable)
{
    static const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                                      .e_type = ET_EXEC,
                                      .e_machine = EM_X86_64,
                                      .e_version = EV_CURRENT,
                                      .e_entry = 0x400000 + TEXT,
                                      .e_phoff = sizeof(Elf64_Ehdr),
                                      .e_ehsize = sizeof(Elf64_Ehdr),
                                      .e_phentsize = sizeof(Elf64_Phdr),
                                      .e_phnum = 3};
    Elf64_Phdr segments[3] = {{PT_LOAD, PF_R | PF_X, 0, 0x400000, 0, PAGE, PAGE, PAGE},
                              {PT_LOAD, PF_R, PAGE, 0x401000, 0, PAGE, PAGE, PAGE},
                              {PT_LOAD, PF_R | PF_W, 2 * PAGE, 0x402000, 0, 0x900, 3 * PAGE, PAGE}};

    if (large)
        segments[2].p_filesz = segments[2].p_memsz = LARGE * PAGE;
    memset(image, 0, sizeof(image));
    memcpy(image, &header, sizeof(header));
    memcpy(image + sizeof(header), segments, sizeof(segments));
    memcpy(image + TEXT, text, sizeof(text));
    image[TEXT_VALUE] = (unsigned char)text_byte;
    image[CONSTANT_VALUE] = (unsigned char)constant;
    image[VARIABLE_VALUE] = (unsigned char)variable;
    if (!large)
        image[VARIABLE_VALUE + 0x900] = 0x55;
}

/* The exit status of the program that IMAGE is. */
static int expected(void)
{
    return (unsigned char)(image[TEXT_VALUE] + image[CONSTANT_VALUE] + image[VARIABLE_VALUE] + 2);
}

static void write_all(int fd, off_t at, size_t size)
{
    REQUIRE(pwrite(fd, image + at, size, at) == (ssize_t)size, "%s", tap_error(errno));
}

static void write_new(const char *name)
{
    int fd = (int)MUST(open(name, O_RDWR | O_CREAT | O_TRUNC, 0755));

    write_all(fd, 0, SIZE);
    MUST(close(fd));
}

static const char *program = NAME; /* the file that is executed */

/* Starts the program on PLACE, with INPUT as standard input. */
static pid_t start(int place, int input)
{
    pid_t child;

    place_go(place);
    child = FORK();
    if (child == 0) {
        dup2(input, 0);
        execl(program, NAME, (char *)NULL);
        _exit(TAP_FAILED);
    }
    return child;
}

/* Each place runs what IMAGE is, twice: its first run may be the one that fetches the file. */
static void run_everywhere(void)
{
    int nothing = (int)MUST(open("/dev/null", O_RDONLY));

    for (int run = 0; run < 2 * place_few(8); run++)
        CHECK_EXITS(start(run / 2, nothing), expected());
    MUST(close(nothing));
}

static void test_same(void)
{
    for (int large = 0; large < 2; large++) {
        make(large != 0, 1, 2, 3);
        write_new(NAME);
        run_everywhere();
        run_everywhere();
    }
}

/* Writes one of the three values, from each place. */
static void test_write(void)
{
    static const size_t values[] = {TEXT_VALUE, CONSTANT_VALUE, VARIABLE_VALUE};

    for (int large = 0; large < 2; large++) {
        make(large != 0, 10, 20, 30);
        write_new(NAME);
        run_everywhere();
        for (int round = 0; round < 2 * ROUNDS; round++) {
            int fd, reader;

            place_go(round);
            fd = (int)MUST(open(NAME, O_RDWR));
            reader = (int)MUST(open(NAME, O_RDONLY));
            image[values[round % 3]]++;
            write_all(fd, (off_t)values[round % 3], 1);
            MUST(close(fd)); /* else it is not executed: ETXTBSY */
            if (round % 2 == 0)
                MUST(close(reader));
            run_everywhere();
            if (round % 2 != 0)
                MUST(close(reader));
        }
    }
}

/* Writes by a shared mapping, while runs come between the writes and when the mapping has gone since. */
static void test_mapped(void)
{
    make(false, 4, 5, 6);
    write_new(NAME);
    run_everywhere();
    for (int round = 0; round < ROUNDS; round++) {
        int fd = (int)MUST(open(NAME, O_RDWR));
        volatile unsigned char *bytes;

        place_go(round);
        bytes = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        REQUIRE(bytes != MAP_FAILED, "%s", tap_error(errno));
        MUST(close(fd));
        bytes[CONSTANT_VALUE] = ++image[CONSTANT_VALUE];
        run_everywhere();
        bytes[CONSTANT_VALUE] = ++image[CONSTANT_VALUE];
        bytes[TEXT_VALUE] = ++image[TEXT_VALUE];
        run_everywhere();
        place_go(round);
        bytes[CONSTANT_VALUE] = ++image[CONSTANT_VALUE];
        MUST(munmap((void *)bytes, SIZE));
        run_everywhere();
    }
}

/* Another file under the name: the old one unlinked before, or replaced by a rename. */
static void test_replaced(void)
{
    make(false, 7, 8, 9);
    write_new(NAME);
    run_everywhere();
    for (int round = 0; round < ROUNDS; round++) {
        place_go(round);
        MUST(unlink(NAME));
        image[TEXT_VALUE]++;
        write_new(NAME);
        run_everywhere();
        place_go(round + 1);
        image[CONSTANT_VALUE] += 3;
        write_new("other");
        MUST(rename("other", NAME));
        run_everywhere();
    }
}

static void test_truncated(void)
{
    int nothing = (int)MUST(open("/dev/null", O_RDONLY));

    make(true, 11, 12, 13);
    write_new(NAME);
    run_everywhere();
    for (int place = 0; place < place_few(4); place++) {
        int fd;

        place_go(place);
        MUST(truncate(NAME, PAGE)); /* the segments lie behind the end */
        for (int i = 0; i < place_few(4); i++)
            CHECK_EXITS(start(i, nothing), TAP_FAILED);
        MUST(truncate(NAME, SIZE)); /* the rest reads as zeros */
        image[CONSTANT_VALUE] = image[VARIABLE_VALUE] = 0;
        run_everywhere();
        fd = (int)MUST(open(NAME, O_RDWR | O_TRUNC));
        image[CONSTANT_VALUE] = (unsigned char)(20 + place);
        image[VARIABLE_VALUE] = 5;
        write_all(fd, 0, SIZE);
        MUST(close(fd));
        run_everywhere();
    }
    MUST(close(nothing));
}

/* Programs that run while the file changes keep what they began with. It has no name, so that it can change: what
 * memfd_create opens may write to a file that runs. */
static void test_running(void)
{
    int count = place_few(4), before, fd = (int)MUST(memfd_create(NAME, 0));
    char path[32];
    pid_t children[4];
    int ends[2];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    program = path;
    make(true, 14, 15, 16);
    write_all(fd, 0, SIZE);
    for (int round = 0; round < ROUNDS; round++) {
        char bytes[4] = {0};

        MUST(pipe(ends));
        before = expected();
        for (int i = 0; i < count; i++)
            children[i] = start(i, ends[0]);
        for (int i = 0; i < count; i++)
            UNTIL(tap_sleeps(children[i], children[i]), "the program to wait for its input");
        place_go(round);
        image[CONSTANT_VALUE]++;
        image[VARIABLE_VALUE]++;
        write_all(fd, 0, SIZE);
        run_everywhere();
        if (round == 1)
            MUST(ftruncate(fd, 0));
        MUST(write(ends[1], bytes, (size_t)count));
        for (int i = 0; i < count; i++)
            CHECK_EXITS(children[i], before);
        if (round == 1)
            write_all(fd, 0, SIZE);
        MUST(close(ends[0]));
        MUST(close(ends[1]));
    }
    MUST(close(fd));
    program = NAME;
}

/* A child on PLACE opens the program to write to it, and leaves it to its end to close it. Returns its status. */
static int write_on(int place)
{
    pid_t child;
    int status;

    place_go(place);
    child = FORK();
    if (child == 0)
        _exit(open(NAME, O_RDWR) < 0);
    MUST(waitpid(child, &status, 0));
    return status;
}

/* Writers and runs of places that take turns. Whoever has seen the end of one is not refused by it: from a place where
 * the file is not, as otherwise what that place is told, and what the file's kernel is, may come in one order. */
static void test_turns(void)
{
    int nothing = (int)MUST(open("/dev/null", O_RDONLY)), status;
    pid_t child;

    make(false, 21, 22, 23);
    write_new(NAME);
    place_go(1);
    child = FORK();
    if (child == 0) {
        int refused = 0;

        for (int round = 0; round < 3 * place_few(4); round++) {
            refused += write_on(round) != 0;
            MUST(waitpid(start(round + 1, nothing), &status, 0));
            refused += WEXITSTATUS(status) != expected();
        }
        _exit(refused);
    }
    CHECK_EXITS(child, 0);
    MUST(close(nothing));
}

static const struct tap_test tests[] = {
    {"same", "what a run writes to its constants and variables the next one does not see", test_same},
    {"write", "a program that was written to by a call runs as it is now, on every place", test_write},
    {"mapped", "a program that was written to by a mapping runs as it is now, on every place", test_mapped},
    {"replaced", "another file under the name of a program that ran before is what runs", test_replaced},
    {"truncated", "a program that was cut off is refused, and what is written then runs", test_truncated},
    {"running", "a program that runs is not changed with its file", test_running},
    {"turns", "a writer and a run that have ended, on any place, keep nobody from executing or writing the file",
     test_turns},
};

int main(int argc, char **argv)
{
    static char folder[] = "/tmp/exec-change-XXXXXX";
    static const char *const names[] = {NAME, "other"};
    int status;

    (void)mkdir("/tmp", 01777);
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        perror(folder);
        return 1;
    }
    status = tap_run(argc, argv, tests, TAP_COUNT(tests));
    for (size_t i = 0; i < TAP_COUNT(names); i++)
        (void)unlink(names[i]);
    (void)rmdir(folder);
    return status;
}
