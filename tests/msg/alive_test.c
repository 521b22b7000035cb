/* Heartbeats: who is declared dead, and who is only slow.
 *
 * sources: msg/alive.c boot/options/options.c */
#include "msg/alive.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/arch/x86_64/apic.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/bootpage.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/wait/completion.h"
#include "msg/channel.h"
#include "msg/idle.h"
#include "tests/msg/alive_traces.h"
#include "tests/test.h"

#define T 200000000ull /* ns: death=200 */
#define LOOK (T / 8)
#define D 2u

struct instance instance;
struct cpu *cpus[CPUS_MAX];
uint32_t cpu_total = 1;
bool cpu_several, idle_looks_count;
struct wait_ops wait_ops;
static struct boot_page page;
static uint64_t boards[4][MSG_BOARD_WORDS];
static uint64_t now;
static uint32_t nmis, asked, deaths, dead;
static const char *reason;

struct boot_page *window_boot_page(void)
{
    return &page;
}

volatile uint64_t *msg_board_own(void)
{
    return boards[instance.kernel];
}

const volatile uint64_t *msg_board_of(uint32_t kernel)
{
    return boards[kernel];
}

void apic_send(uint32_t target, uint8_t vector)
{
    (void)target;
    (void)vector;
}

void apic_send_nmi(uint32_t target)
{
    asked = target - 10;
    nmis++;
}

static char last_event[200];
static uint32_t events;

void log_event(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(last_event, sizeof(last_event), format, arguments);
    va_end(arguments);
    events++;
}

static void nothing(void)
{
}

static void lost(uint32_t kernel, const char *why)
{
    deaths++;
    dead = kernel;
    reason = why;
}

static void begin(const char *cmdline)
{
    memset(boards, 0, sizeof(boards));
    memset(&page, 0, sizeof(page));
    nmis = deaths = events = 0;
    now += 10 * T;
    instance.kernels = 4;
    instance.kernel = 0;
    for (uint32_t k = 0; k < 4; k++) {
        instance.plan.kernels[k].boot_cpu = k;
        instance.plan.cpus[k].apic_id = 10 + k;
    }
    snprintf(instance.cmdline, sizeof(instance.cmdline), "%s", cmdline);
    wait_ops.due_changed = nothing;
    alive_init(lost);
    alive_start();
    alive_forget(1);
    alive_watch(D);
    alive_tick(now);
}

/* The same on KERNEL, which watches kernel 0; 1 to 3 are known to all. */
static void begin_on(uint32_t kernel)
{
    begin("");
    page.watched = 0xe;
    instance.kernel = kernel;
    alive_forget(D);
    for (uint32_t k = 0; k < 4; k++)
        alive_forget(k);
    alive_watch(0);
    now += T;
    alive_tick(now);
}

static void beat_of(uint32_t kernel)
{
    boards[kernel][MSG_BOARD_ALIVE]++;
}

static void beat(void)
{
    beat_of(D);
}

static void answer_of(uint32_t kernel)
{
    if ((page.probed >> kernel & 1) == 0)
        return;
    page.probed = 0;
    boards[kernel][MSG_BOARD_ALIVE + 1]++;
}

static void answer(void)
{
    answer_of(D);
}

static void look_after(uint64_t ns)
{
    now += ns;
    alive_tick(now);
}

TEST(beats, "a kernel that beats, however irregularly within its time, lives; and the watcher beats itself")
{
    begin("");
    for (uint32_t i = 0; i < 400; i++) {
        if (i % 7 == 0)
            beat();
        look_after(LOOK);
    }
    CHECK_EQ(deaths, 0);
    CHECK_EQ(nmis, 0);
    CHECK(boards[0][MSG_BOARD_ALIVE] >= 399);
}

TEST(spins, "one that answers eight NMIs and does not beat is dead after twice the time")
{
    uint32_t looks = 0;

    begin("");
    for (; deaths == 0 && looks < 1000; looks++) {
        look_after(LOOK);
        answer();
    }
    CHECK_EQ(deaths, 1);
    CHECK_EQ(dead, D);
    CHECK(nmis >= 8 && asked == D);
    CHECK(looks >= 16 && looks <= 19);
    for (uint32_t i = 0; i < 100; i++)
        look_after(LOOK);
    CHECK_EQ(deaths, 1); /* said once */
}

TEST(gone, "one that does not even answer is dead after eleven times the time, and not before")
{
    uint32_t looks = 0;

    begin("");
    for (; deaths == 0 && looks < 1000; looks++)
        look_after(LOOK);
    CHECK_EQ(deaths, 1);
    CHECK(looks >= 88 && looks <= 91);
}

TEST(slow_host, "one whose CPU gets no turn for long, and then answers and beats, lives")
{
    begin("");
    for (uint32_t turn = 0; turn < 20; turn++) {
        for (uint32_t i = 0; i < 80; i++)
            look_after(LOOK);
        answer();
        beat();
        look_after(LOOK);
    }
    CHECK_EQ(deaths, 0);
}

/* Looks, while the kernels of BEATING beat and those of ANSWERING answer, until a death is found. */
static uint32_t look_while(uint64_t beating, uint64_t answering, uint32_t most)
{
    uint32_t looks = 0;

    for (; deaths == 0 && looks < most; looks++) {
        for (uint32_t k = 0; k < 4; k++) {
            if ((beating >> k & 1) != 0)
                beat_of(k);
            if ((answering >> k & 1) != 0)
                answer_of(k);
        }
        look_after(LOOK);
    }
    return looks;
}

/* Looks, while D answers each NMI after so many looks, until it is dead or has had so many turns. */
static uint32_t give_turns(uint32_t after, uint32_t turns)
{
    uint32_t looks = 0;

    for (; deaths == 0 && looks < after * turns; looks++) {
        if (looks % after == after - 1)
            answer();
        look_after(LOOK);
    }
    return looks;
}

TEST(short_turns, "one that has its interrupts off for several short turns of its CPU, however rare, lives")
{
    begin("");
    for (uint32_t after = 1; after < 70; after++) {
        give_turns(1, 8); /* it is suspected */
        give_turns(after, 7);
        CHECK_EQ(deaths, 0);
        beat();
        look_after(LOOK);
    }
    give_turns(1, 8);
    begin(""); /* what it has learned is lost with its instance */
    give_turns(60, 9 + 8);
    CHECK(deaths == 1 && strstr(reason, "does not take interrupts") != NULL);
}

TEST(learns, "a host on which kernels that live are slow is given up to eight times as long, and less when it is not")
{
    uint32_t looks;

    begin("");
    for (uint32_t turns = 7; turns < 60; turns += turns / 2) { /* always slower than before */
        give_turns(1, 8);
        give_turns(1, turns);
        CHECK_EQ(deaths, 0);
        beat();
        look_after(LOOK);
    }
    looks = give_turns(1, 1000);
    CHECK(deaths == 1 && looks >= 8 + 64 && looks <= 8 + 64 + 3);
    begin("");
    give_turns(50, 2);
    beat();
    looks = look_while(0, 0, 10000);
    CHECK(deaths == 1 && looks >= 8 + 320 && looks <= 8 + 320 + 3);
    begin("");
    give_turns(50, 2);
    look_while(1 << D, 0, 3 * 800); /* it is fast now */
    looks = give_turns(1, 1000);
    CHECK(deaths == 1 && looks >= 16 && looks <= 19);
}

TEST(needed, "what is given stays as long as it is needed, and no longer")
{
    uint32_t looks;

    begin("");
    for (uint32_t turns = 7; turns < 40; turns *= 2) {
        give_turns(1, 8 + turns);
        beat();
        look_after(LOOK);
    }
    for (looks = 0; deaths == 0 && looks < 300 * 8; looks++) { /* for 300 T */
        looks += give_turns(1, 8 + 40);
        beat();
        look_after(LOOK);
    }
    CHECK_EQ(deaths, 0);
    for (looks = 0; deaths == 0 && looks < 300 * 8; looks++) { /* now eight times as fast */
        looks += give_turns(1, 8 + 5);
        beat();
        look_after(LOOK);
    }
    CHECK_EQ(deaths, 0);
    looks = give_turns(1, 1000);
    CHECK(deaths == 1 && looks >= 8 + 32 && looks <= 8 + 32 + 3);
}

/* Has the watcher see what the looks of TRACE saw. Returns how many it has made, until D is dead or the trace ends. */
static uint32_t replay(const char *trace)
{
    uint32_t looks = 0;

    for (; deaths == 0 && trace[2 * looks] != 0; looks++) {
        char seen = trace[2 * looks + 1];

        if (seen == 'b' || seen == '!')
            beat();
        if (seen == 'a' || seen == '!')
            answer();
        look_after((uint64_t)(trace[2 * looks] - '0') * LOOK / 8);
    }
    return looks;
}

TEST(recorded, "what watchers have seen of kernels that lived, on hosts that were busy and far too busy, is no death")
{
    uint32_t asked_in_all = 0;

    for (uint32_t i = 0; i < sizeof(alive_traces) / sizeof(alive_traces[0]); i++) {
        const struct alive_trace *trace = &alive_traces[i];
        uint32_t looks;

        begin("");
        looks = replay(trace->looks);
        if (deaths != (trace->dies_at != 0 ? 1 : 0))
            printf("%s: %u deaths\n", trace->host, deaths);
        CHECK_EQ(deaths, trace->dies_at != 0 ? 1 : 0);
        if (trace->dies_at != 0)
            CHECK(looks > trace->dies_at && looks <= trace->dies_at + trace->within);
        else
            asked_in_all += nmis;
    }
    CHECK(asked_in_all > 0); /* some were silent for long */
}

TEST(standstill, "time for which the watcher itself did not run counts for nobody")
{
    begin("");
    for (uint32_t i = 0; i < 7; i++)
        look_after(100 * T);
    CHECK_EQ(nmis, 0);
    beat();
    for (uint32_t i = 0; i < 50; i++) {
        look_after(1000 * T);
        if (i % 6 == 0)
            beat();
    }
    CHECK_EQ(deaths, 0);
    CHECK_EQ(nmis, 0);
}

TEST(says_so, "one that says that it has stopped is dead at the next look")
{
    begin("");
    beat();
    page.stopped = 1ull << D;
    look_after(LOOK);
    CHECK_EQ(deaths, 1);
    CHECK(strstr(reason, "stopped itself") != NULL);
}

TEST(paused, "one that waits for other CPUs with interrupts off, and says so, is not suspected")
{
    begin("");
    boards[D][MSG_BOARD_ALIVE + 2] = 1;
    for (uint32_t i = 0; i < 400; i++)
        look_after(LOOK);
    CHECK_EQ(deaths + nmis, 0);
    boards[D][MSG_BOARD_ALIVE + 2] = 0;
    for (uint32_t i = 0; i < 20; i++) {
        look_after(LOOK);
        answer();
    }
    CHECK_EQ(deaths, 1);
}

TEST(paused_for_ever, "and one that says so without end is, after 20 seconds of the watcher's own time")
{
    uint32_t looks = 0;

    begin("");
    boards[D][MSG_BOARD_ALIVE + 2] = 1;
    for (; deaths == 0 && looks < 10000; looks++)
        look_after(LOOK);
    CHECK_EQ(deaths, 1);
    CHECK(looks >= 886 && looks <= 891);
}

TEST(paused_often, "the 20 seconds are those of one pause: at the end of each the kernel beats")
{
    uint64_t beats;

    begin("");
    beats = msg_board_own()[MSG_BOARD_ALIVE];
    alive_pause(true);
    CHECK(msg_board_own()[MSG_BOARD_ALIVE + 2] == 1 && msg_board_own()[MSG_BOARD_ALIVE] == beats);
    alive_pause(false);
    CHECK(msg_board_own()[MSG_BOARD_ALIVE + 2] == 0 && msg_board_own()[MSG_BOARD_ALIVE] == beats + 1);
    for (uint32_t i = 0; i < 3000; i++) {
        boards[D][MSG_BOARD_ALIVE + 2] = i % 400 != 399;
        boards[D][MSG_BOARD_ALIVE] += i % 400 == 399 ? 1 : 0;
        look_after(LOOK);
    }
    CHECK_EQ(deaths + nmis, 0);
}

TEST(deputy,
     "the first of the other kernels asks kernel 0 and finds its death, by the same rule as kernel 0 that of others")
{
    uint32_t looks;

    begin_on(1);
    look_while(1, 0, 400);
    CHECK_EQ(deaths + nmis, 0);
    looks = look_while(0, 1, 1000);
    CHECK(deaths == 1 && dead == 0 && nmis >= 8 && asked == 0);
    CHECK(looks >= 16 && looks <= 19);
    CHECK(events == 1 && strstr(last_event, "wait kernel 1 suspects kernel 0: no beat for ") != NULL);
    begin_on(1);
    looks = look_while(0, 0, 1000);
    CHECK(deaths == 1 && dead == 0 && nmis == 1);
    CHECK(looks >= 88 && looks <= 91);
}

TEST(not_deputy, "another one leaves that to it, as long as it lives")
{
    begin_on(3);
    look_while(1, 0, 400);
    look_while(2, 0, 2000);
    CHECK_EQ(deaths + nmis, 0);
    page.stopped = 1; /* kernel 0 was ended */
    look_while(2, 0, 400);
    CHECK_EQ(deaths + nmis, 0);
}

TEST(next_deputy, "the role passes on when that one is stopped or has died")
{
    uint32_t looks;

    begin_on(3);
    page.watched = 8;
    page.stopped = 1;
    looks = look_while(0, 0, 1000);
    CHECK(deaths == 1 && dead == 0 && looks <= 3);
    begin_on(3);
    page.stopped = 6;
    looks = look_while(0, 1, 1000);
    CHECK(deaths == 1 && dead == 0 && nmis >= 8 && asked == 0 && looks <= 19);
}

TEST(silent_deputy, "and when it is silent with kernel 0; before, the next one asks kernel 0 itself")
{
    uint32_t looks;

    begin_on(3);
    look_while(0x7, 0, 100);
    looks = look_while(0, 0, 1000);
    CHECK(deaths == 1 && dead == 0 && nmis == 1 && asked == 0);
    CHECK(looks >= 8 + 88 + 80 && looks <= 8 + 88 + 80 + 8);
    begin_on(3);
    look_while(0, 0, 8 + 88 + 4); /* this one has begun to ask */
    CHECK_EQ(nmis, 1);
    look_while(1, 0, 400); /* all of them were only slow */
    CHECK_EQ(deaths, 0);
    look_while(2, 0, 2000);
    CHECK(deaths == 0 && nmis == 1);
}

static struct cpu first_cpu, other_cpu;
struct cpu *test_cpu; /* that calls */

/* Looks of a kernel of two CPUs, of which the other one answers or not, until it does not beat; or MOST. */
static uint32_t look_of_two(bool answers, uint32_t most)
{
    uint32_t looks = 0;

    for (; idle_looks_count && looks < most; looks++) {
        beat();
        test_cpu = &other_cpu;
        CHECK(!answers || asked != 99 - 10 || alive_probed());
        asked = 0;
        test_cpu = &first_cpu;
        look_after(LOOK);
    }
    return looks;
}

static void begin_two(void)
{
    other_cpu.index = 1;
    other_cpu.apic_id = 99;
    cpus[1] = &other_cpu;
    test_cpu = &first_cpu;
    begin("");
    cpu_total = 2;
    cpu_several = true;
    asked = 0;
}

/* The other CPU takes its timer, and the first one looks. */
static void tick_of_other(void)
{
    test_cpu = &other_cpu;
    alive_tick(now);
    test_cpu = &first_cpu;
    beat();
    look_after(LOOK);
}

static void end_two(void)
{
    tick_of_other(); /* so that it is neither suspected nor asked at the next begin_two */
    test_cpu = &other_cpu;
    alive_probed();
    test_cpu = &first_cpu;
    cpu_total = 1;
    cpu_several = false;
}

TEST(several, "a kernel of which one CPU does not take its timer does not beat, and finds that by the same rule")
{
    uint64_t before;
    uint32_t looks;

    begin_two();
    looks = look_of_two(false, 1000);
    CHECK(looks >= 88 && looks <= 90);
    CHECK_EQ(nmis, 1);
    before = boards[0][MSG_BOARD_ALIVE]; /* nor do its polls count */
    for (uint32_t i = 0; i < 20; i++)
        look_after(LOOK);
    CHECK_EQ(boards[0][MSG_BOARD_ALIVE], before);
    for (uint32_t turn = 0; turn < 20; turn++) { /* it was only slow */
        tick_of_other();
        CHECK(idle_looks_count);
        look_of_two(true, 14);
        CHECK(idle_looks_count);
    }
    CHECK_EQ(deaths, 0);
    before = nmis;
    looks = look_of_two(true, 1000);
    CHECK(!idle_looks_count && nmis >= before + 8 && looks <= 100);
    end_two();
}

TEST(hangs_on, "a CPU that hangs is asked for ever, so it does so with a greater margin, too, after so many more turns")
{
    uint32_t looks;

    begin_two();
    look_of_two(true, 1000);
    CHECK(!idle_looks_count);
    for (uint32_t turns = 7; turns <= 28; turns *= 4) { /* meanwhile kernels are slow, and the margin grows */
        for (uint32_t i = 0; i < 8 + turns; i++) {
            answer();
            test_cpu = &other_cpu;
            alive_probed();
            test_cpu = &first_cpu;
            look_after(LOOK);
        }
        beat();
        look_after(LOOK);
        CHECK_EQ(deaths, 0);
    }
    asked = 99 - 10;         /* before D */
    idle_looks_count = true; /* by now the margin is the greatest */
    looks = look_of_two(true, 1000);
    CHECK(!idle_looks_count && looks <= 8 * 8 + 3);
    end_two();
}

TEST(long_work, "and what a CPU does under alive_pause teaches nothing about the host")
{
    uint32_t looks;

    begin_two();
    alive_pause(true);
    look_of_two(true, 14);
    for (uint32_t i = 0; i < 100; i++) {
        idle_looks_count = true;
        look_of_two(true, 1);
    }
    alive_pause(false);
    tick_of_other();
    looks = look_of_two(true, 1000); /* as long as at first */
    CHECK(!idle_looks_count && looks >= 16 && looks <= 19);
    end_two();
}

TEST(waits, "nor does one hang that spins while another one, for which it may wait, is left alone by its host for 10 T")
{
    static struct cpu third_cpu = {.index = 2, .apic_id = 77};
    uint32_t looks = 0;

    begin_two();
    cpus[2] = &third_cpu;
    cpu_total = 3;
    for (; idle_looks_count && looks < 1000; looks++) {
        beat();
        test_cpu = &other_cpu;
        alive_probed();
        test_cpu = &first_cpu;
        look_after(LOOK);
    }
    CHECK(looks >= 88 && looks <= 90);
    test_cpu = &third_cpu;
    alive_probed();
    test_cpu = &other_cpu;
    alive_probed();
    test_cpu = &first_cpu;
    look_after(LOOK);
    CHECK(!idle_looks_count); /* it is not left alone, and does not release anything: the other one hangs */
    test_cpu = &third_cpu;
    alive_tick(now);
    cpu_total = 2;
    end_two();
}

TEST(due, "ticks come at regular times, and not at all where nobody is watched")
{
    begin("");
    for (uint64_t at = 12345; at < 3 * LOOK; at += LOOK / 3)
        CHECK(alive_due(at) > at && alive_due(at) <= at + LOOK && alive_due(at) % LOOK == 0);
    CHECK(alive_survives());
    snprintf(instance.cmdline, sizeof(instance.cmdline), "death=off");
    CHECK(!alive_survives());
}

TEST(probed, "the NMI of a watcher is answered once, and no other is taken for it")
{
    begin("");
    CHECK(!alive_probed());
    page.probed = 1 | 1u << D;
    CHECK(alive_probed() && !alive_probed());
    CHECK_EQ(page.probed, 1u << D);
    CHECK_EQ(boards[0][MSG_BOARD_ALIVE + 1], 1);
}

TEST(probed_other, "a kernel answers when each of its CPUs has taken an NMI, whichever is the last, and once")
{
    volatile uint64_t *answers = &boards[0][MSG_BOARD_ALIVE + 1];

    begin_two();
    for (uint32_t round = 1; round <= 3; round++) {
        nmis = 0;
        page.probed = 1;
        test_cpu = &other_cpu;
        CHECK(!alive_probed()); /* of the host: it is no answer for the first one */
        test_cpu = &first_cpu;
        CHECK(alive_probed() && !alive_probed());
        CHECK(page.probed == 0 && nmis == 1 && asked == 99 - 10);
        CHECK_EQ(*answers, round - 1); /* it may spin for what the other one has */
        page.probed = 1;               /* the next deputy */
        CHECK(alive_probed() && nmis == 1);
        test_cpu = &other_cpu;
        CHECK(alive_probed() && !alive_probed());
        CHECK_EQ(*answers, round);
    }
    end_two();
}

TEST(probed_both, "which one NMI is enough for that the first CPU and another kernel have asked for")
{
    begin_two();
    while (nmis == 0)
        look_of_two(false, 1);
    page.probed = 1;
    CHECK(alive_probed() && nmis == 2);
    CHECK_EQ(boards[0][MSG_BOARD_ALIVE + 1], 0);
    test_cpu = &other_cpu;
    CHECK(alive_probed() && !alive_probed());
    CHECK_EQ(boards[0][MSG_BOARD_ALIVE + 1], 1);
    test_cpu = &first_cpu;
    look_after(LOOK);
    CHECK_EQ(nmis, 3); /* the first one has seen the answer, too */
    end_two();
}

TEST(dump, "the wait dump says whom a kernel suspects, for how long, and that it has not looked")
{
    begin("");
    alive_forget(0); /* of tests before */
    alive_forget(3);
    alive_dump(now);
    CHECK_EQ(events, 0);
    give_turns(2, 9); /* eight looks of silence, and one more until an answer is seen */
    alive_dump(now);
    CHECK(events == 1 && strstr(last_event, "suspects kernel 2: no beat for ") != NULL &&
          strstr(last_event, " turns, no answer for ") != NULL);
    beat();
    look_after(LOOK);
    alive_dump(now);
    CHECK_EQ(events, 1);
    alive_dump(now + T);
    CHECK(events == 2 && strstr(last_event, "has not looked for 200 ms") != NULL);
    begin_two();
    alive_forget(D);
    events = 0;
    while (nmis == 0)
        look_of_two(false, 1);
    alive_dump(now);
    CHECK(events == 1 && strstr(last_event, "suspects its CPU ") != NULL);
    end_two();
}
