/* silencebench: for how long a kernel answers nobody while a program does something large.
 *
 * Each case runs in a child process. The child prepares, the longest silences of all kernels are forgotten
 * (kettle_control("silence=clear")), the child does what is measured, and /proc/kettle/silence says how long the
 * longest stretch of kernel code was in which a CPU did not look for messages, or a handler ran. Nothing else runs
 * meanwhile; so with --icount 0 and --tcg single the numbers are instructions, and repeat. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "userland/bench/msg/silencebench_events.h"
#include "userland/proc_file.h"

#define STATUS_FAILED 1
#define STATUS_USAGE 2
#define PAGE 4096ul
#define MIB (1ul << 20)
#define MEMORY (48 * MIB) /* of the cases of memory */
#define AREAS 20000ul     /* of the cases of many areas */
#define FILE_SIZE (32 * MIB)
#define LARGE_FILE (512 * MIB)
#define SPARSE_PAGES 20000ul
#define SPARSE_STEP (64 * PAGE)
#define PIPE_FULL (128 * MIB)
#define CHILDREN 20000
#define THREADS 1500
#define READERS 300
#define CIRCLES 1000       /* and as many peers; both are under way, and each once more */
#define SENT_AT_ONCE 200   /* descriptors in a message */
#define SENDERS 3000       /* sockets that are connected to one */
#define SHARED (64 * PAGE) /* used on two kernels */
#define GROUP 1
#define STACKS 750ul /* of STACK_PAGES pages, of which the lowest cannot be accessed */
#define STACK_PAGES 5ul
#define OPENERS 24 /* processes that have OPENED files each */
#define OPENED 900
#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#endif
#define GETDENTS 217

static const char usage[] =
    "usage: silencebench [--cases NAME,NAME...] [--limit N] [--list]\n"
    "\n"
    "Prints for each case one JSON object: the longest silence of a kernel, in counts of the time stamp counter, and\n"
    "where it ended.\n"
    "\n"
    "  --limit N  exit status 1 if one is longer\n";

struct silence_case {
    const char *name;
    const char *what;
    void (*prepare)(void);
    void (*run)(void); /* NULL: the end of the process */
    bool elsewhere;    /* another kernel has the pages that a thread there has touched, or the processes */
};

static char *memory;
static int file, other, pipes[2];
static char go_on[32]; /* the descriptors by which a case says that it is done, and waits for the end */
static struct iovec spans[1024];

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "silencebench: %s: %s\n", what, strerror(errno));
    _exit(STATUS_FAILED);
}

static char *map(size_t size, int flags)
{
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

    if (at == MAP_FAILED)
        fail("mmap");
    return at;
}

static void map_memory(void)
{
    memory = map(MEMORY, 0);
    if (madvise(memory, MEMORY, MADV_NOHUGEPAGE) != 0)
        fail("madvise");
}

static void touch(char *at, size_t size)
{
    for (size_t i = 0; i < size; i += PAGE)
        at[i] = 1;
}

static void fill_memory(void)
{
    map_memory();
    touch(memory, MEMORY);
}

/* As fill_memory, but from another kernel, where the frames are then. */
static void fill_elsewhere(void)
{
    int here = kettle_kernel();

    map_memory();
    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        fail("kettle_migrate");
    touch(memory, MEMORY);
    if (kettle_migrate(here) != 0)
        fail("kettle_migrate");
}

/* Memory that is made of AREAS areas. */
static void map_areas(void)
{
    memory = map(AREAS * PAGE, 0);
    for (size_t i = 0; i < AREAS; i += 2) {
        if (mprotect(memory + i * PAGE, PAGE, PROT_READ) != 0)
            fail("mprotect");
    }
}

static void unmap(void)
{
    if (munmap(memory, MEMORY) != 0)
        fail("munmap");
}

static void unmap_areas(void)
{
    if (munmap(memory, AREAS * PAGE) != 0)
        fail("munmap");
}

static void protect_areas(void)
{
    if (mprotect(memory, AREAS * PAGE, PROT_READ) != 0)
        fail("mprotect");
}

static void read_whole(const char *path)
{
    char *text = proc_file_read(path);

    if (text == NULL)
        fail(path);
    free(text);
}

static void read_maps(void)
{
    read_whole("/proc/self/maps");
}

static void protect(void)
{
    if (mprotect(memory, MEMORY, PROT_READ) != 0)
        fail("mprotect");
}

static void discard(void)
{
    if (madvise(memory, MEMORY, MADV_DONTNEED) != 0)
        fail("madvise");
}

static void fork_and_wait(void)
{
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void populate(void)
{
    map(MEMORY, MAP_POPULATE);
}

static void lock_memory(void)
{
    if (mlock(memory, MEMORY) != 0)
        fail("mlock");
}

static void remap_memory(void)
{
    char *to = map(MEMORY, 0);

    if (mremap(memory, MEMORY, MEMORY, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
        fail("mremap");
}

static void look_resident(void)
{
    unsigned char *there = malloc(MEMORY / PAGE);

    if (there == NULL || mincore(memory, MEMORY, there) != 0)
        fail("mincore");
}

/* 1024 spans of 1 MiB each, all of the same memory. */
static void make_spans(const char *path)
{
    char *at = map(MIB, 0);

    touch(at, MIB);
    for (int i = 0; i < 1024; i++)
        spans[i] = (struct iovec){at, MIB};
    file = open(path, O_RDWR);
    if (file < 0)
        fail(path);
}

static void null_spans(void)
{
    make_spans("/dev/null");
}

static void zero_spans(void)
{
    make_spans("/dev/zero");
}

static void write_spans(void)
{
    if (writev(file, spans, 1024) <= 0)
        fail("writev");
}

static void read_spans(void)
{
    if (readv(file, spans, 64) <= 0)
        fail("readv");
}

/* A file of FILE_SIZE bytes, all of them written, in FILE; an empty one in OTHER; memory for them. */
static void make_file(void)
{
    memory = map(FILE_SIZE, 0);
    touch(memory, FILE_SIZE);
    file = open("/silence", O_RDWR | O_CREAT | O_TRUNC, 0600);
    other = open("/silence2", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || other < 0)
        fail("/silence");
    for (size_t at = 0; at < FILE_SIZE; at += MIB) {
        if (write(file, memory + at, MIB) != (ssize_t)MIB)
            fail("write");
    }
    unlink("/silence");
    unlink("/silence2");
}

static void read_file(void)
{
    if (pread(file, memory, FILE_SIZE, 0) != (ssize_t)FILE_SIZE)
        fail("pread");
}

static void write_file(void)
{
    if (pwrite(other, memory, FILE_SIZE, 0) != (ssize_t)FILE_SIZE)
        fail("pwrite");
}

static void send_file(void)
{
    off_t at = 0;

    if (sendfile(other, file, &at, FILE_SIZE) != (ssize_t)FILE_SIZE)
        fail("sendfile");
}

static void truncate_file(void)
{
    if (ftruncate(file, 0) != 0)
        fail("ftruncate");
}

/* A file of LARGE_FILE bytes, all of them written. */
static void make_large_file(void)
{
    make_file();
    for (size_t at = FILE_SIZE; at < LARGE_FILE; at += FILE_SIZE) {
        if (pwrite(file, memory, FILE_SIZE, (off_t)at) != (ssize_t)FILE_SIZE)
            fail("pwrite");
    }
}

/* All pages but the first. */
static void cut_large_file(void)
{
    if (ftruncate(file, PAGE) != 0)
        fail("ftruncate");
}

/* A file of SPARSE_PAGES pages, each with a node of the file's table for itself. */
static void make_sparse_file(void)
{
    make_file();
    for (size_t i = 1; i <= SPARSE_PAGES; i++) {
        if (pwrite(file, memory, 1, (off_t)(i * SPARSE_STEP)) != 1)
            fail("pwrite");
    }
}

static void random_bytes(void)
{
    if (getrandom(memory, MEMORY, 0) < 0)
        fail("getrandom");
}

/* A pipe of PIPE_FULL bytes that is full. */
static void fill_pipe(void)
{
    memory = map(FILE_SIZE, 0);
    if (pipe(pipes) != 0 || fcntl(pipes[1], F_SETPIPE_SZ, PIPE_FULL) < 0)
        fail("pipe");
    for (size_t left = PIPE_FULL; left > 0; left -= FILE_SIZE) {
        if (write(pipes[1], memory, FILE_SIZE) != (ssize_t)FILE_SIZE)
            fail("write");
    }
}

static void resize_pipe(void)
{
    if (fcntl(pipes[1], F_SETPIPE_SZ, 8 * PIPE_FULL) < 0 || fcntl(pipes[1], F_SETPIPE_SZ, PIPE_FULL) < 0)
        fail("F_SETPIPE_SZ");
}

static void close_pipe(void)
{
    close(pipes[0]);
    close(pipes[1]);
}

/* Advice for memory of AREAS areas, which the kernel checks first, and the same memory locked. */
static void advise_areas(void)
{
    if (madvise(memory, AREAS * PAGE, MADV_WILLNEED) != 0 || madvise(memory, AREAS * PAGE, MADV_DONTFORK) != 0 ||
        mlock2(memory, AREAS * PAGE, MLOCK_ONFAULT) != 0)
        fail("advice");
}

/* 2000 processes that have ended and are not waited for. */
static void make_processes(void)
{
    for (int i = 0; i < 2000; i++) {
        pid_t child = fork();

        if (child < 0)
            fail("fork");
        if (child == 0)
            _exit(0);
    }
}

/* The same, at home on another kernel. */
static void make_processes_elsewhere(void)
{
    int here = kettle_kernel();

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        fail("kettle_migrate");
    make_processes();
    if (kettle_migrate(here) != 0)
        fail("kettle_migrate");
}

static void *thread_sleep(void *unused)
{
    pause();
    return unused;
}

static int left_threads; /* that have arrived elsewhere */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *thread_leave(void *unused)
{
    if (pthread_mutex_lock(&gate) != 0 || pthread_mutex_unlock(&gate) != 0 ||
        kettle_migrate((kettle_kernel() + 1) % kettle_kernels()) != 0)
        fail("kettle_migrate");
    __atomic_fetch_add(&left_threads, 1, __ATOMIC_RELEASE);
    return thread_sleep(unused);
}

/* COUNT threads that do WHAT. */
static void start_threads(int count, void *(*what)(void *unused))
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 4 * PAGE);
    for (int i = 0; i < count; i++) {
        errno = pthread_create(&thread, &attributes, what, NULL);
        if (errno != 0)
            fail("pthread_create");
    }
}

static void make_threads(void)
{
    start_threads(THREADS, thread_sleep);
}

static int looking, satisfied; /* threads that read from PIPES[0], and have read */

static void *thread_read(void *unused)
{
    char byte;

    __atomic_fetch_add(&looking, 1, __ATOMIC_RELEASE);
    if (read(pipes[0], &byte, 1) != 1)
        fail("read");
    __atomic_fetch_add(&satisfied, 1, __ATOMIC_RELEASE);
    return thread_sleep(unused);
}

static void make_readers(void)
{
    if (pipe(pipes) != 0)
        fail("pipe");
    start_threads(READERS, thread_read);
    while (__atomic_load_n(&looking, __ATOMIC_ACQUIRE) < READERS)
        usleep(1000);
    usleep(10000);
}

/* All wake up, and all but one find nothing and wait again. */
static void write_byte(void)
{
    if (write(pipes[1], "", 1) != 1)
        fail("write");
    while (__atomic_load_n(&satisfied, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    usleep(10000);
}

/* They are to move to another kernel, all at once. */
static void make_threads_leaving(void)
{
    pthread_mutex_lock(&gate);
    start_threads(THREADS, thread_leave);
}

static void let_threads_leave(void)
{
    pthread_mutex_unlock(&gate);
    while (__atomic_load_n(&left_threads, __ATOMIC_ACQUIRE) < THREADS)
        usleep(1000);
}

static pthread_t guest;
static atomic_bool guest_ends;

/* Uses the memory until it is told to end, wherever it is, and sleeps between: what a program does would count as the
 * silence of another kernel. */
static void *thread_use(void *all_cpus)
{
    if (sched_setaffinity(0, sizeof(cpu_set_t), all_cpus) != 0)
        fail("sched_setaffinity");
    while (!atomic_load(&guest_ends)) {
        touch(memory, SHARED);
        usleep(1000);
    }
    return NULL;
}

/* Memory that is here, a thread on another kernel that uses it, and THREADS that wait there and are in GROUP. */
static void make_guest_among_threads(void)
{
    static cpu_set_t all;
    cpu_set_t there;
    int here = kettle_kernel();

    memory = map(SHARED, 0);
    touch(memory, SHARED);
    if (sched_getaffinity(0, sizeof(all), &all) != 0 || kettle_migrate((here + 1) % kettle_kernels()) != 0)
        fail("kettle_migrate");
    CPU_ZERO(&there);
    CPU_SET((size_t)sched_getcpu(), &there);
    if (sched_setaffinity(0, sizeof(there), &there) != 0 || kettle_group_join(0, GROUP) != 0)
        fail("sched_setaffinity");
    make_threads();
    errno = pthread_create(&guest, NULL, thread_use, &all);
    if (errno != 0 || sched_setaffinity(0, sizeof(all), &all) != 0 || kettle_group_join(0, 0) != 0 ||
        kettle_migrate(here) != 0)
        fail("kettle_migrate");
}

static void set_option(const char *option)
{
    if (kettle_control(option) != 0)
        fail(option);
}

/* How often a kernel has been asked for a thread, and what became of it. */
static unsigned long draws(void)
{
    static const char *const results[] = {"drawn ", "fixed ", "unsure ", "crowded ", "costly ", "asleep "};
    char *text = proc_file_read("/proc/kettle/balance");
    unsigned long sum = 0;

    if (text == NULL)
        fail("/proc/kettle/balance");
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        for (const char *at = text; (at = strstr(at, results[i])) != NULL; at++)
            sum += strtoul(at + strlen(results[i]), NULL, 10);
    }
    free(text);
    return sum;
}

/* The kernel of the guest, which uses what is used here, too, is asked whether it lets a thread go. */
static void use_until_drawn(void)
{
    unsigned long before = draws();

    set_option("numaperiod=5");
    set_option("numa=kettle");
    while (draws() == before) {
        touch(memory, SHARED);
        usleep(1000);
    }
    set_option("numa=none");
    atomic_store(&guest_ends, true);
    pthread_join(guest, NULL);
}

/* The memory comes to the threads of its group, which a look at the guest's kernel has counted. */
static void use_until_gathered(void)
{
    size_t pages[KETTLE_NODES] = {0};

    set_option("numaperiod=5");
    set_option("numa=group");
    if (kettle_block_gather(memory, SHARED, GROUP) != 0)
        fail("kettle_block_gather");
    do {
        touch(memory, SHARED);
        usleep(1000);
        if (kettle_block_where(memory, SHARED, pages) < 0)
            fail("kettle_block_where");
    } while (pages[kettle_node(kettle_kernel())] != 0);
    set_option("numa=none");
    atomic_store(&guest_ends, true);
    pthread_join(guest, NULL);
}

static void make_threads_elsewhere(void)
{
    make_threads_leaving();
    let_threads_leave();
}

/* The new program goes on as this one would after RUN. */
static void exec_again(void)
{
    execl("/proc/self/exe", "silencebench", "--go-on", go_on, NULL);
    fail("exec");
}

/* CHILDREN processes that have ended and are not waited for. */
static void make_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        pid_t born = vfork();

        if (born < 0)
            fail("vfork");
        if (born == 0)
            _exit(0);
    }
}

/* Waits for none of them: they are in another process group. Then another child ends, in a group of its own, of which
 * the kernel looks whether it is orphaned now. */
static void look_at_children(void)
{
    siginfo_t info;
    pid_t last;

    if (waitid(P_PGID, 1, &info, WEXITED | WNOHANG) != -1 || errno != ECHILD)
        fail("waitid");
    last = fork();
    if (last < 0)
        fail("fork");
    if (last == 0) {
        setpgid(0, 0);
        _exit(0);
    }
    if (waitpid(last, NULL, 0) != last)
        fail("waitpid");
}

/* A process takes memory until it is killed. */
static void exhaust_memory(void)
{
    pid_t born = fork();
    int status;

    if (born < 0)
        fail("fork");
    if (born == 0) {
        for (;;)
            touch(map(MEMORY, 0), MEMORY);
    }
    if (waitpid(born, &status, 0) != born || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail("a process without memory");
}

/* Sends the descriptors FDS, COUNT of them, through TO. */
static void send_descriptors(int to, const int *fds, size_t count)
{
    char room[CMSG_SPACE(SENT_AT_ONCE * sizeof(int))] = {0}, byte = 0;
    struct iovec span = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &span, .msg_iovlen = 1, .msg_control = room, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);

    *control = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(control), fds, count * sizeof(int));
    if (sendmsg(to, &message, 0) != 1)
        fail("sendmsg");
}

/* CIRCLES sockets that are each in a packet of their own, all of them with their peers in packets to PIPES[1]. */
static void make_circles(void)
{
    int fds[SENT_AT_ONCE];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pipes) != 0)
        fail("socketpair");
    for (int done = 0; done < CIRCLES; done += SENT_AT_ONCE / 2) {
        for (int i = 0; i < SENT_AT_ONCE; i += 2) {
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds + i) != 0)
                fail("socketpair");
            send_descriptors(fds[i + 1], &fds[i], 1);
        }
        send_descriptors(pipes[0], fds, SENT_AT_ONCE);
        for (int i = 0; i < SENT_AT_ONCE; i++)
            close(fds[i]);
    }
}

/* First nobody is in a circle, but it has to be looked for; then all are. */
static void close_circles(void)
{
    close(dup(pipes[1]));
    close(pipes[1]);
    close(pipes[0]);
}

/* SENDERS sockets that wait for room and are connected to PIPES[0], in packets to PIPES[1]'s peer. */
static void make_senders(void)
{
    static const char name[] = "silence";
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name));
    int fds[SENT_AT_ONCE], kept[2];

    memcpy(to.sun_path + 1, name, sizeof(name) - 1);
    pipes[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (pipes[0] < 0 || bind(pipes[0], (struct sockaddr *)&to, length) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, kept) != 0)
        fail("socket");
    for (int done = 0; done < SENDERS; done += SENT_AT_ONCE) {
        for (int i = 0; i < SENT_AT_ONCE; i++) {
            struct pollfd poll_for = {.events = POLLIN};

            fds[i] = poll_for.fd = socket(AF_UNIX, SOCK_DGRAM, 0);
            if (fds[i] < 0 || connect(fds[i], (struct sockaddr *)&to, length) != 0 || poll(&poll_for, 1, 0) != 0)
                fail("connect");
        }
        if (done == 0 && send(fds[0], name, sizeof(name), 0) != (ssize_t)sizeof(name))
            fail("send");
        send_descriptors(kept[0], fds, SENT_AT_ONCE);
        for (int i = 0; i < SENT_AT_ONCE; i++)
            close(fds[i]);
    }
}

static void receive_and_close(void)
{
    char bytes[16];

    if (recv(pipes[0], bytes, sizeof(bytes), 0) < 0)
        fail("recv");
    close(pipes[0]);
}

/* STACKS stacks, which another kernel has mapped and touched, in leases of its own. */
static void map_stacks_elsewhere(void)
{
    int here = kettle_kernel();
    char *low = NULL, *high = NULL;

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        fail("kettle_migrate");
    for (size_t i = 0; i < STACKS; i++) {
        char *stack = map(STACK_PAGES * PAGE, 0);

        if (mprotect(stack, PAGE, PROT_NONE) != 0)
            fail("mprotect");
        touch(stack + (STACK_PAGES - 2) * PAGE, 2 * PAGE);
        low = low == NULL || stack < low ? stack : low;
        high = stack + STACK_PAGES * PAGE > high ? stack + STACK_PAGES * PAGE : high;
    }
    if (kettle_migrate(here) != 0)
        fail("kettle_migrate");
    if ((size_t)(high - low) != STACKS * STACK_PAGES * PAGE)
        fail("stacks one after the other");
    memory = low;
}

static void protect_stacks(void)
{
    if (mprotect(memory, STACKS * STACK_PAGES * PAGE, PROT_READ) != 0)
        fail("mprotect");
}

/* OPENERS processes with OPENED files each, which end with this one. */
static void make_openers(void)
{
    int ready[2];
    char byte = 0;

    if (pipe(pipes) != 0 || pipe(ready) != 0)
        fail("pipe");
    for (int i = 0; i < OPENERS; i++) {
        pid_t child = fork();

        if (child < 0)
            fail("fork");
        if (child == 0) {
            close(pipes[1]);
            for (int k = 0; k < OPENED; k++) {
                if (open("/dev/null", O_RDONLY) < 0)
                    fail("open");
            }
            (void)!write(ready[1], &byte, 1);
            (void)!read(pipes[0], &byte, 1);
            _exit(0);
        }
        if (read(ready[0], &byte, 1) != 1)
            fail("pipe");
    }
}

static void list_processes(void)
{
    static char names[1 << 16];
    int proc = open("/proc", O_RDONLY | O_DIRECTORY);

    if (proc < 0)
        fail("/proc");
    while (syscall(GETDENTS, proc, names, sizeof(names)) > 0)
        continue;
    close(proc);
}

static void signal_all(void)
{
    if (kill(0, 0) != 0)
        fail("kill");
}

static void audit(void)
{
    char text[512];

    if (kettle_audit(KETTLE_AUDIT_OWN, text, sizeof(text)) != 0)
        fail("audit");
}

static void audit_machine(void)
{
    char text[512];

    if (kettle_audit(KETTLE_AUDIT_MACHINE, text, sizeof(text)) != 0)
        fail("audit");
}

static void stop_other(void)
{
    if (kettle_stop((kettle_kernel() + 1) % kettle_kernels()) != 0)
        fail("kettle_stop");
}

/* The same, at home on another kernel, and so their files. */
static void make_openers_elsewhere(void)
{
    int here = kettle_kernel();

    if (kettle_migrate((here + 1) % kettle_kernels()) != 0)
        fail("kettle_migrate");
    make_openers();
    if (kettle_migrate(here) != 0)
        fail("kettle_migrate");
}

/* A file of FILE_SIZE bytes here, and MEMORY elsewhere. */
static void fill_file_and_elsewhere(void)
{
    make_file();
    fill_elsewhere();
}

/* A process of this kernel with 2,000 children, memory and files that another kernel has. */
static void make_part_elsewhere(void)
{
    int ready[2];
    char byte = 0;
    pid_t born;

    make_file();
    if (pipe(ready) != 0 || (born = fork()) < 0)
        fail("fork");
    if (born == 0) {
        make_processes_elsewhere();
        fill_elsewhere();
        for (int i = 0; i < OPENED; i++) {
            if (open("/dev/null", O_RDONLY) < 0)
                fail("open");
        }
        (void)!write(ready[1], &byte, 1);
        pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        fail("pipe");
}

static void kill_other(void)
{
    if (kettle_kill((kettle_kernel() + 1) % kettle_kernels(), KETTLE_KILL_NOW) != 0)
        fail("kettle_kill");
}

static const struct silence_case cases[] = {
    {"writev", "writev of 1 GiB to /dev/null", null_spans, write_spans, false},
    {"readv", "readv of 64 MiB of /dev/zero", zero_spans, read_spans, false},
    {"read_file", "pread of a file of 32 MiB", make_file, read_file, false},
    {"write_file", "pwrite of 32 MiB", make_file, write_file, false},
    {"sendfile", "sendfile of 32 MiB", make_file, send_file, false},
    {"truncate", "ftruncate of a file of 32 MiB", make_file, truncate_file, false},
    {"cut_file", "ftruncate of a file of 512 MiB to a page", make_large_file, cut_large_file, false},
    {"cut_sparse", "ftruncate of a file of 20,000 pages, 64 pages from each other", make_sparse_file, truncate_file,
     false},
    {"getrandom", "getrandom of 48 MiB", map_memory, random_bytes, false},
    {"setpipe", "F_SETPIPE_SZ of a full pipe of 128 MiB, to 1 GiB and back", fill_pipe, resize_pipe, false},
    {"closepipe", "close of a full pipe of 128 MiB", fill_pipe, close_pipe, false},
    {"exit", "exit of a process with 48 MiB", fill_memory, NULL, false},
    {"munmap", "munmap of 48 MiB", fill_memory, unmap, false},
    {"protect", "mprotect of 48 MiB", fill_memory, protect, false},
    {"discard", "MADV_DONTNEED of 48 MiB", fill_memory, discard, false},
    {"remap", "mremap of 48 MiB to another place", fill_memory, remap_memory, false},
    {"fork", "fork of a process with 48 MiB, and the child's end", fill_memory, fork_and_wait, false},
    {"populate", "mmap of 48 MiB with MAP_POPULATE", map_memory, populate, false},
    {"mlock", "mlock of 48 MiB", map_memory, lock_memory, false},
    {"mincore", "mincore of 48 MiB", fill_memory, look_resident, false},
    {"exit_far", "exit of a process with 48 MiB on another kernel", fill_elsewhere, NULL, true},
    {"munmap_far", "munmap of 48 MiB that another kernel has", fill_elsewhere, unmap, true},
    {"protect_far", "mprotect of 48 MiB that another kernel has", fill_elsewhere, protect, true},
    {"discard_far", "MADV_DONTNEED of 48 MiB that another kernel has", fill_elsewhere, discard, true},
    {"fork_far", "fork of a process with 48 MiB on another kernel", fill_elsewhere, fork_and_wait, true},
    {"areas_exit", "exit of a process with 20,000 areas", map_areas, NULL, false},
    {"areas_munmap", "munmap of 20,000 areas", map_areas, unmap_areas, false},
    {"areas_protect", "mprotect of 20,000 areas", map_areas, protect_areas, false},
    {"areas_advise", "madvise and mlock2 of 20,000 areas", map_areas, advise_areas, false},
    {"areas_fork", "fork of a process with 20,000 areas", map_areas, fork_and_wait, false},
    {"maps", "/proc/self/maps with 20,000 areas", map_areas, read_maps, false},
    {"processes", "list of /proc with 2,000 processes", make_processes, list_processes, false},
    {"kill", "kill(0, 0) with 2,000 processes", make_processes, signal_all, false},
    {"kill_far", "kill(0, 0) with 2,000 processes of another kernel", make_processes_elsewhere, signal_all, true},
    {"children", "a wait and a look at 20,000 children", make_children, look_at_children, false},
    {"children_exit", "exit of a process with 20,000 children", make_children, NULL, false},
    {"oom", "the choice of a process to kill among 2,000", make_processes, exhaust_memory, false},
    {"circles", "sockets in packets of each other, 3,000 of them", make_circles, close_circles, false},
    {"datagrams", "a receive from a socket that 3,000 are connected to, and its close", make_senders, receive_and_close,
     false},
    {"stacks_far", "mprotect of 750 stacks in leases of another kernel", map_stacks_elsewhere, protect_stacks, true},
    {"threads_exit", "exit of a process with 1,500 threads", make_threads, NULL, false},
    {"threads_exit_far", "exit of a process with 1,500 threads that have moved to another kernel",
     make_threads_elsewhere, NULL, true},
    {"draw_far", "a draw of one of 1,501 threads on another kernel", make_guest_among_threads, use_until_drawn, true},
    {"group_far", "looks for the NUMA groups of 1,501 threads on another kernel", make_guest_among_threads,
     use_until_gathered, true},
    {"threads_read", "a byte for 300 threads that read from a pipe", make_readers, write_byte, false},
    {"threads_move_far", "1,500 threads that move to another kernel at once", make_threads_leaving, let_threads_leave,
     true},
    {"events_poll", "an event for 1,500 threads that poll its file", events_make_polls, events_raise, false},
    {"events_read", "an event for 1,500 threads that read from its file", events_make_reads, events_raise_byte, false},
    {"events_sets", "an event for 900 sets with a waiting thread each", events_make_sets, events_raise, false},
    {"events_read_far", "an event for 1,500 threads of another kernel that read from its file",
     events_make_reads_elsewhere, events_raise_byte, true},
    {"poll_many", "a poll of 900 files", events_make_many_polled, events_poll_many, false},
    {"poll_many_far", "a poll of 900 files from another kernel", events_make_many_polled, events_poll_many_elsewhere,
     true},
    {"set_wait", "a wait for 1,024 of 1,800 ready files of a set", events_make_large_set, events_wait_large_set, false},
    {"set_close", "close of a set of 1,800 files", events_make_large_set, events_close_large_set, false},
    {"set_close_far", "close of 16 sets of 1,800 files by a process of another kernel", events_make_large_set_elsewhere,
     events_close_large_set_elsewhere, true},
    {"threads_exec", "exec of a process with 1,500 threads", make_threads, exec_again, false},
    {"audit", "audit of a process with 48 MiB", fill_memory, audit, false},
    {"audit_machine", "audit of the machine", fill_memory, audit_machine, false},
    {"audit_file", "audit of the machine with a file of 512 MiB", make_large_file, audit_machine, false},
    {"audit_sparse", "audit of the machine with a file of 20,000 pages, 64 pages from each other", make_sparse_file,
     audit_machine, false},
    {"audit_opens", "audit of the machine with 21,600 open files", make_openers, audit_machine, false},
    {"audit_processes", "audit of the machine with 2,000 processes", make_processes, audit_machine, false},
    {"stop_far", "stop of a kernel with 48 MiB, for its successor", fill_elsewhere, stop_other, true},
    {"stop_file_far", "stop of a kernel with 48 MiB, while another one has a file of 32 MiB", fill_file_and_elsewhere,
     stop_other, true},
    {"death_far", "death of a kernel that has 48 MiB and 2,000 children of a process", make_part_elsewhere, kill_other,
     true},
    {"fence_far", "death of a kernel for which 1,500 threads wait", events_make_reads_of_other, events_kill_other,
     true},
    {"stop_opens_far", "stop of a kernel with 21,600 open files, for its successor", make_openers_elsewhere, stop_other,
     true},
    {"stop_processes_far", "stop of a kernel with 2,000 processes, for its successor", make_processes_elsewhere,
     stop_other, true},
    {"audit_threads", "audit of the machine with a process of 1,500 threads", make_threads, audit_machine, false},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* The longest of the report's lines "kernel K ... silence N counts ..."; LINE is where it stands. */
static uint64_t longest(char **text, const char **line)
{
    uint64_t most = 0;

    *text = proc_file_read("/proc/kettle/silence");
    if (*text == NULL)
        fail("/proc/kettle/silence");
    for (char *at = strtok(*text, "\n"); at != NULL; at = strtok(NULL, "\n")) {
        const char *number = strstr(at, "silence ");
        uint64_t counts = number != NULL ? strtoull(number + 8, NULL, 10) : 0;

        if (counts >= most) {
            most = counts;
            *line = at;
        }
    }
    return most;
}

static void tell_and_wait(int ready, int go)
{
    char byte = 0;

    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        fail("pipe");
}

static _Noreturn void child_run(const struct silence_case *c, const int ready[2], const int go[2])
{
    c->prepare();
    snprintf(go_on, sizeof(go_on), "%d,%d", ready[1], go[0]);
    tell_and_wait(ready[1], go[0]);
    if (c->run != NULL) {
        c->run();
        tell_and_wait(ready[1], go[0]);
    }
    _exit(0);
}

/* False: the case failed. */
static bool measure(const struct silence_case *c, uint64_t *most)
{
    int ready[2], go[2], status;
    const char *line = "";
    char byte = 0, *text;
    pid_t child;

    if (pipe(ready) != 0 || pipe(go) != 0)
        fail("pipe");
    child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0)
        child_run(c, ready, go);
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1 && kettle_control("silence=clear") == 0 && write(go[1], &byte, 1) == 1 &&
        c->run != NULL && read(ready[0], &byte, 1) == 1) {
        *most = longest(&text, &line);
        if (write(go[1], &byte, 1) != 1)
            fail("pipe");
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        return false;
    if (c->run == NULL)
        *most = longest(&text, &line);
    printf("{\"case\": \"%s\", \"region\": 0, \"count\": 1, \"what\": \"%s\", \"silence\": %" PRIu64
           ", \"where\": \"%s\"}\n",
           c->name, c->what, *most, line);
    fflush(stdout);
    free(text);
    close(ready[0]);
    close(go[0]);
    close(go[1]);
    return true;
}

static bool chosen(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL && (at = strstr(at, name)) != NULL; at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return list == NULL;
}

/* Whether the machine has the kernels for it, and if a thread is to be drawn, or a group's memory, the nodes. */
static bool is_possible(const struct silence_case *c)
{
    int here = kettle_kernel();

    if (c->elsewhere && kettle_kernels() < 2)
        return false;
    return c->prepare != make_guest_among_threads || kettle_node(here) != kettle_node((here + 1) % kettle_kernels());
}

int main(int argc, char **argv)
{
    const char *list = NULL;
    uint64_t limit = UINT64_MAX;
    int status = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cases") == 0 && i + 1 < argc)
            list = argv[++i];
        else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc)
            limit = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--quick") == 0)
            continue; /* as other benchmarks have them: there is no other output, and nothing to shorten */
        else if (strcmp(argv[i], "--go-on") == 0 && i + 1 < argc) {
            int ready, go;

            if (sscanf(argv[++i], "%d,%d", &ready, &go) != 2)
                return STATUS_USAGE;
            tell_and_wait(ready, go);
            return 0;
        } else if (strcmp(argv[i], "--list") == 0) {
            for (size_t k = 0; k < CASES; k++)
                puts(cases[k].name);
            return 0;
        } else {
            fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
            return strcmp(argv[i], "--help") == 0 ? 0 : STATUS_USAGE;
        }
    }
    for (size_t i = 0; i < CASES; i++) {
        uint64_t most = 0;

        if (!chosen(list, cases[i].name) || !is_possible(&cases[i]))
            continue;
        if (!measure(&cases[i], &most) || most > limit) {
            printf("silencebench: %s: %s\n", cases[i].name, most > limit ? "too long" : "failed");
            status = STATUS_FAILED;
        }
    }
    return status;
}
