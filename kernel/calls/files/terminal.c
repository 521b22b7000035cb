/* ioctl(2) on terminals. Kernel 0 has the terminals and performs them; the request has the facts about the caller that
 * it needs. See kernel/tty/terminal.md. */
#include "kernel/calls/files/terminal.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/file/remote.h"
#include "kernel/lib/string.h"
#include "kernel/tty/job.h"
#include "kernel/tty/tty.h"
#include "mm/user/user_copy.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/thread.h"

/* The meaning of the third argument. */
enum {
    TAKES_NUMBER,
    READS,
    WRITES,
    ABOUT_SESSION, /* a number; the caller's identity goes with it */
    READS_GROUP,   /* address of a process group; the caller's identity goes with it */
    WRITES_ABOUT_SESSION
};

static const struct command {
    uint32_t number;
    uint8_t argument;
    uint8_t size; /* bytes at the address */
} commands[] = {
    {TCGETS, WRITES, 36},
    {TCSETS, READS, 36},
    {TCSETSW, READS, 36},
    {TCSETSF, READS, 36},
    {TCSBRK, TAKES_NUMBER, 0},
    {TCSBRKP, TAKES_NUMBER, 0},
    {TCXONC, TAKES_NUMBER, 0},
    {TCFLSH, TAKES_NUMBER, 0},
    {TIOCEXCL, TAKES_NUMBER, 0},
    {TIOCNXCL, TAKES_NUMBER, 0},
    {TIOCGEXCL, WRITES, 4},
    {TIOCOUTQ, WRITES, 4},
    {TIOCGWINSZ, WRITES, 8},
    {TIOCSWINSZ, READS, 8},
    {TIOCPKT, READS, 4},
    {TIOCGPKT, WRITES, 4},
    {TIOCGPTN, WRITES, 4},
    {TIOCSPTLCK, READS, 4},
    {TIOCGPTLCK, WRITES, 4},
    {TIOCSIG, TAKES_NUMBER, 0},
    {TIOCGPTPEER, TAKES_NUMBER, 0},
    {TIOCSCTTY, ABOUT_SESSION, 0},
    {TIOCNOTTY, ABOUT_SESSION, 0},
    {TIOCSPGRP, READS_GROUP, 4},
    {TIOCGPGRP, WRITES_ABOUT_SESSION, 4},
    {TIOCGSID, WRITES_ABOUT_SESSION, 4},
};

static const struct command *find_command(uint32_t number)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (commands[i].number == number)
            return &commands[i];
    }
    return NULL;
}

/* Writes the data of the request to DATA. */
static int64_t prepare(const struct command *command, uint64_t argument, void *data)
{
    struct tty_identity who = {.argument = (uint32_t)argument};
    int64_t error = 0;

    switch (command->argument) {
    case TAKES_NUMBER:
        memcpy(data, &argument, sizeof(argument));
        return 0;
    case READS:
        return user_read(data, argument, command->size);
    case READS_GROUP:
        error = user_read(&who.argument, argument, sizeof(who.argument));
        break;
    case WRITES:
        return 0;
    default:
        break;
    }
    job_identity(&who, command->argument == READS_GROUP ? who.argument : 0);
    memcpy(data, &who, sizeof(who));
    return error;
}

/* Installs the file that TIOCGPTPEER has opened as a descriptor. */
static int64_t install_peer(uint64_t id, uint32_t kernel, uint64_t flags)
{
    struct file_place place = {.id = id, .kernel = kernel};
    uint32_t session = UINT32_MAX; /* with O_NOCTTY: job_opened then does not make it the controlling terminal */

    if ((flags & OPEN_NO_TERMINAL) == 0)
        session = 0;
    job_opened(&place, session, (uint32_t)flags);
    return files_give(MSG_FILE_INSTALL, &place, (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0);
}

bool terminal_ioctl(int64_t fd, uint32_t number, uint64_t argument, int64_t *result)
{
    const struct command *command = find_command(number);
    struct file_request request = {.operation = MSG_FILE_CONTROL,
                                   .fd = (int32_t)fd,
                                   .control = {.command = number, .group = command != NULL ? job_group() : 0}};
    uint64_t data[FILE_CONTROL_MAX / 8] = {0}, out[FILE_CONTROL_MAX / 8];
    struct file_answer answer;

    if (command == NULL)
        return false;
    if (prepare(command, argument, data) != 0) {
        *result = files_error(fd, -EFAULT);
        return true;
    }
    do {
        *result = file_call(thread_current()->group, &request, data, sizeof(data), out, sizeof(out), &answer);
        if (*result != -TTY_WHO)
            break;
        *result = job_check(&request.control.group, &answer, SIGTTOU);
    } while (*result == 0);
    if (*result == -EIO && number == TIOCSPGRP)
        *result = -ENOTTY;
    if (*result != 0)
        return true;
    if (command->argument == WRITES || command->argument == WRITES_ABOUT_SESSION)
        *result = user_write(argument, out, command->size);
    else if (number == TIOCGPTPEER)
        *result = install_peer(out[0], answer.kernel, argument);
    return true;
}
