/* The ioctls of terminals, which check in the order of Linux's drivers/tty. See tty.h. */
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/lib/string.h"
#include "kernel/tty/tty.h"

enum { STOP_OUTPUT, START_OUTPUT, SEND_STOP, SEND_START }; /* TCXONC */

static int64_t flush(struct tty *tty, bool master, uint32_t which, struct tty_after *after)
{
    bool input = which != FLUSH_OUTPUT, output = which != FLUSH_INPUT;

    if (which > FLUSH_BOTH)
        return -EINVAL;
    if (master) { /* the terminal's output is the master's input, and the reverse */
        bool other = input;

        input = output;
        output = other;
    }
    if (input) {
        line_flush(&tty->line);
        tty->flushed |= TTY_FLUSHED_INPUT;
    }
    if (output) {
        tty->output.tail = tty->output.head;
        tty->flushed |= TTY_FLUSHED_OUTPUT;
    }
    after->event = true;
    return 0;
}

static int64_t flow(struct tty *tty, uint32_t what)
{
    switch (what) {
    case STOP_OUTPUT:
    case START_OUTPUT:
        line_hold(&tty->line, what == STOP_OUTPUT);
        return 0;
    case SEND_STOP:
    case SEND_START: {
        uint8_t byte = tty->line.modes.characters[what == SEND_STOP ? LINE_VSTOP : LINE_VSTART];

        if (byte != 0)
            tty->line.side->send(tty->line.context, byte);
        return 0;
    }
    default:
        return -EINVAL;
    }
}

/* New modes take effect at once: earlier output has already been processed. */
static void set_modes(struct tty *tty, const void *data, bool flushing, struct tty_after *after)
{
    struct line_modes modes;

    memcpy(&modes, data, sizeof(modes));
    line_set_modes(&tty->line, &modes, flushing);
    after->event = true; /* the new modes may make input readable */
}

static void set_window(struct tty *tty, const void *data, struct tty_after *after)
{
    if (memcmp(tty->window, data, sizeof(tty->window)) == 0)
        return;
    memcpy(tty->window, data, sizeof(tty->window));
    after->signals |= 1u << SIGWINCH;
    after->group = tty->foreground;
}

static int64_t set_foreground(struct tty *tty, const struct tty_identity *who)
{
    if ((int32_t)who->argument < 0)
        return -EINVAL;
    if (tty->session == 0 || tty->session != who->session)
        return -ENOTTY;
    if (who->found == 0)
        return -ESRCH;
    if (who->found_session != who->session)
        return -EPERM;
    tty->foreground = who->argument;
    return 0;
}

/* The commands about the session. */
static int64_t control_session(struct tty *tty, bool master, uint32_t command, void *data, struct tty_after *after)
{
    struct tty_identity who;
    bool own;
    uint32_t number = 0;

    memcpy(&who, data, sizeof(who));
    own = tty->session != 0 && tty->session == who.session;
    switch (command) {
    case TIOCGPGRP:
        if (!master && !own)
            return -ENOTTY;
        number = tty->foreground;
        break;
    case TIOCSPGRP:
        return set_foreground(tty, &who);
    case TIOCGSID:
        if ((!master && !own) || tty->session == 0)
            return -ENOTTY;
        number = tty->session;
        break;
    default: /* TIOCNOTTY */
        if (!own || master)
            return -ENOTTY;
        if (who.process != who.session)
            return 0; /* the session keeps it; see terminal.md */
        after->signals |= 1u << SIGHUP | 1u << SIGCONT;
        after->group = tty->foreground;
        tty->session = tty->foreground = 0;
        return 0;
    }
    memcpy(data, &number, sizeof(number));
    return 0;
}

int64_t tty_control_locked(struct tty *tty, bool master, uint32_t command, void *data, struct tty_after *after)
{
    uint32_t number;

    memcpy(&number, data, sizeof(number));
    switch (command) {
    case TCGETS:
        memcpy(data, &tty->line.modes, sizeof(tty->line.modes));
        return 0;
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
        set_modes(tty, data, command == TCSETSF, after);
        return 0;
    case TCFLSH:
        return flush(tty, master, number, after);
    case TCSBRK: /* no break is sent, and the driver sends written bytes without being asked */
    case TCSBRKP:
        return 0;
    case TCXONC:
        return flow(tty, number);
    case TIOCEXCL:
    case TIOCNXCL:
        tty->exclusive = command == TIOCEXCL;
        return 0;
    case TIOCGEXCL:
        number = tty->exclusive ? 1 : 0;
        break;
    case TIOCOUTQ:
        number = master ? 0 : tty_ring_used(&tty->output);
        break;
    case TIOCINQ:
        number = master ? tty_ring_used(&tty->output) : line_bytes(&tty->line);
        break;
    case TIOCGWINSZ:
        memcpy(data, tty->window, sizeof(tty->window));
        return 0;
    case TIOCSWINSZ:
        set_window(tty, data, after);
        return 0;
    case TIOCGPGRP:
    case TIOCSPGRP:
    case TIOCGSID:
    case TIOCNOTTY:
        return control_session(tty, master, command, data, after);
    default:
        return -ENOTTY;
    }
    memcpy(data, &number, sizeof(number));
    return 0;
}
