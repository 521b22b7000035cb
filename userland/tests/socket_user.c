/* Who has sent what, of test-sockets: SO_PASSCRED on streams and on what is written without a message. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/tests/socket.h"
#include "userland/tests/tap.h"

#define BIG 1000000u /* bytes, more than a socket takes */

static char bytes[BIG];

static volatile sig_atomic_t broken;

static void note_broken(int signal)
{
    (void)signal;
    broken++;
}

void socket_test_broken_later(void)
{
    ssize_t count;
    pid_t child;
    int status;

    if (!socket_make(SOCK_STREAM))
        return;
    signal(SIGPIPE, note_broken);
    broken = 0;
    child = fork();
    if (child == 0) {
        close(socket_pair[0]);
        _exit(recv(socket_pair[1], bytes, 5000, MSG_WAITALL) == 5000 ? 0 : 1);
    }
    close(socket_pair[1]);
    count = write(socket_pair[0], bytes, BIG);
    EXPECT(count >= 5000 && count < BIG && broken == 0, "%ld, %d signals", (long)count, (int)broken);
    EXPECT(waitpid(child, &status, 0) == child && status == 0, "%#x", status);
    EXPECT(recv(socket_pair[0], bytes, 1, 0) <= 0, "bytes"); /* takes the error that an end with unread bytes leaves */
    EXPECT_ERROR(write(socket_pair[0], bytes, 1), EPIPE);
    EXPECT(broken == 1, "%d signals", (int)broken);
    signal(SIGPIPE, SIG_DFL);
    close(socket_pair[0]);
}
