/* test-socket-race: threads that close a socket while others use it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/guest/harness/open_files.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"
#include "userland/x86.h"

#define ROUNDS 1000

static const struct sockaddr_un name = {AF_UNIX, "\0test-socket-race"};
static int client;
static atomic_int begun, ended;

/* Connects once in each round, whatever comes of it. */
static void connect_often(struct thread *thread)
{
    for (int i = 1; i <= ROUNDS && thread_wait(&begun, i); i++) {
        x86_syscall3(SYS_connect, client, (long)&name, sizeof(name));
        ended = i;
    }
    thread->result = begun == ROUNDS ? 0 : -1;
}

/* A connection whose other end has been closed, before or after it was made, is one that has ended. */
static void test_connect_and_close(void)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), made = 0;
    struct thread other = {.index = 0};
    uint64_t random = 5;
    char byte;

    begun = ended = 0;
    if (!CHECK(bind(listener, (const struct sockaddr *)&name, sizeof(name)) == 0 && listen(listener, 5) == 0 &&
                   thread_start(&other, connect_often),
               "%s", strerror(errno)))
        return;
    for (int i = 1; i <= ROUNDS; i++) {
        int end;

        client = socket(AF_UNIX, SOCK_STREAM, 0);
        begun = i;
        for (uint64_t turns = tap_random(&random) % 300; turns > 0 && ended < i; turns--)
            x86_pause();
        close(client);
        if (!CHECK(thread_wait(&ended, i), "round %d", i))
            break;
        end = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (end < 0)
            continue;
        made++;
        if (!CHECK(read(end, &byte, 1) == 0, "round %d: %s", i, strerror(errno)))
            break;
        close(end);
    }
    begun = ROUNDS;
    CHECK(thread_join(&other), "the thread ends");
    tap_note("%d connections in %d rounds", made, ROUNDS);
    close(listener);
}

static const struct tap_test tests[] = {
    {"connect-and-close", "a socket that is closed while it connects has no connection", test_connect_and_close},
    {"open-files", "nothing is left open", open_files_test},
};

int main(int argc, char **argv)
{
    open_files_note();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
