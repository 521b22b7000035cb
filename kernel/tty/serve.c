/* The interfaces of terminals for other rooms. See the header. */
#include "kernel/tty/serve.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/wire.h"
#include "kernel/fs/device/device.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/tty/pty.h"
#include "kernel/tty/terminal.h"
#include "kernel/tty/tty.h"
#include "tasks/remote/operation.h"

/* --- devices --- */

static bool has(uint64_t number)
{
    return terminal_is(number) || tty_is_slave(number);
}

static bool put_path(uint64_t number, char *out, size_t size)
{
    if (!tty_is_slave(number))
        return false;
    snprintf(out, size, "/dev/pts/%lu", (unsigned long)((number & 0xff) | (number >> 12 & ~0xffull)));
    return true;
}

static const struct device_name names[] = {
    {"console", TERMINAL_CONSOLE}, {"tty", TTY_OWN}, {"ttyS0", TERMINAL_DEVICE}, {"ptmx", TTY_MULTIPLEX}};

/* --- files without a name --- */

static int take_words(const void *data, size_t size, uint32_t words[2])
{
    if (size != 2 * sizeof(words[0]) || instance.kernel != 0)
        return -EPROTO;
    memcpy(words, data, size);
    return 0;
}

static int make_master(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    uint32_t words[2]; /* flags of open, user */
    int error = take_words(data, size, words);

    (void)flags;
    return error != 0 ? error : (int)pty_create(words[0], words[1], &made[0]);
}

static int make_own(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    uint32_t words[2]; /* flags of open, session */
    int error = take_words(data, size, words);

    (void)flags;
    return error != 0 ? error : (int)tty_open_own(words[1], words[0], &made[0]);
}

/* --- operations about sessions --- */

static int end_session(const struct remote_request *request, void *result)
{
    const struct msg_session *asked = request->data;

    (void)result;
    tty_session_ended(asked->session);
    return 0;
}

static int find_terminal(const struct remote_request *request, void *result)
{
    const struct msg_session *asked = request->data;

    *(struct msg_session_terminal *)result = (struct msg_session_terminal){tty_of_session(asked->session)};
    return sizeof(struct msg_session_terminal);
}

void tty_serve_init(void)
{
    device_terminals = (struct device_terminals){
        .names = names, .count = sizeof(names) / sizeof(names[0]), .has = has, .open = tty_open, .path = put_path};
    anonymous_register(ANONYMOUS_PTY, make_master);
    anonymous_register(ANONYMOUS_TERMINAL, make_own);
    REMOTE_SERVE(SESSION_ENDED, end_session, NULL, struct msg_session, struct msg_none);
    REMOTE_SERVE(SESSION_TERMINAL, find_terminal, NULL, struct msg_session, struct msg_session_terminal);
}
