/* timerfd(2). See the header. As under Linux, a timer with an interval does not fire again until it has been read or
 * queried; the missed expirations are counted then. So an unread timer costs nothing. */
#include "kernel/file/event/timerfd.h"

#include "kernel/abi/clock.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/file/anonymous.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/timer/timer.h"

#define SECOND 1000000000u /* ns */

struct timerfd {
    struct spinlock lock; /* taken before the lock of timers */
    struct file *file;    /* [i] a pin of it is held while the timer is armed */
    struct timer timer;
    uint64_t next;     /* [k] when it expires, 0: not armed */
    uint64_t interval; /* [k] */
    uint64_t ticks;    /* [k] expirations since the last read */
    uint64_t epoch;    /* [i] of its clock, in ns: its time is clock_now plus this */
    uint32_t clock;    /* [i] CLOCK_* */
    uint32_t flags;    /* [k] of the last timerfd_settime */
    bool expired;      /* [k] it has fired, and go_on_locked has not run since */
    bool closed;       /* [k] */
};

static void arm_locked(struct timerfd *t)
{
    file_pin(t->file);
    if (timer_arm(&t->timer, t->next))
        file_unpin(t->file); /* it was armed already, and had a pin; the caller has another one */
}

static void disarm_locked(struct timerfd *t)
{
    if (timer_disarm(&t->timer))
        file_unpin(t->file);
}

static void fire(struct timer *timer)
{
    struct timerfd *t = container_of(timer, struct timerfd, timer);
    struct file *file = t->file;
    bool notify = false;

    spin_lock(&t->lock);
    if (t->next != 0 && !t->expired && !t->closed) {
        if (clock_now() >= t->next) {
            t->expired = true;
            t->ticks++;
            notify = file_event_wanted(file);
            file->wanted = false;
        } else { /* it was set again before this expiration was handled */
            arm_locked(t);
        }
    }
    spin_unlock(&t->lock);
    if (notify)
        file_event(file->events);
    file_unpin(file);
}

/* Counts the expirations since the timer fired, and arms it again. */
static void go_on_locked(struct timerfd *t)
{
    uint64_t now = clock_now();

    if (!t->expired)
        return;
    t->expired = false;
    if (t->interval == 0) {
        t->next = 0;
        return;
    }
    if (now >= t->next) {
        uint64_t periods = (now - t->next) / t->interval + 1; /* the first of them has been counted */

        t->ticks += periods - 1;
        t->next += periods * t->interval;
    }
    if (!t->closed)
        arm_locked(t);
}

static int64_t timerfd_read(struct file *file, void *data, size_t size)
{
    struct timerfd *t = file->state;
    uint64_t ticks;

    if (size < sizeof(ticks))
        return -EINVAL;
    spin_lock(&t->lock);
    if (t->ticks != 0)
        go_on_locked(t);
    ticks = t->ticks;
    t->ticks = 0;
    file->wanted |= ticks == 0;
    spin_unlock(&t->lock);
    if (ticks == 0)
        return -EAGAIN;
    memcpy(data, &ticks, sizeof(ticks));
    return sizeof(ticks);
}

static uint32_t timerfd_poll(struct file *file)
{
    struct timerfd *t = file->state;
    bool ready;

    spin_lock(&t->lock);
    ready = t->ticks != 0;
    file->wanted |= !ready;
    spin_unlock(&t->lock);
    return ready ? POLL_IN : 0;
}

static void look_locked(struct timerfd *t, struct timer_setting *out)
{
    uint64_t now = clock_now();

    go_on_locked(t);
    out->interval = t->interval;
    out->value = t->next == 0 ? 0 : t->next > now ? t->next - now : 1;
}

static void release(struct file *file)
{
    struct timerfd *t = file->state;

    spin_lock(&t->lock);
    t->closed = true;
    disarm_locked(t);
    spin_unlock(&t->lock);
}

static void forget(struct file *file)
{
    heap_free(file->state, sizeof(struct timerfd));
}

/* Gives the current setting in OLD, and applies SETTING unless that is NULL. */
static void set(struct timerfd *t, uint32_t flags, const struct timer_setting *setting, struct timer_setting *old)
{
    spin_lock(&t->lock);
    look_locked(t, old);
    if (setting != NULL) {
        disarm_locked(t);
        t->ticks = 0;
        t->expired = false;
        t->interval = setting->interval;
        t->flags = flags;
        t->next = setting->value;
        if (setting->value != 0 && (flags & TIMER_ABSOLUTE) == 0)
            t->next += clock_now();
        else if (setting->value != 0)
            t->next = setting->value > t->epoch ? setting->value - t->epoch : 1; /* 1: in the past, at once */
        if (t->next != 0 && !t->closed)
            arm_locked(t);
    }
    spin_unlock(&t->lock);
}

static int64_t give_info(struct timerfd *t, const void *data, size_t size, void *result, size_t room)
{
    uint64_t now = clock_now(), left, interval, ticks;
    uint32_t flags;
    char text[192];

    spin_lock(&t->lock);
    left = t->expired || t->next <= now ? 0 : t->next - now;
    interval = t->interval;
    ticks = t->ticks;
    flags = t->flags;
    spin_unlock(&t->lock);
    snprintf(text, sizeof(text),
             "clockid: %u\nticks: %lu\nsettime flags: 0%u\nit_value: (%lu, %lu)\nit_interval: (%lu, %lu)\n", t->clock,
             (unsigned long)ticks, flags, (unsigned long)(left / SECOND), (unsigned long)(left % SECOND),
             (unsigned long)(interval / SECOND), (unsigned long)(interval % SECOND));
    return anonymous_info(data, size, text, result, room);
}

static int64_t timerfd_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                               void *result, size_t room, struct file_answer *answer)
{
    bool sets = request->special.what == SPECIAL_TIMER_SET;
    struct timer_setting setting, old;

    (void)answer;
    if (request->special.what == SPECIAL_INFO)
        return give_info(file->state, data, size, result, room);
    if (!sets && request->special.what != SPECIAL_TIMER_GET)
        return -EINVAL;
    if (room < sizeof(old) || (sets && size != sizeof(setting)))
        return -EPROTO;
    if (sets)
        memcpy(&setting, data, sizeof(setting));
    set(file->state, (uint32_t)request->special.argument, sets ? &setting : NULL, &old);
    memcpy(result, &old, sizeof(old));
    return sizeof(old);
}

static const struct file_kind timerfd_kind = {.read = timerfd_read,
                                              .poll = timerfd_poll,
                                              .operate = timerfd_operate,
                                              .release = release,
                                              .forget = forget,
                                              .one_read = true};

static struct file *create(uint32_t flags, uint32_t clock)
{
    struct file_facts facts = {.device = ANONYMOUS_DEVICE, .mode = 0600};
    struct timerfd *t = heap_alloc(sizeof(*t));
    struct file *file;

    if (t == NULL)
        return NULL;
    timer_init(&t->timer, fire);
    t->clock = clock;
    t->epoch = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM ? clock_epoch() : 0;
    file = file_create(&timerfd_kind, &facts, flags | 2, t, NULL);
    if (file == NULL)
        heap_free(t, sizeof(*t));
    else
        t->file = file;
    return file;
}

static int make(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    uint32_t clock;

    if (size != sizeof(clock))
        return -EPROTO;
    memcpy(&clock, data, sizeof(clock));
    made[0] = create(flags, clock);
    return made[0] != NULL ? 0 : -ENOMEM;
}

void timerfd_init(void)
{
    anonymous_register(ANONYMOUS_TIMER, make);
}
