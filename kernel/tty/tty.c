/* Terminals: reading, writing, polling, sessions; the table of terminals. See the header. */
#include "kernel/tty/tty.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/lib/string.h"
#include "kernel/tty/pty.h"
#include "kernel/tty/terminal.h"
#include "mm/frame/heap.h"
#include "tasks/family/session.h"
#include "tasks/family/set.h"
#include "tasks/process/process.h"

/* The session of a hung-up terminal, whose foreground group is signalled when the session's leader ends. */
struct left {
    struct list node; /* [t] */
    uint32_t session, foreground;
};

static struct spinlock ttys_lock;                        /* taken before a terminal's lock */
static struct list ttys = {&ttys, &ttys};                /* [t] */
static struct list left_over = {&left_over, &left_over}; /* [t] struct left */

/* --- output and input --- */

static void send(void *context, uint8_t byte)
{
    struct tty *tty = context;
    struct tty_ring *ring = &tty->output;

    if (tty_ring_used(ring) == ring->size)
        return; /* echo is lost when the ring is full */
    ring->bytes[ring->head % ring->size] = byte;
    __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE); /* an NMI may stop this CPU: terminal_flush */
}

static void discard(void *context)
{
    struct tty *tty = context;

    tty->output.tail = tty->output.head;
    tty->flushed |= TTY_FLUSHED_INPUT | TTY_FLUSHED_OUTPUT;
}

void tty_init(struct tty *tty)
{
    static const struct line_output_side side = {send, discard};

    list_init(&tty->node);
    file_events_init(&tty->events);
    line_init(&tty->line, &side, tty);
}

void tty_add(struct tty *tty)
{
    spin_lock(&ttys_lock);
    list_append(&ttys, &tty->node);
    spin_unlock(&ttys_lock);
}

uint32_t tty_room_locked(const struct tty *tty)
{
    uint32_t room = tty->output.size - tty_ring_used(&tty->output);

    if (tty->holds_writers && tty->line.stopped)
        return 0;
    return room > TTY_ECHO_ROOM ? room - TTY_ECHO_ROOM : 0;
}

void tty_input_locked(struct tty *tty, uint8_t byte, struct tty_after *after)
{
    uint32_t signal = line_input(&tty->line, byte);

    if (signal != 0 && tty->foreground != 0) { /* AFTER keeps the signals and the group of earlier bytes */
        after->signals |= 1u << signal;
        after->group = tty->foreground;
    }
}

void tty_readable_locked(struct tty *tty, struct tty_after *after)
{
    if (tty->read_wanted || file_events_polled(&tty->events)) {
        tty->read_wanted = false;
        after->event = true;
    }
}

void tty_move_locked(struct tty *tty, struct tty_after *after)
{
    tty->driver->pull(tty, after);
    tty->driver->push(tty, after);
    if (tty->write_wanted && tty_room_locked(tty) >= tty->output.size / 2) {
        tty->write_wanted = false;
        after->event = true;
    }
}

void tty_finish(struct tty *tty, const struct tty_after *after)
{
    if (after->event)
        file_event(&tty->events);
    if (after->master_event)
        tty->driver->notify(tty);
    for (uint32_t signal = 1; signal < 32 && after->signals != 0; signal++) {
        if ((after->signals >> signal & 1) != 0 && after->group != 0)
            process_group_signal(after->group, signal);
    }
}

static int64_t read_locked(struct tty *tty, void *data, size_t size, bool at_once, bool late)
{
    int64_t result;

    if (!line_readable(&tty->line, size, late || (at_once && line_available(&tty->line) > 0)))
        return tty->hung ? 0 : -EAGAIN;
    result = (int64_t)line_read(&tty->line, data, size);
    if (result == 0 && !tty->line.finished && !tty->hung && (tty->line.modes.local & LINE_ICANON) == 0 &&
        tty->line.modes.characters[LINE_VMIN] != 0)
        return -EAGAIN; /* the only entry was a line's end without a byte, from before the change to raw mode */
    return result;
}

static int64_t read(struct file *file, void *data, size_t size, bool late, uint32_t *tenths)
{
    struct tty *tty = file->state;
    struct tty_after after = {.event = false};
    int64_t result;

    spin_lock(&tty->lock);
    result = tty->hung ? 0 : read_locked(tty, data, size, (file->flags & OPEN_NONBLOCK) != 0, late);
    if (result == -EAGAIN) {
        tty->read_wanted = true;
        *tenths = line_timeout(&tty->line);
    }
    tty_move_locked(tty, &after);
    spin_unlock(&tty->lock);
    tty_finish(tty, &after);
    return result;
}

int64_t tty_read(struct file *file, void *data, size_t size)
{
    uint32_t tenths;

    return read(file, data, size, false, &tenths);
}

int64_t tty_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct tty *tty = file->state;
    const uint8_t *bytes = data;
    struct tty_after after = {.event = false};
    size_t done = 0;
    bool hung;

    (void)flags;
    spin_lock(&tty->lock);
    hung = tty->hung;
    while (!hung && done < size && tty_room_locked(tty) >= LINE_SENT_MAX) {
        while (done < size && tty_room_locked(tty) >= LINE_SENT_MAX)
            line_output(&tty->line, bytes[done++]);
        tty->driver->push(tty, &after);
    }
    tty->write_wanted |= done == 0;
    spin_unlock(&tty->lock);
    tty_finish(tty, &after);
    return hung ? -EIO : done > 0 ? (int64_t)done : -EAGAIN;
}

uint32_t tty_poll(struct file *file)
{
    struct tty *tty = file->state;
    uint32_t result = 0;

    spin_lock(&tty->lock);
    if (tty->hung || line_polls(&tty->line))
        result |= POLL_IN | POLL_IN_NORMAL;
    else
        tty->read_wanted = true;
    if (tty->line.finished || tty->hung)
        result |= POLL_HUP;
    if (tty->hung)
        result |= POLL_ERR;
    if (tty->hung || tty_room_locked(tty) >= LINE_SENT_MAX)
        result |= POLL_OUT | POLL_OUT_NORMAL;
    else
        tty->write_wanted = true;
    spin_unlock(&tty->lock);
    return result;
}

static struct tty *find_session_locked(uint32_t session)
{
    list_for_each(node, &ttys) {
        struct tty *tty = container_of(node, struct tty, node);

        if (session != 0 && tty->session == session)
            return tty;
    }
    return NULL;
}

/* Removes the entries of SESSION in left_over. Returns the foreground group of the last one; 0: there was none. */
static uint32_t take_left_locked(uint32_t session)
{
    uint32_t group = 0;

    list_for_each_safe(node, &left_over) {
        struct left *left = container_of(node, struct left, node);

        if (left->session != session)
            continue;
        group = left->foreground;
        list_remove(&left->node);
        heap_free(left, sizeof(*left));
    }
    return group;
}

/* Makes the terminal the controlling terminal of the caller's session, as Linux's tiocsctty does. */
static int64_t adopt(const struct file *file, uint32_t command, const void *data)
{
    struct tty *tty = file->state;
    bool by_opening = command == TIOC_ADOPT, reads = (file->flags & OPEN_ACCESS) != 1;
    struct tty_identity who;
    int64_t result = 0;

    memcpy(&who, data, sizeof(who));
    spin_lock(&ttys_lock);
    spin_lock(&tty->lock);
    if (tty->hung)
        result = -EIO;
    else if (who.process == who.session && tty->session == who.session)
        result = 0; /* it already is its controlling terminal */
    else if (who.process != who.session || find_session_locked(who.session) != NULL)
        result = -EPERM;
    else if (tty->session != 0 && (by_opening || who.argument != 1 || who.root == 0))
        result = -EPERM; /* only root may take it from another session, with argument 1 */
    else if ((!reads && (by_opening || who.root == 0)) || (by_opening && file->facts.number == TERMINAL_CONSOLE))
        result = -EPERM; /* an open for writing only must not make it the controlling terminal */
    else {
        take_left_locked(who.session); /* this terminal replaces one that was hung up */
        tty->session = who.session;
        tty->foreground = who.group;
    }
    spin_unlock(&tty->lock);
    spin_unlock(&ttys_lock);
    return result;
}

int64_t tty_control(struct file *file, uint32_t command, void *data)
{
    struct tty *tty = file->state;
    struct tty_after after = {.event = false};
    int64_t result;

    if (command == TIOCSCTTY || command == TIOC_ADOPT)
        return adopt(file, command, data);
    spin_lock(&tty->lock);
    result = tty->hung ? -EIO : tty_control_locked(tty, false, command, data, &after);
    tty_move_locked(tty, &after);
    spin_unlock(&tty->lock);
    tty_finish(tty, &after);
    return result;
}

/* True if the caller, whose process group is in REQUEST, is in the background and may not perform it. */
static bool is_background_locked(const struct tty *tty, const struct file_request *request)
{
    uint32_t group = request->operation == MSG_FILE_CONTROL ? request->control.group : request->move.group;

    return tty->session != 0 && !tty->hung && group != TTY_ANYBODY && group != tty->foreground;
}

/* Commands that a job in the background must not perform (tty_check_change of Linux). */
static bool is_for_foreground(uint32_t command)
{
    switch (command) {
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
    case TCSBRK:
    case TCSBRKP:
    case TCXONC:
    case TCFLSH:
    case TIOCSPGRP:
        return true;
    default:
        return false;
    }
}

/* True if REQUEST is subject to job control: reads, changes of modes, and writes with TOSTOP. */
static bool is_checked_locked(const struct tty *tty, uint32_t access, const struct file_request *request)
{
    switch (request->operation) {
    case MSG_FILE_READ:
        return access != 1; /* the file must be open for reading */
    case MSG_FILE_WRITE:
        return access != 0 && (tty->line.modes.local & LINE_TOSTOP) != 0;
    case MSG_FILE_CONTROL:
        return is_for_foreground(request->control.command);
    default:
        return false;
    }
}

int64_t tty_act(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                size_t room, struct file_answer *answer)
{
    struct tty *tty = file->state;
    uint32_t tenths = 0;
    bool background;
    int64_t value;

    (void)data;
    (void)size;
    spin_lock(&tty->lock);
    background = is_checked_locked(tty, file->flags & OPEN_ACCESS, request) && is_background_locked(tty, request);
    if (background)
        answer->seen = tty->session;
    spin_unlock(&tty->lock);
    if (background)
        return -TTY_WHO;
    if (request->operation != MSG_FILE_READ || (file->flags & OPEN_ACCESS) == 1 || room == 0)
        return FILE_AS_ANY;
    value = read(file, result, room, (request->move.flags & TTY_LATE) != 0, &tenths);
    if (value == -EAGAIN)
        answer->tenths = tenths;
    return value;
}

/* --- sessions --- */

void tty_hang_up(struct tty *tty)
{
    struct left *left = heap_alloc(sizeof(*left));
    struct tty_after after = {.event = true};
    uint32_t session, foreground;

    spin_lock(&ttys_lock);
    list_remove(&tty->node);
    spin_lock(&tty->lock);
    session = tty->session;
    foreground = tty->foreground;
    tty->hung = true;
    tty->session = tty->foreground = 0;
    spin_unlock(&tty->lock);
    if (left != NULL && session != 0 && foreground != 0) {
        *left = (struct left){.session = session, .foreground = foreground};
        list_append(&left_over, &left->node);
        left = NULL;
    } else if (session != 0 && foreground != 0 && foreground != session) {
        after.signals = 1u << SIGHUP; /* without memory for a struct left: now instead of at the leader's end */
        after.group = foreground;
    }
    spin_unlock(&ttys_lock);
    heap_free(left, sizeof(*left));
    if (session != 0) {
        session_signal_process(session, SIGHUP);
        session_signal_process(session, SIGCONT);
    }
    tty_finish(tty, &after);
}

/* Removes SESSION from its terminal and from left_over. Returns the foreground group to be signalled, or 0. *AGAIN: the
 * terminal was hung up before. */
static uint32_t take_from_locked(uint32_t session, bool *again)
{
    uint32_t group = 0, left = take_left_locked(session);

    *again = left != 0;
    list_for_each(node, &ttys) {
        struct tty *tty = container_of(node, struct tty, node);

        spin_lock(&tty->lock);
        if (tty->session == session) {
            group = tty->foreground;
            tty->session = tty->foreground = 0;
        }
        spin_unlock(&tty->lock);
    }
    return left != 0 ? left : group;
}

void tty_session_ended(uint32_t session)
{
    uint32_t group;
    bool go_on;

    spin_lock(&ttys_lock);
    group = take_from_locked(session, &go_on);
    spin_unlock(&ttys_lock);
    if (group == 0)
        return;
    process_group_signal(group, SIGHUP);
    if (go_on) /* the terminal was hung up before: SIGCONT lets stopped processes handle SIGHUP */
        process_group_signal(group, SIGCONT);
}

void tty_lost(uint32_t kernel)
{
    uint32_t session;

    do {
        session = 0;
        spin_lock(&ttys_lock);
        list_for_each(node, &ttys) {
            const struct tty *tty = container_of(node, const struct tty, node);

            if (tty->session != 0 && process_home(tty->session) == kernel)
                session = tty->session;
        }
        list_for_each(node, &left_over) {
            const struct left *left = container_of(node, const struct left, node);

            if (process_home(left->session) == kernel)
                session = left->session;
        }
        spin_unlock(&ttys_lock);
        if (session != 0)
            tty_session_ended(session);
    } while (session != 0);
}

int64_t tty_of_session(uint32_t session)
{
    const struct tty *tty;
    int64_t result;

    spin_lock(&ttys_lock);
    tty = find_session_locked(session);
    result = tty != NULL ? (int64_t)(tty->number << 32 | tty->foreground) : 0;
    spin_unlock(&ttys_lock);
    return result;
}

/* --- opening --- */

static int64_t open_locked(struct tty *tty, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    int64_t error = 0;

    spin_lock(&tty->lock);
    if (tty->hung)
        error = -EIO;
    else if (tty->exclusive && (flags & OPEN_ANYWAY) == 0)
        error = -EBUSY;
    spin_unlock(&tty->lock);
    flags &= ~OPEN_ANYWAY;
    if (error == 0 && tty_is_slave(tty->number))
        return pty_open_slave_locked(tty, facts, flags, out);
    if (error != 0)
        return error;
    *out = file_create(&file_terminal_kind, facts, flags, tty, &tty->events);
    return *out != NULL ? 0 : -ENOMEM;
}

int64_t tty_open(uint64_t number, const struct file_facts *facts, uint32_t flags, struct file **out, uint32_t *session)
{
    int64_t error = -ENXIO;

    spin_lock(&ttys_lock);
    list_for_each(node, &ttys) {
        struct tty *tty = container_of(node, struct tty, node);

        if (tty->number != number && !(terminal_is(number) && terminal_is(tty->number)))
            continue;
        *session = tty->session;
        error = open_locked(tty, facts, flags, out);
        break;
    }
    spin_unlock(&ttys_lock);
    return error;
}

int64_t tty_open_own(uint32_t session, uint32_t flags, struct file **out)
{
    struct file_facts facts = {.device = 4, .number = TTY_OWN, .mode = FILE_CHARACTER | 0666};
    struct tty *tty;
    int64_t error = -ENXIO;

    spin_lock(&ttys_lock);
    tty = find_session_locked(session);
    if (tty != NULL)
        error = open_locked(tty, &facts, flags, out);
    spin_unlock(&ttys_lock);
    return error;
}

bool tty_is_slave(uint64_t number)
{
    return (number >> 8 & 0xfff) == 136; /* major */
}
