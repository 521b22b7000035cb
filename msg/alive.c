/* Heartbeats. See the header and kernel/machine/death.md, whose states ALIVE and SUSPECTED are those of struct watched.
 */
#include "msg/alive.h"

#include "boot/options/options.h"
#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"
#include "msg/idle.h"
#include "msg/message.h"

#define LOOKS 8u     /* in the time after which a silent kernel is suspected */
#define TURNS LOOKS  /* so many NMIs in a row a CPU answers, and does not take its timer, until it is dead */
#define PATIENCE 10u /* times that time, for a CPU that does not take an NMI: its host may not run it */
/* The most by which both grow where kernels that live are slow, and the looks without such a need after which they are
 * halved. */
#define MARGIN_MOST 8u
#define MARGIN_LOOKS (100 * LOOKS)
#define SAFETY 4u                /* a host that is slow may be so many times slower the next time */
#define PAUSE_MAX 20000000000ull /* ns of the watcher's own time for which a kernel may say that it pauses */
#define MS 1000000ull

enum { BOARD_BEATS = MSG_BOARD_ALIVE, BOARD_ANSWERS, BOARD_PAUSED };

/* A kernel, or another CPU of this one. */
struct watched {
    bool watched, suspected;
    bool excused;        /* at the last look this kernel, of which it is a CPU, said that it does something long */
    uint32_t turns;      /* since it is suspected: answers seen. Between two of them it has run */
    uint64_t silence;    /* ns of this watcher's own time since the last beat, or since it is suspected */
    uint64_t paused;     /* the same, since the last beat, while it says that it does something long */
    uint64_t beats;      /* and looks, as last seen */
    uint64_t answers;    /* to NMIs, as last seen */
    uint64_t unanswered; /* like silence, since the last of them */
    uint64_t longest;    /* since it is suspected: the longest time without an answer */
};

enum verdict { LIVES, SPINS, GONE };

/* All are used by the first CPU alone, with interrupts off. */
static struct watched kernels[KERNELS_MAX];
static uint64_t period;                         /* [i] ns between two looks; 0: nobody is watched */
static uint64_t offset;                         /* [i] ns: the ticks of kernels are spread over a period */
static uint64_t next_look, last_look;           /* ns */
static volatile uint64_t ticks[CPUS_MAX];       /* by index: each CPU writes its own */
static struct watched own_cpus[CPUS_MAX];       /* by index, but the first */
static volatile uint64_t cpu_answers[CPUS_MAX]; /* [a] by index: to NMIs of the first CPU */
static volatile bool cpu_asked[CPUS_MAX];       /* [a] by index: such an NMI is on its way */
static volatile bool kernel_asked;              /* [a] another kernel has asked, and not all CPUs have answered */
static uint64_t before_asked[CPUS_MAX];         /* [a] by index: cpu_answers when it asked */
static uint32_t margin = 1;                     /* TURNS and PATIENCE times this: see learn */
static uint32_t margin_looks;                   /* of this watcher, since the margin was needed, or has changed */
static bool deputy;                             /* this kernel ends the machine when kernel 0 has died */
static void (*lost_hook)(uint32_t kernel, const char *why); /* [i] */

void alive_init(void (*lost)(uint32_t kernel, const char *why))
{
    lost_hook = lost;
}

bool alive_survives(void)
{
    return !option_is(instance.cmdline, "death", "off");
}

void alive_start(void)
{
    if (!alive_survives() || instance.kernels == 1)
        return;
    alive_pause(false); /* the instance before may have died in one */
    period = option_number(instance.cmdline, "death") * MS / LOOKS;
    offset = period * instance.kernel / instance.kernels;
    margin = 1;
    if (instance.kernel != 0)
        alive_watch(0);
    wait_ops.due_changed(); /* the first tick; each one arms the next */
    for (uint32_t i = 1; i < cpu_total; i++)
        apic_send(cpus[i]->apic_id, VECTOR_WAKE);
}

void alive_watch(uint32_t kernel)
{
    kernels[kernel] = (struct watched){.beats = UINT64_MAX};
    __atomic_store_n(&kernels[kernel].watched, true, __ATOMIC_RELEASE);
}

void alive_forget(uint32_t kernel)
{
    kernels[kernel].watched = false;
}

void alive_pause(bool pause)
{
    msg_board_own()[BOARD_PAUSED] = pause;
    if (!pause) /* so that the limit is one for each pause */
        __atomic_fetch_add(&msg_board_own()[BOARD_BEATS], 1, __ATOMIC_RELEASE);
}

uint64_t alive_due(uint64_t now)
{
    return period == 0 ? UINT64_MAX : (now + period - offset) / period * period + offset;
}

static void suspect(struct watched *watched, uint64_t answers)
{
    watched->suspected = true;
    watched->silence = watched->unanswered = watched->longest = 0;
    watched->turns = 0;
    watched->answers = answers;
}

/* Whether kernels that are as slow as WATCHED was would be too slow for a margin of LEAST. */
static bool needs_more(const struct watched *watched, uint32_t least)
{
    uint64_t unanswered = watched->unanswered > watched->longest ? watched->unanswered : watched->longest;

    return SAFETY * watched->turns > TURNS * least || SAFETY * unanswered > PATIENCE * LOOKS * period * least;
}

/* Who was suspected beats: on this host, one that lives may be silent for as long, and for longer. The rule
 * is that of Chandra and Toueg (Unreliable failure detectors, JACM 1996) for a detector that errs less and less; here
 * with a bound, as a death is to be noticed on any host, and it forgets, as a host is not busy for ever. */
static void learn(const struct watched *watched)
{
    while (margin < MARGIN_MOST && needs_more(watched, margin))
        margin *= 2;
    if (margin > 1 && needs_more(watched, margin / 2))
        margin_looks = 0;
}

static void unlearn(void)
{
    if (margin == 1 || ++margin_looks < MARGIN_LOOKS)
        return;
    margin /= 2;
    margin_looks = 0;
}

/* One more look at WATCHED, COUNTED ns after the last one, with BEATS and ANSWERS as they are now. *ASKS: it is to be
 * asked by an NMI, whatever the verdict, which may be another one when the margin has grown. */
static enum verdict judge(struct watched *watched, uint64_t beats, uint64_t answers, uint64_t counted, bool *asks)
{
    *asks = false;
    if (beats != watched->beats) {
        if (watched->suspected)
            learn(watched);
        watched->beats = beats;
        watched->suspected = false;
        watched->silence = 0;
        return LIVES;
    }
    watched->silence += counted;
    if (!watched->suspected && watched->silence < LOOKS * period)
        return LIVES;
    if (!watched->suspected) {
        suspect(watched, answers);
        *asks = true;
        return LIVES;
    }
    watched->unanswered += counted;
    if (answers != watched->answers) { /* it has had a turn, and gets another one */
        watched->answers = answers;
        watched->turns++;
        if (watched->unanswered > watched->longest)
            watched->longest = watched->unanswered;
        watched->unanswered = 0;
        *asks = true;
    }
    if (watched->turns >= TURNS * margin && watched->silence >= LOOKS * period)
        return SPINS;
    return watched->unanswered >= PATIENCE * LOOKS * period * margin ? GONE : LIVES;
}

/* What CPU has done while this kernel said that it did something long, if PAUSES still does, is no lesson about the
 * host. */
static void excuse(struct watched *cpu, bool pauses, uint64_t beats)
{
    if (cpu->excused && (!pauses || beats != cpu->beats)) {
        cpu->suspected = false;
        cpu->silence = 0;
    }
    cpu->excused = pauses;
}

/* Has an NMI ask the CPU of INDEX. If one is on its way, they become one. Any context. */
static void ask_cpu(uint32_t index)
{
    __atomic_store_n(&cpu_asked[index], true, __ATOMIC_SEQ_CST);
    apic_send_nmi(cpus[index]->apic_id);
}

/* Looks at the other CPUs of this kernel. False: one hangs, so this kernel does not beat. One that spins may do so
 * until another one, which its host leaves alone, releases a lock or flushes: that is no hang as long as such a one is
 * given time. */
static bool all_tick(uint64_t counted)
{
    bool pauses = msg_board_own()[BOARD_PAUSED] != 0;
    bool spin = false, gone = false, left_alone = false, asks;

    for (uint32_t i = 1; i < cpu_total; i++) {
        uint64_t beats = ticks[i] + cpus[i]->idle_polls; /* it may poll without interrupts */

        excuse(&own_cpus[i], pauses, beats);
        switch (judge(&own_cpus[i], beats, cpu_answers[i], counted, &asks)) {
        case SPINS:
            spin = true;
            break;
        case GONE:
            gone = true;
            break;
        default:
            left_alone = left_alone || (own_cpus[i].suspected && own_cpus[i].unanswered > 0);
        }
        if (asks)
            ask_cpu(i);
    }
    return !gone && (!spin || left_alone);
}

static uint64_t board_word(uint32_t kernel, uint32_t word)
{
    return __atomic_load_n(&msg_board_of(kernel)[word], __ATOMIC_ACQUIRE);
}

/* Has an NMI ask the first CPU of KERNEL whether its host runs it and the others. */
static void ask(uint32_t kernel)
{
    __atomic_fetch_or(&window_boot_page()->probed, 1ull << kernel, __ATOMIC_SEQ_CST);
    apic_send_nmi(instance.plan.cpus[instance.plan.kernels[kernel].boot_cpu].apic_id);
}

/* Whether it says that it does something long, and has not done so for too long. */
static bool pauses(uint32_t kernel, struct watched *watched, uint64_t counted)
{
    if (board_word(kernel, BOARD_PAUSED) == 0)
        return false;
    watched->paused += counted;
    return watched->paused < PAUSE_MAX;
}

/* Looks at KERNEL, COUNTED ns after the last look. Returns why it is dead, or NULL. If PROBES, this kernel asks it
 * whether it lives; otherwise another one may do so. */
static const char *look_at(uint32_t kernel, struct watched *watched, uint64_t counted, bool probes)
{
    uint64_t beats = board_word(kernel, BOARD_BEATS) + board_word(kernel, MSG_BOARD_LOOKS);
    bool asks;

    if ((window_boot_page()->stopped >> kernel & 1) != 0)
        return "it has stopped itself, or was ended";
    if (beats != watched->beats)
        watched->paused = 0;
    else if (pauses(kernel, watched, counted))
        watched->beats = ~beats; /* as if it had beaten */
    switch (judge(watched, beats, board_word(kernel, BOARD_ANSWERS), counted, &asks)) {
    case SPINS:
        return "it runs, and does not take interrupts";
    case GONE:
        return "one of its CPUs does not run";
    default:
        if (asks && probes)
            ask(kernel);
        return NULL;
    }
}

static void look_at_others(uint64_t counted)
{
    for (uint32_t k = 1; k < instance.kernels; k++) {
        const char *why;

        if (!kernels[k].watched)
            continue;
        why = look_at(k, &kernels[k], counted, true);
        if (why == NULL)
            continue;
        kernels[k].watched = false;
        lost_hook(k, why);
    }
}

/* Whether all kernels that come before this one, if somebody has to act for kernel 0, are dead. SILENT: kernel 0 is
 * silent itself, so nobody else looks whether they live. */
static bool none_before(bool silent, uint64_t counted)
{
    const struct boot_page *page = window_boot_page();
    kernel_set known = page->watched & ~page->stopped;
    bool none = true;

    for (uint32_t k = 1; k < instance.kernel; k++) {
        bool dead = (known >> k & 1) == 0;

        if (!silent || dead)
            kernels[k].watched = false;
        else if (!kernels[k].watched)
            alive_watch(k);
        else
            dead = look_at(k, &kernels[k], counted, false) != NULL;
        none = none && dead;
    }
    return none;
}

static void dump(const char *what, uint32_t number, const struct watched *watched)
{
    if (watched->suspected)
        log_event("wait kernel %u suspects %s %u: no beat for %lu ms, %u turns, no answer for %lu ms", instance.kernel,
                  what, number, (unsigned long)(watched->silence / MS), watched->turns,
                  (unsigned long)(watched->unanswered / MS));
}

static void look_at_first(uint64_t counted)
{
    struct watched *first = &kernels[0];
    const char *why = look_at(0, first, counted, deputy);
    bool was = deputy;

    deputy = none_before(why != NULL || first->suspected, counted);
    if (!deputy)
        return;
    if (!was && first->suspected) {
        suspect(first, board_word(0, BOARD_ANSWERS)); /* whoever came before may have died without asking it */
        ask(0);
    } else if (why != NULL) {
        first->watched = false;
        dump("kernel", 0, first); /* as it is now: the wait dump comes when kernel 0 has had its say */
        lost_hook(0, why);
    }
}

static void look(uint64_t counted)
{
    if (instance.kernel == 0)
        look_at_others(counted);
    else if (kernels[0].watched)
        look_at_first(counted);
}

void alive_tick(uint64_t now)
{
    uint64_t counted = now - last_look < period ? now - last_look : period;
    uint32_t index;

    if (period == 0)
        return;
    index = cpu_several ? cpu_index() : 0;
    ticks[index]++;
    if (index != 0 || now < next_look)
        return;
    last_look = now;
    next_look = alive_due(now);
    unlearn();
    idle_looks_count = all_tick(counted);
    if (idle_looks_count)
        __atomic_fetch_add(&msg_board_own()[BOARD_BEATS], 1, __ATOMIC_RELEASE);
    look(counted);
}

void alive_dump(uint64_t now)
{
    if (period == 0)
        return;
    if (now > next_look + period)
        log_event("wait kernel %u has not looked for %lu ms whether others live", instance.kernel,
                  (unsigned long)((now - last_look) / MS));
    for (uint32_t i = 1; i < cpu_total; i++)
        dump("its CPU", cpus[i]->number, &own_cpus[i]);
    for (uint32_t k = 0; k < instance.kernels; k++) {
        if (kernels[k].watched)
            dump("kernel", k, &kernels[k]);
    }
}

/* Answers the kernel that has asked, if each other CPU has taken an NMI since. */
static void answer_if_all(void)
{
    for (uint32_t i = 1; i < cpu_total; i++) {
        if (__atomic_load_n(&cpu_answers[i], __ATOMIC_SEQ_CST) == before_asked[i])
            return;
    }
    if (__atomic_exchange_n(&kernel_asked, false, __ATOMIC_SEQ_CST))
        __atomic_fetch_add(&msg_board_own()[BOARD_ANSWERS], 1, __ATOMIC_RELEASE);
}

/* Another kernel asks the first CPU, which may spin, without interrupts, until another one releases a lock or has
 * flushed. So this kernel has had a turn when all of its CPUs have had one. */
static void ask_others(void)
{
    if (__atomic_load_n(&kernel_asked, __ATOMIC_SEQ_CST))
        return; /* the next deputy asks, too */
    for (uint32_t i = 1; i < cpu_total; i++)
        before_asked[i] = __atomic_load_n(&cpu_answers[i], __ATOMIC_SEQ_CST);
    __atomic_store_n(&kernel_asked, true, __ATOMIC_SEQ_CST);
    for (uint32_t i = 1; i < cpu_total; i++)
        ask_cpu(i);
    answer_if_all();
}

bool alive_probed(void)
{
    uint64_t bit = 1ull << instance.kernel;
    uint32_t index = cpu_several ? cpu_index() : 0;

    if (__atomic_exchange_n(&cpu_asked[index], false, __ATOMIC_SEQ_CST)) {
        __atomic_fetch_add(&cpu_answers[index], 1, __ATOMIC_SEQ_CST);
        answer_if_all();
        return true;
    }
    if (index != 0 || (__atomic_fetch_and(&window_boot_page()->probed, ~bit, __ATOMIC_SEQ_CST) & bit) == 0)
        return false;
    ask_others();
    return true;
}
