/* Heartbeats: who is declared dead, and who is only slow.
 *
 * sources: msg/alive.c boot/options/options.c */
#include "msg/alive.h"

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
#include "tests/test.h"

#define T 200000000ull /* ns: death=200 */
#define LOOK (T / 8)
#define D 2u

struct instance instance;
struct cpu *cpus[CPUS_MAX];
uint32_t cpu_total = 1;
bool cpu_several;
struct wait_ops wait_ops;
static struct boot_page page;
static uint64_t boards[3][MSG_BOARD_WORDS];
static uint64_t now;
static uint32_t nmis, deaths, dead;
static const char *reason;

struct boot_page *window_boot_page(void)
{
    return &page;
}

volatile uint64_t *msg_board_own(void)
{
    return boards[0];
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
    CHECK_EQ(target, 10 + D);
    nmis++;
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
    nmis = deaths = 0;
    now += 10 * T;
    instance.kernels = 3;
    for (uint32_t k = 0; k < 3; k++) {
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

static void beat(void)
{
    boards[D][MSG_BOARD_ALIVE]++;
}

static void answer(void)
{
    if ((page.probed >> D & 1) == 0)
        return;
    page.probed = 0;
    boards[D][MSG_BOARD_ALIVE + 1]++;
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

TEST(spins, "one that answers an NMI and does not beat is dead after twice the time")
{
    uint32_t looks = 0;

    begin("");
    for (; deaths == 0 && looks < 1000; looks++) {
        look_after(LOOK);
        answer();
    }
    CHECK_EQ(deaths, 1);
    CHECK_EQ(dead, D);
    CHECK_EQ(nmis, 1);
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

TEST(several, "a kernel of which one CPU does not take its timer does not beat")
{
    static struct cpu other;
    uint64_t before;

    begin("");
    cpus[1] = &other;
    cpu_total = 2; /* the other one never ticks */
    for (uint32_t i = 0; i < 9; i++)
        look_after(LOOK);
    before = boards[0][MSG_BOARD_ALIVE];
    for (uint32_t i = 0; i < 20; i++)
        look_after(LOOK);
    CHECK_EQ(boards[0][MSG_BOARD_ALIVE], before);
    cpu_total = 1;
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
