/* The terminal. See the header. Output goes through a ring that the UART's interrupt empties, so that writing never
 * waits for the line. */
#include "kernel/fs/terminal.h"

#include "kernel/abi/errno.h"
#include "kernel/dev/serial.h"
#include "kernel/fs/line.h"
#include "kernel/fs/wire.h"
#include "kernel/lib/string.h"
#include "tasks/process.h"

#define OUTPUT_SIZE 8192u
#define OUTPUT_SOME (OUTPUT_SIZE / 2) /* room at which writers are woken */
#define ECHO_ROOM 256u                /* of the ring, for echo: writes leave it free */

#define TCGETS 0x5401u
#define TCSETS 0x5402u
#define TCSETSW 0x5403u
#define TCSETSF 0x5404u
#define TCSBRK 0x5409u
#define TCXONC 0x540au
#define TCFLSH 0x540bu
#define TIOCSCTTY 0x540eu
#define TIOCGPGRP 0x540fu
#define TIOCSPGRP 0x5410u
#define TIOCOUTQ 0x5411u
#define TIOCGWINSZ 0x5413u
#define TIOCSWINSZ 0x5414u
#define FIONREAD 0x541bu
#define TIOCNOTTY 0x5422u
#define TIOCGSID 0x5429u

static struct spinlock lock;
static struct line line;            /* [k] lock */
static uint8_t output[OUTPUT_SIZE]; /* [k] lock: a ring */
static uint32_t output_head;        /* [k] bytes ever put in */
static uint32_t output_tail;        /* [k] bytes ever sent */
static bool read_wanted;            /* [k] somebody found nothing to read */
static bool write_wanted;           /* [k] somebody found no room */
static bool stalled;                /* [k] no room: the UART keeps what it has until somebody reads */
static uint32_t foreground;         /* [k] process group, 0: none */
static uint32_t session;            /* [k] 0: nobody's controlling terminal */
static uint16_t window[4] = {24, 80, 0, 0};
static struct file_events events;

/* What is to be done once the lock is free. */
struct after {
    bool event;
    uint32_t signals; /* mask, bit s is signal s, for GROUP */
    uint32_t group;
};

static void send(void *context, uint8_t byte)
{
    (void)context;
    if (output_head - output_tail < OUTPUT_SIZE) /* echo without room is lost, as on any terminal */
        output[output_head++ % OUTPUT_SIZE] = byte;
}

static uint32_t output_room(void)
{
    uint32_t room = OUTPUT_SIZE - (output_head - output_tail);

    return room > ECHO_ROOM ? room - ECHO_ROOM : 0;
}

static void push_output_locked(struct after *after)
{
    while (output_head != output_tail && serial_put(output[output_tail % OUTPUT_SIZE]))
        output_tail++;
    serial_want_output(output_head != output_tail);
    if (write_wanted && output_room() >= OUTPUT_SOME) {
        write_wanted = false;
        after->event = true;
    }
}

static void take_input_locked(struct after *after)
{
    bool taken = false;

    while (!line.finished) {
        int byte;

        if (!line_room(&line)) {
            stalled = true;
            serial_want_input(false);
            break;
        }
        byte = serial_get();
        if (byte == SERIAL_NONE)
            break;
        if (byte == SERIAL_BREAK) {
            line.finished = true;
            serial_want_input(false);
        } else {
            uint32_t signal = line_input(&line, (uint8_t)byte);

            if (signal != 0) {
                after->signals |= 1u << signal;
                after->group = foreground;
            }
        }
        taken = true;
    }
    if (taken && (read_wanted || !list_empty(&events.polls))) {
        read_wanted = false;
        after->event = true;
    }
}

static void finish(const struct after *after)
{
    if (after->event)
        file_event(&events);
    for (uint32_t signal = 1; signal < 32 && after->signals != 0; signal++) {
        if ((after->signals >> signal & 1) != 0 && after->group != 0)
            process_group_signal(after->group, signal);
    }
}

static void interrupt(void)
{
    struct after after = {.event = false};

    spin_lock(&lock);
    take_input_locked(&after);
    push_output_locked(&after);
    spin_unlock(&lock);
    finish(&after);
}

static int64_t terminal_read(struct file *file, void *data, size_t size)
{
    struct after after = {.event = false};
    int64_t result = -EAGAIN;

    (void)file;
    spin_lock(&lock);
    if (line_readable(&line, size)) {
        result = (int64_t)line_read(&line, data, size);
        if (result == 0 && !line.finished && (line.modes.local & LINE_ICANON) == 0 &&
            line.modes.characters[LINE_VMIN] != 0)
            result = -EAGAIN; /* only an end of a line from before the modes changed was there */
    }
    if (result == -EAGAIN)
        read_wanted = true;
    if (stalled && line_room(&line)) {
        stalled = false;
        serial_want_input(true);
        take_input_locked(&after);
    }
    push_output_locked(&after);
    spin_unlock(&lock);
    finish(&after);
    return result;
}

static int64_t terminal_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    const uint8_t *bytes = data;
    struct after after = {.event = false};
    size_t done = 0;

    (void)file;
    (void)flags;
    spin_lock(&lock);
    while (done < size && output_room() >= 2) {
        while (done < size && output_room() >= 2)
            line_output(&line, bytes[done++]);
        push_output_locked(&after);
    }
    write_wanted |= done == 0;
    spin_unlock(&lock);
    finish(&after);
    return done > 0 ? (int64_t)done : -EAGAIN;
}

static uint32_t terminal_poll(struct file *file)
{
    uint32_t result = 0;

    (void)file;
    spin_lock(&lock);
    if (line.finished || ((line.modes.local & LINE_ICANON) != 0 ? line.ends > 0 : line_available(&line) > 0))
        result |= POLL_IN | POLL_IN_NORMAL;
    else
        read_wanted = true;
    if (line.finished)
        result |= POLL_HUP;
    if (output_room() >= 2)
        result |= POLL_OUT | POLL_OUT_NORMAL;
    else
        write_wanted = true;
    spin_unlock(&lock);
    return result;
}

/* Modes take effect at once: what was written before has been processed already. */
static void set_modes_locked(const void *data, bool flush, struct after *after)
{
    struct line_modes modes;

    memcpy(&modes, data, sizeof(modes));
    line_set_modes(&line, &modes, flush);
    after->event = true; /* what could not be read may be now */
}

static int64_t control_locked(uint32_t command, void *data, struct after *after)
{
    uint32_t number;

    memcpy(&number, data, sizeof(number));
    switch (command) {
    case TCGETS:
        memcpy(data, &line.modes, sizeof(line.modes));
        return 0;
    case TCSETS:
    case TCSETSW:
    case TCSETSF:
        set_modes_locked(data, command == TCSETSF, after);
        return 0;
    case TCFLSH: /* 0 input, 1 output, 2 both */
        if (number > 2)
            return -EINVAL;
        if (number != 1)
            line_flush(&line);
        if (number != 0)
            output_tail = output_head;
        return 0;
    case TCSBRK: /* nothing is sent; what was written goes by itself */
    case TCXONC:
        return 0;
    case TIOCOUTQ:
        number = output_head - output_tail;
        break;
    case FIONREAD:
        number = line_available(&line);
        break;
    case TIOCGWINSZ:
        memcpy(data, window, sizeof(window));
        return 0;
    case TIOCSWINSZ:
        memcpy(window, data, sizeof(window));
        return 0;
    case TIOCGPGRP:
        number = foreground;
        break;
    case TIOCSPGRP:
        if ((int32_t)number <= 0)
            return -EINVAL;
        foreground = number;
        return 0;
    case TIOCSCTTY: /* argument: the caller's session, which kernel/calls fills in */
        if (session != 0 && session != number)
            return -EPERM;
        session = number;
        foreground = number;
        return 0;
    case TIOCNOTTY:
        session = 0;
        foreground = 0;
        return 0;
    case TIOCGSID:
        if (session == 0)
            return -ENOTTY;
        number = session;
        break;
    default:
        return -ENOTTY;
    }
    memcpy(data, &number, sizeof(number));
    return 0;
}

static int64_t terminal_control(struct file *file, uint32_t command, void *data)
{
    struct after after = {.event = false};
    int64_t result;

    (void)file;
    spin_lock(&lock);
    result = control_locked(command, data, &after);
    push_output_locked(&after);
    spin_unlock(&lock);
    finish(&after);
    return result;
}

uint32_t terminal_timeout(void)
{
    uint32_t tenths = 0;

    spin_lock(&lock);
    if ((line.modes.local & LINE_ICANON) == 0 && line.modes.characters[LINE_VMIN] == 0)
        tenths = line.modes.characters[LINE_VTIME];
    spin_unlock(&lock);
    return tenths;
}

const struct file_kind file_terminal_kind = {.read = terminal_read,
                                             .write = terminal_write,
                                             .poll = terminal_poll,
                                             .control = terminal_control,
                                             .one_read = true};

void terminal_facts(struct file_facts *facts)
{
    *facts = (struct file_facts){.inode = 1, .device = 4, .number = TERMINAL_DEVICE, .mode = FILE_CHARACTER | 0620};
}

struct file *terminal_open(uint32_t flags)
{
    struct file_facts facts;

    terminal_facts(&facts);
    return file_create(&file_terminal_kind, &facts, flags, NULL, &events);
}

void terminal_drain(void)
{
    struct after after = {.event = false};

    spin_lock(&lock);
    while (output_head != output_tail)
        push_output_locked(&after);
    spin_unlock(&lock);
    serial_finish();
}

void terminal_init(void)
{
    file_events_init(&events);
    line_init(&line, send, NULL);
    serial_on_interrupt = interrupt;
}
