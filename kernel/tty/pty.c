/* Pseudo-terminals. See the header. Bytes written to the master stay in a ring until the line has room; bytes that the
 * slave's line sends stay in the terminal's output ring until they are read from the master. */
#include "kernel/tty/pty.h"

#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/file/path.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "kernel/tty/tty.h"
#include "mm/frame/heap.h"
#include "tasks/quota/quota.h"

#define RING_SIZE 16384u
#define SLAVE_MAJOR 136u
#define NAME_SIZE 24u

/* Packet mode (TIOCPKT): the first byte of each read. */
#define PACKET_DATA 0u
#define PACKET_STOP 4u
#define PACKET_START 8u

struct pty {
    struct tty tty;        /* the slave */
    struct list node;      /* [p] in order of index */
    uint32_t index;        /* [p] */
    uint32_t users;        /* [a] open files of the pair, including the master */
    uint32_t uid;          /* [i] the user who has it of QUOTA_FILE_BYTES */
    bool locked;           /* [k] of the terminal: the slave cannot be opened */
    bool opened;           /* [k] the slave has been opened at least once */
    bool packet;           /* [k] TIOCPKT: reads of the master begin with a status byte */
    bool stopped;          /* [k] the line's `stopped` when note_flow last looked */
    uint8_t status;        /* [k] PACKET_* and TTY_FLUSHED_*, not yet reported */
    uint32_t slaves;       /* [k] open files of the slave */
    uint32_t stop_at;      /* [k] head of the output ring when it was stopped: the master reads no further */
    struct tty_ring input; /* [k] bytes written to the master, not yet taken by the line */
    bool read_wanted;      /* [k] as in struct tty, for the master */
    bool write_wanted;     /* [k] */
    struct file_events events;
};

#define PTY_COST (sizeof(struct pty) + 2 * (uint64_t)RING_SIZE) /* bytes */

static struct spinlock ptys_lock;
static struct list ptys = {&ptys, &ptys}; /* [p] under ptys_lock */

static struct pty *pty_of(const struct file *file)
{
    return container_of(file->state, struct pty, tty);
}

/* The slave's path without its leading slash. */
static void write_name(const struct pty *pty, char name[NAME_SIZE - 1])
{
    snprintf(name, NAME_SIZE - 1, "dev/pts/%u", pty->index);
}

static void free_pty(struct pty *pty)
{
    quota_give(QUOTA_FILE_BYTES, pty->uid, PTY_COST);
    heap_free(pty->tty.output.bytes, RING_SIZE);
    heap_free(pty->input.bytes, RING_SIZE);
    heap_free(pty, sizeof(*pty));
}

static void put_pty(struct pty *pty)
{
    if (__atomic_sub_fetch(&pty->users, 1, __ATOMIC_ACQ_REL) == 0)
        free_pty(pty);
}

/* --- under the terminal's lock --- */

/* Records that output was stopped or resumed. */
static void note_flow(struct pty *pty)
{
    bool stopped = pty->tty.line.stopped;

    if (stopped == pty->stopped)
        return;
    pty->stopped = stopped;
    pty->stop_at = pty->tty.output.head;
    pty->status &= (uint8_t) ~(PACKET_STOP | PACKET_START);
    pty->status |= stopped ? PACKET_STOP : PACKET_START;
}

/* Bytes that the master may read now. */
static uint32_t readable(const struct pty *pty)
{
    const struct tty_ring *ring = &pty->tty.output;
    uint32_t used = tty_ring_used(ring);

    if (!pty->stopped)
        return used;
    return (int32_t)(pty->stop_at - ring->tail) > 0 ? pty->stop_at - ring->tail : 0;
}

static uint32_t room(const struct pty *pty)
{
    return pty->input.size - tty_ring_used(&pty->input);
}

static void pull(struct tty *tty, struct tty_after *after)
{
    struct pty *pty = container_of(tty, struct pty, tty);
    struct tty_ring *ring = &pty->input;
    bool taken = false;

    for (; tty_ring_used(ring) > 0 && line_room(&tty->line); taken = true) {
        tty_input_locked(tty, ring->bytes[ring->tail++ % ring->size], after);
        note_flow(pty);
    }
    if (taken)
        tty_readable_locked(tty, after);
    if (taken && pty->write_wanted && room(pty) >= ring->size / 2) {
        pty->write_wanted = false;
        after->master_event = true;
    }
}

static void push(struct tty *tty, struct tty_after *after)
{
    struct pty *pty = container_of(tty, struct pty, tty);

    note_flow(pty);
    pty->status |= (uint8_t)tty->flushed;
    tty->flushed = 0;
    if ((readable(pty) > 0 || (pty->packet && pty->status != 0)) &&
        (pty->read_wanted || file_events_polled(&pty->events))) {
        pty->read_wanted = false;
        after->master_event = true;
    }
}

static void notify(struct tty *tty)
{
    file_event(&container_of(tty, struct pty, tty)->events);
}

static const struct tty_driver driver = {.pull = pull, .push = push, .notify = notify};

/* --- the master --- */

static int64_t read_locked(struct pty *pty, uint8_t *to, size_t size)
{
    struct tty_ring *ring = &pty->tty.output;
    uint32_t there = readable(pty);
    size_t done = 0;

    if (pty->packet && pty->status != 0) {
        *to = pty->status;
        pty->status = 0;
        return 1;
    }
    if (there == 0) {
        if (pty->opened && pty->slaves == 0)
            return -EIO;
        pty->read_wanted = true;
        return -EAGAIN;
    }
    if (pty->packet)
        to[done++] = PACKET_DATA;
    for (; there > 0 && done < size; there--)
        to[done++] = ring->bytes[ring->tail++ % ring->size];
    return (int64_t)done;
}

static int64_t master_read(struct file *file, void *data, size_t size)
{
    struct pty *pty = pty_of(file);
    struct tty_after after = {.event = false};
    int64_t result;

    spin_lock(&pty->tty.lock);
    result = read_locked(pty, data, size);
    tty_move_locked(&pty->tty, &after);
    spin_unlock(&pty->tty.lock);
    tty_finish(&pty->tty, &after);
    return result;
}

static int64_t master_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct pty *pty = pty_of(file);
    const uint8_t *bytes = data;
    struct tty_after after = {.event = false};
    size_t done = 0;

    (void)flags;
    spin_lock(&pty->tty.lock);
    while (done < size && room(pty) > 0) {
        for (; done < size && room(pty) > 0; done++)
            pty->input.bytes[pty->input.head++ % pty->input.size] = bytes[done];
        tty_move_locked(&pty->tty, &after);
    }
    pty->write_wanted |= done == 0;
    spin_unlock(&pty->tty.lock);
    tty_finish(&pty->tty, &after);
    return done > 0 ? (int64_t)done : -EAGAIN;
}

static uint32_t master_poll(struct file *file)
{
    struct pty *pty = pty_of(file);
    uint32_t result = 0;

    spin_lock(&pty->tty.lock);
    if (readable(pty) > 0 || (pty->packet && pty->status != 0))
        result |= POLL_IN | POLL_IN_NORMAL;
    if (pty->packet && pty->status != 0)
        result |= POLL_PRIORITY;
    if (pty->opened && pty->slaves == 0)
        result |= POLL_HUP;
    if (room(pty) > 0)
        result |= POLL_OUT | POLL_OUT_NORMAL;
    pty->read_wanted |= (result & POLL_IN) == 0;
    pty->write_wanted |= (result & POLL_OUT) == 0;
    spin_unlock(&pty->tty.lock);
    return result;
}

/* The facts of the slave's node in /dev/pts, if it still exists: ttyname(3) compares them with an open file's. */
static void find_facts(const struct pty *pty, struct file_facts *facts)
{
    const struct msg_file_name asked = {.operation = MSG_NAME_STAT, .flags = NAME_NO_FOLLOW};
    char name[NAME_SIZE] = "/";
    struct tree_result result;

    write_name(pty, name + 1);
    *facts = (struct file_facts){.device = 4, .number = pty->tty.number, .mode = FILE_CHARACTER | 0620};
    if (tree_do(&asked, NULL, name, "", &result) == 0 && result.answer.what == NAMED_DONE && result.answer.facts != 0 &&
        result.facts.number == facts->number)
        *facts = result.facts;
    if (result.text != NULL)
        heap_free(result.text, PATH_MAX);
}

/* TIOCGPTPEER: opens the slave for the owner of the master. *DATA: flags of open(2), replaced by the id of the file. */
static int64_t open_peer(struct pty *pty, void *data)
{
    struct file_facts facts;
    struct file *file;
    uint32_t flags;
    int64_t error;

    memcpy(&flags, data, sizeof(flags));
    if ((flags & ~(OPEN_ACCESS | OPEN_NONBLOCK | OPEN_CLOEXEC | OPEN_NO_TERMINAL)) != 0)
        return -EINVAL;
    find_facts(pty, &facts);
    error = pty_open_slave_locked(&pty->tty, &facts, flags, &file);
    if (error == 0)
        memcpy(data, &file->id, sizeof(file->id));
    return error;
}

static int64_t master_control_locked(struct pty *pty, uint32_t command, void *data, struct tty_after *after)
{
    uint32_t number;

    memcpy(&number, data, sizeof(number));
    switch (command) {
    case TIOCGPTN:
        number = pty->index;
        break;
    case TIOCSPTLCK:
        pty->locked = number != 0;
        return 0;
    case TIOCGPTLCK:
        number = pty->locked ? 1 : 0;
        break;
    case TIOCPKT:
        if (number != 0 && !pty->packet)
            pty->status = 0;
        pty->packet = number != 0;
        return 0;
    case TIOCGPKT:
        number = pty->packet ? 1 : 0;
        break;
    case TIOCSIG:
        if (number != SIGINT && number != SIGQUIT && number != SIGTSTP)
            return -EINVAL;
        after->signals |= 1u << number;
        after->group = pty->tty.foreground;
        return 0;
    default:
        return tty_control_locked(&pty->tty, true, command, data, after);
    }
    memcpy(data, &number, sizeof(number));
    return 0;
}

/* TCFLSH on the master also discards what was written to it, unless WHICH is about its reads only. */
static void throw_away_input(struct pty *pty, uint32_t which, struct tty_after *after)
{
    if (which == FLUSH_INPUT)
        return;
    pty->input.tail = pty->input.head;
    after->master_event |= pty->write_wanted;
    pty->write_wanted = false;
}

static int64_t master_control(struct file *file, uint32_t command, void *data)
{
    struct pty *pty = pty_of(file);
    struct tty_after after = {.event = false};
    uint32_t which;
    int64_t result;

    if (command == TIOCGPTPEER)
        return open_peer(pty, data);
    memcpy(&which, data, sizeof(which));
    spin_lock(&pty->tty.lock);
    result = master_control_locked(pty, command, data, &after);
    if (command == TCFLSH && result == 0)
        throw_away_input(pty, which, &after);
    tty_move_locked(&pty->tty, &after);
    spin_unlock(&pty->tty.lock);
    tty_finish(&pty->tty, &after);
    return result;
}

static void master_release(struct file *file)
{
    struct pty *pty = pty_of(file);
    char name[NAME_SIZE];

    write_name(pty, name);
    tree_remove_device(name, pty->tty.number);
    tty_hang_up(&pty->tty);
    /* The index becomes free only now that the terminal cannot be found by its number any more. */
    spin_lock(&ptys_lock);
    list_remove(&pty->node);
    spin_unlock(&ptys_lock);
}

static void forget(struct file *file)
{
    put_pty(pty_of(file));
}

static const struct file_kind master_kind = {.read = master_read,
                                             .write = master_write,
                                             .poll = master_poll,
                                             .control = master_control,
                                             .release = master_release,
                                             .forget = forget,
                                             .one_read = true};

/* --- the slave --- */

static void slave_release(struct file *file)
{
    struct pty *pty = pty_of(file);
    struct tty_after after = {.event = false};

    spin_lock(&pty->tty.lock);
    pty->slaves--;
    if (pty->slaves == 0) {
        pty->read_wanted = pty->write_wanted = false;
        pty->tty.exclusive = false;
        after.master_event = true;
    }
    spin_unlock(&pty->tty.lock);
    tty_finish(&pty->tty, &after);
}

static const struct file_kind slave_kind = {.read = tty_read,
                                            .write = tty_write,
                                            .poll = tty_poll,
                                            .control = tty_control,
                                            .act = tty_act,
                                            .release = slave_release,
                                            .forget = forget,
                                            .one_read = true};

int64_t pty_open_slave_locked(struct tty *tty, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    struct pty *pty = container_of(tty, struct pty, tty);
    bool refused;

    spin_lock(&tty->lock);
    refused = tty->hung || pty->locked;
    if (!refused) {
        pty->slaves++;
        pty->opened = true;
        __atomic_fetch_add(&pty->users, 1, __ATOMIC_RELAXED);
    }
    spin_unlock(&tty->lock);
    if (refused)
        return -EIO;
    *out = file_create(&slave_kind, facts, flags, tty, &tty->events);
    if (*out != NULL)
        return 0;
    spin_lock(&tty->lock);
    pty->slaves--;
    spin_unlock(&tty->lock);
    put_pty(pty);
    return -ENOMEM;
}

/* --- pairs --- */

/* Gives PTY the smallest free index and its device number. */
static int64_t number_pty(struct pty *pty)
{
    uint32_t index = 0;
    struct list *at;

    spin_lock(&ptys_lock);
    for (at = ptys.next; at != &ptys && container_of(at, struct pty, node)->index == index; at = at->next)
        index++;
    pty->index = index;
    if (index < PTY_MAX)
        list_insert_before(&pty->node, at);
    spin_unlock(&ptys_lock);
    /* The minor's upper bits lie above the major, as Linux encodes a device. */
    pty->tty.number = (index & 0xff) | SLAVE_MAJOR << 8 | (uint64_t)(index & ~0xffu) << 12;
    return index < PTY_MAX ? 0 : -ENOSPC;
}

static int make(uint32_t uid, struct pty **out)
{
    int error = quota_take(QUOTA_FILE_BYTES, uid, PTY_COST, quota_limit(QUOTA_FILE_BYTES), -ENOSPC);
    struct pty *pty = error == 0 ? heap_alloc(sizeof(*pty)) : NULL;

    if (error != 0)
        return error;
    if (pty == NULL) {
        quota_give(QUOTA_FILE_BYTES, uid, PTY_COST);
        return -ENOMEM;
    }
    pty->uid = uid;
    pty->tty.driver = &driver;
    pty->tty.holds_writers = true;
    pty->tty.output = (struct tty_ring){.bytes = heap_alloc_unset(RING_SIZE), .size = RING_SIZE};
    pty->input = (struct tty_ring){.bytes = heap_alloc_unset(RING_SIZE), .size = RING_SIZE};
    pty->locked = true;
    pty->users = 1;
    list_init(&pty->node);
    tty_init(&pty->tty);
    line_set_cooked(&pty->tty.line);
    file_events_init(&pty->events);
    *out = pty;
    if (pty->tty.output.bytes != NULL && pty->input.bytes != NULL)
        return 0;
    free_pty(pty);
    return -ENOMEM;
}

int64_t pty_create(uint32_t flags, uint32_t uid, struct file **out)
{
    struct file_facts facts = {.device = 4, .number = TTY_MULTIPLEX, .mode = FILE_CHARACTER | 0666};
    char name[NAME_SIZE];
    struct tree_seed seed = {.name = name, .mode = FILE_CHARACTER | 0620, .uid = uid, .gid = 5};
    struct pty *pty;
    int64_t error = make(uid, &pty);

    if (error != 0)
        return error;
    error = number_pty(pty);
    if (error != 0) {
        put_pty(pty);
        return error;
    }
    *out = file_create(&master_kind, &facts, flags, &pty->tty, &pty->events);
    if (*out == NULL) {
        spin_lock(&ptys_lock);
        list_remove(&pty->node);
        spin_unlock(&ptys_lock);
        put_pty(pty);
        return -ENOMEM;
    }
    tty_add(&pty->tty);
    write_name(pty, name);
    seed.rdev = pty->tty.number;
    error = tree_seed(&seed);
    if (error != 0)
        file_close(*out); /* its release removes the pair */
    return error;
}
