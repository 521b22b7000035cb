/* Arguments of system calls, drawn at random by their types. See the header. */
#include "tests/guest/exhaust/call_arguments.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#define PAGE 4096ul
#define CALL_ARENA (64 * PAGE)
#define DESCRIPTORS 21 /* that open_some opens, with the first three */

static char *arena; /* every process has its own */

uint64_t call_draw(struct call_arguments *drawn, uint64_t below)
{
    return tap_random(&drawn->random) % below;
}

static uint64_t anything(struct call_arguments *drawn)
{
    static const uint64_t edges[] = {
        0,
        1,
        2,
        7,
        8,
        4095,
        4096,
        4097,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        0x7ffffffff000,
        0x800000000000,
        UINT64_MAX,
        UINT64_MAX - 1,
        INT64_MAX,
        0xffff800000000000,
        0xffff888000000000,
    };

    switch (call_draw(drawn, 4)) {
    case 0:
        return edges[call_draw(drawn, sizeof(edges) / sizeof(edges[0]))];
    case 1:
        return tap_random(&drawn->random) >> call_draw(drawn, 64);
    case 2:
        return 1ull << call_draw(drawn, 64);
    default:
        return call_draw(drawn, 64);
    }
}

/* An address of the arena, now and then right before its end or where nothing is. */
static uint64_t memory(struct call_arguments *drawn)
{
    switch (drawn->wild ? call_draw(drawn, 16) : 2) {
    case 0:
        return (uint64_t)arena + CALL_ARENA - call_draw(drawn, 32);
    case 1:
        return anything(drawn);
    default:
        return (uint64_t)arena + call_draw(drawn, CALL_ARENA / 2) / 8 * 8;
    }
}

static const char *const paths[] = {
    "/tmp/fuzz/a",
    "/tmp/fuzz/b",
    "/tmp/fuzz/d",
    "/tmp/fuzz/d/c",
    "/tmp/fuzz",
    "/proc/self/maps",
    "/proc/self/fd/3",
    "/proc/self/stat",
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/",
    "/sys/devices/system/node",
    "/tmp/fuzz/fifo",
    "../..",
    "",
    "/proc/kettle/objects",
    "/dev/ptmx",
    "/mq",
    "user.a",
};

/* Fills some memory with something like a structure: small numbers, addresses, times. */
static void scribble(struct call_arguments *drawn)
{
    uint64_t *at = (uint64_t *)(void *)(arena + call_draw(drawn, CALL_ARENA / 2) / 8 * 8);

    for (uint64_t i = call_draw(drawn, 16); i > 0; i--)
        *at++ = call_draw(drawn, 3) == 0   ? memory(drawn)
                : call_draw(drawn, 2) == 0 ? anything(drawn)
                                           : call_draw(drawn, 20);
}

uint64_t call_argument(struct call_arguments *drawn, char type)
{
    if (drawn->wild && call_draw(drawn, 24) == 0)
        type = 'x';
    switch (type) {
    case 'f':
        return call_draw(drawn, 16) == 0 ? (uint64_t)-100 : call_draw(drawn, drawn->wild ? 40 : DESCRIPTORS);
    case 'P':
        return (uint64_t)paths[call_draw(drawn, sizeof(paths) / sizeof(paths[0]))];
    case 'p':
        return call_draw(drawn, 6) == 0 ? 0 : memory(drawn);
    case 'v':
    case 'S':
        return memory(drawn);
    case 's':
        return call_draw(drawn, 4) == 0 ? call_draw(drawn, 2 * CALL_ARENA) : call_draw(drawn, 300);
    case 'l':
        return call_draw(drawn, 8) * PAGE;
    case 'n':
        return call_draw(drawn, 12);
    case 'i':
        return call_draw(drawn, 3) == 0
                   ? 0
                   : 1ull << call_draw(drawn, 20) | (call_draw(drawn, 2) == 0 ? 0 : 1ull << call_draw(drawn, 20));
    case 'a':
        return (uint64_t)arena + call_draw(drawn, CALL_ARENA / PAGE) * PAGE;
    case 't':
        return call_draw(drawn, 4) == 0   ? (uint64_t)x86_syscall0(SYS_getpid)
               : call_draw(drawn, 3) == 0 ? 0
                                          : call_draw(drawn, 200);
    case 'g':
        return call_draw(drawn, 65);
    case 'k':
        return call_draw(drawn, (uint64_t)place_count() + 1);
    case 'c':
        return call_draw(drawn, 12);
    case 'o':
        return call_draw(drawn, 3 * PAGE);
    case 'z':
        return 0;
    default:
        return anything(drawn);
    }
}

static void fill_vectors(struct call_arguments *drawn)
{
    struct iovec *vector = (struct iovec *)(void *)arena;

    for (int i = 0; i < 8; i++)
        vector[i] = (struct iovec){(void *)memory(drawn), call_draw(drawn, 600)};
}

void call_arguments_prepare(struct call_arguments *drawn)
{
    if (call_draw(drawn, 3) == 0)
        scribble(drawn);
    fill_vectors(drawn);
}

static void open_some(void)
{
    sigset_t set;
    int ends[2];
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    (void)!pipe2(ends, O_NONBLOCK);
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends);
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    (void)!pipe(ends);
    eventfd(3, EFD_NONBLOCK);
    timerfd_create(CLOCK_MONOTONIC, 0);
    signalfd(-1, &set, SFD_NONBLOCK);
    inotify_init1(IN_NONBLOCK);
    epoll_create1(0);
    fd = memfd_create("fuzz", MFD_ALLOW_SEALING);
    if (fd >= 0)
        (void)!ftruncate(fd, 5 * PAGE);
    open("/tmp/fuzz/a", O_RDWR | O_CREAT, 0666);
    open("/tmp/fuzz", O_RDONLY | O_DIRECTORY);
    open("/proc/self/maps", O_RDONLY);
    open("/dev/zero", O_RDWR);
}

void call_arguments_begin(void)
{
    for (int fd = 0; fd < 3; fd++) {
        close(fd);
        open("/dev/null", O_RDWR);
    }
    open_some();
    arena = mmap(NULL, CALL_ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void call_arguments_directory(void)
{
    MUST(mkdir("/tmp/fuzz", 0777));
    MUST(chmod("/tmp/fuzz", 0777));
}
