/* The serial line as a terminal. See the header. Output goes through a ring that the UART's interrupt empties, so that
 * writing never waits for the line. */
#include "kernel/tty/terminal.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/dev/serial.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/tty/tty.h"

#define OUTPUT_SIZE 8192u
#define TERMINAL_NAME "/dev/ttyS0"
#define FLUSH_TRIES 20000000u /* the bound of TERMINAL_FLUSH_TIME while the clock stands */

static uint8_t output[OUTPUT_SIZE];
static bool stalled; /* [k] of the terminal: the line has no room, and the UART's input interrupt is off until a read
                        makes room */

static void push(struct tty *tty, struct tty_after *after)
{
    struct tty_ring *ring = &tty->output;

    while (!tty->line.stopped && tty_ring_used(ring) > 0 && serial_put(ring->bytes[ring->tail % ring->size]))
        ring->tail++;
    serial_want_output(!tty->line.stopped && tty_ring_used(ring) > 0);
    if (tty->write_wanted && tty_room_locked(tty) >= ring->size / 2) {
        tty->write_wanted = false;
        after->event = true;
    }
}

static void pull(struct tty *tty, struct tty_after *after)
{
    bool taken = false;

    if (stalled && line_room(&tty->line)) {
        stalled = false;
        serial_want_input(true);
    }
    while (!tty->line.finished && !stalled) {
        int byte;

        if (!line_room(&tty->line)) {
            stalled = true;
            serial_want_input(false);
            break;
        }
        byte = serial_get();
        if (byte == SERIAL_NONE)
            break;
        if (byte == SERIAL_BREAK) {
            tty->line.finished = true;
            serial_want_input(false);
        } else {
            tty_input_locked(tty, (uint8_t)byte, after);
        }
        taken = true;
    }
    if (taken)
        tty_readable_locked(tty, after);
}

static const struct tty_driver driver = {.pull = pull, .push = push};
static struct tty terminal = {.number = TERMINAL_DEVICE,
                              .driver = &driver,
                              .output = {.bytes = output, .size = OUTPUT_SIZE},
                              .window = {24, 80, 0, 0}};

const struct file_kind file_terminal_kind = {
    .read = tty_read, .write = tty_write, .poll = tty_poll, .control = tty_control, .act = tty_act, .one_read = true};

static void interrupt(void)
{
    struct tty_after after = {.event = false};

    spin_lock(&terminal.lock);
    tty_move_locked(&terminal, &after);
    spin_unlock(&terminal.lock);
    tty_finish(&terminal, &after);
}

struct file *terminal_open(uint32_t flags)
{
    const struct msg_file_name asked = {.operation = MSG_NAME_OPEN, .flags = flags};
    struct tree_result result;
    struct file *file;

    if (tree_do(&asked, NULL, TERMINAL_NAME, "", &result) != 0)
        return NULL;
    file = file_find(result.answer.id);
    file_unpin(file); /* the open that tree_do returned keeps the file */
    return file;
}

bool terminal_is(uint64_t number)
{
    return number == TERMINAL_DEVICE || number == TERMINAL_CONSOLE;
}

void terminal_begin_session(uint32_t session)
{
    spin_lock(&terminal.lock);
    terminal.session = session;
    terminal.foreground = session;
    spin_unlock(&terminal.lock);
}

void terminal_drain(void)
{
    struct tty_after after = {.event = false};

    spin_lock(&terminal.lock);
    terminal.line.stopped = false;
    while (tty_ring_used(&terminal.output) > 0)
        push(&terminal, &after);
    spin_unlock(&terminal.lock);
    serial_finish(UINT32_MAX);
}

/* By whoever stops this kernel's CPUs for good, so the lock may be held by one that does not run any more. It cannot
 * have been in the middle of more than one byte: that byte may come twice. */
void terminal_flush(void)
{
    struct tty_ring *ring = &terminal.output;
    uint64_t last = clock_now();

    for (uint32_t tries = 0; tty_ring_used(ring) > 0;) {
        uint64_t now = clock_now();

        if (serial_put(ring->bytes[ring->tail % ring->size])) {
            ring->tail++;
            tries = 0;
            last = now;
        } else if (now - last >= TERMINAL_FLUSH_TIME || (now == last && ++tries >= FLUSH_TRIES)) {
            return;
        }
    }
    serial_finish(FLUSH_TRIES / 20);
}

void terminal_init(void)
{
    tty_init(&terminal);
    tty_add(&terminal);
    serial_on_interrupt = interrupt;
}
