/* mbind of shared memory and of memfds sets the object's policy, whichever mapping it is asked of. */
#include "abi.h"
#include <sys/syscall.h>

#define PAGES 8
#define DEFAULT 0
#define PREFERRED 1
#define BIND 2
#define F_NODE 1
#define F_ADDR 2

static void policy_at(const char *name, char *a)
{
    unsigned long nodes = 0;
    int mode = -1;
    long done = syscall(SYS_get_mempolicy, &mode, &nodes, 65ul, a, F_ADDR);
    printf("  %s: %s %d of %lx\n", name, done == 0 ? "mode" : strerror(errno), mode, nodes);
}

static void node_at(const char *name, char *a)
{
    int node = -1;
    long done = syscall(SYS_get_mempolicy, &node, NULL, 0ul, a, F_ADDR | F_NODE);
    printf("  %s: %s %d\n", name, done == 0 ? "on node" : strerror(errno), node);
}

static void set(const char *name, char *a, int pages, int mode, unsigned long nodes)
{
    long done = syscall(SYS_mbind, a, pages * PAGE, mode, &nodes, 65ul, 0);
    printf("%s: %s\n", name, done == 0 ? "0" : strerror(errno));
}

static char *map(int fd, int prot, int flags)
{
    char *a = mmap(NULL, PAGES * PAGE, prot, flags, fd, 0);
    MUST((long)a);
    return a;
}

static void of_memfd(void)
{
    int fd = (int)MUST(memfd_create("object", 0)), reader;
    char name[64], *w, *r, *p;
    MUST(ftruncate(fd, PAGES * PAGE));
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    reader = (int)MUST(open(name, O_RDONLY));
    w = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    r = map(reader, PROT_READ, MAP_SHARED);
    p = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);

    set("writable", w, 1, BIND, 1);
    policy_at("writable", w);
    policy_at("opened for reading", r);
    policy_at("private", p);

    set("opened for reading", r + PAGE, 2, BIND, 2);
    policy_at("writable", w + PAGE);
    policy_at("opened for reading", r + PAGE);
    policy_at("the page behind", w + 3 * PAGE);
    w[PAGE] = 1;
    node_at("written", w + PAGE);

    set("private", p + 4 * PAGE, 2, BIND, 2);
    policy_at("writable", w + 4 * PAGE);
    policy_at("private", p + 4 * PAGE);
    p[4 * PAGE] = 1;
    node_at("the copy", p + 4 * PAGE);
    w[5 * PAGE] = 1;
    node_at("the object's page", w + 5 * PAGE);

    set("opened for reading, none again", r + PAGE, 1, DEFAULT, 0);
    policy_at("writable", w + PAGE);
    policy_at("writable", w + 2 * PAGE);

    MUST(munmap(r, PAGES * PAGE));
    MUST(close(reader));
    policy_at("when the reader has gone", w + 2 * PAGE);
}

static void of_segment(void)
{
    int id = (int)MUST(shmget(IPC_PRIVATE, PAGES * PAGE, IPC_CREAT | 0600));
    char *w = shmat(id, NULL, 0), *r = shmat(id, NULL, SHM_RDONLY);
    MUST((long)w);
    MUST((long)r);
    MUST(shmctl(id, IPC_RMID, NULL));
    set("attached for reading", r, 2, PREFERRED, 2);
    policy_at("writable", w);
    policy_at("the page behind", w + 2 * PAGE);
    w[0] = 1;
    node_at("written", w);
}

int main(void)
{
    puts("memfd");
    of_memfd();
    puts("System V");
    of_segment();
    return 0;
}
