/* The balancer's decisions.
 * sources: tasks/balance/choice.c */
#include "tasks/balance/choice.h"

#include "tests/test.h"

#define MS 1000000ull
#define KERNELS 8

static struct balance_kernel kernels[KERNELS];

/* Two nodes of four kernels with one CPU each, all idle. We are kernel OWN. */
static void begin(uint32_t own)
{
    for (uint32_t k = 0; k < KERNELS; k++)
        kernels[k] = (struct balance_kernel){.allowed = true, .cpus = 1, .distance = k / 4 == own / 4 ? 10 : 20};
}

static uint32_t place(enum balance_placing placing, enum balance_event event, uint32_t own, uint32_t *turn)
{
    uint32_t k = balance_choose(placing, event, kernels, KERNELS, own, *turn);

    if (k != BALANCE_NOWHERE) {
        kernels[k].count++;
        kernels[k].weight += 1024;
        *turn = (k + 1) % KERNELS;
    }
    return k;
}

TEST(balance_local, "local keeps a thread here, unless it may not be here")
{
    uint32_t turn = 0;

    begin(5);
    kernels[5].count = 100;
    CHECK_EQ(place(PLACE_LOCAL, BALANCE_CLONE, 5, &turn), 5);
    kernels[5].allowed = false;
    CHECK(place(PLACE_LOCAL, BALANCE_CLONE, 5, &turn) / 4 == 1);
    for (int k = 0; k < KERNELS; k++)
        kernels[k].allowed = k == 2;
    CHECK_EQ(place(PLACE_LOCAL, BALANCE_CLONE, 5, &turn), 2);
}

TEST(balance_spread, "spread fills the own node first, one thread for each CPU, then the others, then goes round")
{
    uint32_t turn = 0;

    begin(4);
    kernels[4].count = 1; /* the one that asks */
    for (int i = 0; i < 3; i++)
        CHECK(place(PLACE_SPREAD, BALANCE_CLONE, 4, &turn) / 4 == 1);
    for (int i = 0; i < 4; i++)
        CHECK(place(PLACE_SPREAD, BALANCE_CLONE, 4, &turn) / 4 == 0);
    for (int k = 0; k < KERNELS; k++)
        CHECK_EQ(kernels[k].count, 1);
    for (int i = 0; i < 3 * KERNELS; i++)
        place(PLACE_SPREAD, BALANCE_CLONE, 4, &turn);
    for (int k = 0; k < KERNELS; k++)
        CHECK_EQ(kernels[k].count, 4);
}

TEST(balance_cpus, "a kernel of several CPUs takes that many threads")
{
    uint32_t turn = 0;

    begin(0);
    kernels[0].cpus = 4;
    for (int k = 1; k < KERNELS; k++)
        kernels[k].distance = 20;
    for (int i = 0; i < 4; i++)
        CHECK_EQ(place(PLACE_SPREAD, BALANCE_CLONE, 0, &turn), 0);
    CHECK(place(PLACE_SPREAD, BALANCE_CLONE, 0, &turn) != 0);
}

TEST(balance_least, "least-loaded goes by weight for each CPU, of equal ones to the nearest")
{
    uint32_t turn = 0;

    begin(0);
    for (int k = 0; k < KERNELS; k++)
        kernels[k].weight = 5000;
    kernels[6].weight = 88761;
    kernels[6].cpus = 100;
    CHECK_EQ(place(PLACE_LEAST_LOADED, BALANCE_CLONE, 0, &turn), 6);
    begin(0);
    kernels[0].weight = 1024;
    CHECK(place(PLACE_LEAST_LOADED, BALANCE_CLONE, 0, &turn) < 4);
}

TEST(balance_fork, "a process that forks or loads a program stays while there are not more threads than CPUs")
{
    uint32_t turn = 0;

    begin(1);
    kernels[1].count = 1;
    CHECK_EQ(place(PLACE_SPREAD, BALANCE_FORK, 1, &turn), 1);
    CHECK(place(PLACE_SPREAD, BALANCE_FORK, 1, &turn) != 1);
    CHECK(place(PLACE_LEAST_LOADED, BALANCE_EXEC, 1, &turn) != 1);
}

TEST(balance_nowhere, "with no kernel allowed there is none")
{
    uint32_t turn = 3;

    begin(0);
    for (int k = 0; k < KERNELS; k++)
        kernels[k].allowed = false;
    for (int placing = PLACE_LOCAL; placing <= PLACE_LEAST_LOADED; placing++)
        CHECK_EQ(place((enum balance_placing)placing, BALANCE_CLONE, 0, &turn), BALANCE_NOWHERE);
}

static const struct balance_case usual = {
    .ran = 1000 * MS, .weight = 1024, .here = 2048, .there = 0, .cpus_here = 1, .cpus_there = 1, .cost = 10 * MS};

TEST(balance_gains, "one of two threads of a CPU gains its own time again by going to an idle one, less the cost")
{
    CHECK_EQ(balance_gain(&usual), (int64_t)(990 * MS));
    CHECK(balance_worth(&usual));
}

TEST(balance_no_ping_pong, "what was worth moving is not worth moving back")
{
    for (uint64_t here = 1; here <= 6; here++) {
        for (uint64_t there = 0; there <= 6; there++) {
            struct balance_case c = usual, back = usual;

            c.here = here * 1024;
            c.there = there * 1024;
            back.here = c.there + c.weight;
            back.there = c.here - c.weight;
            CHECK(!balance_worth(&c) || !balance_worth(&back));
        }
    }
}

TEST(balance_cost, "a move that costs more than it brings is not made, nor one of a thread that has hardly run here")
{
    struct balance_case c = usual;

    c.cost = 600 * MS;
    CHECK(!balance_worth(&c));
    c = usual;
    c.ran = 70 * MS;
    CHECK(balance_gain(&c) > 0);
    CHECK(!balance_worth(&c));
    c = usual;
    c.cpus_here = 2; /* a CPU for each already */
    CHECK(balance_gain(&c) < 0);
}

TEST(balance_extremes, "no figure is too large")
{
    struct balance_case c = {.ran = UINT64_MAX,
                             .weight = 3,
                             .here = 65535ull * 88761,
                             .there = 0,
                             .cpus_here = 1,
                             .cpus_there = 256,
                             .cost = 1};

    CHECK(balance_worth(&c));
    c.there = c.here;
    CHECK(balance_draws(&c, 1));
    c.cost = 1ull << 60;
    CHECK(!balance_worth(&c));
    CHECK(!balance_draws(&c, 1));
}

TEST(balance_draw, "a thread is drawn to its memory by the part of its time that it saves there, if that pays")
{
    struct balance_case c = usual;

    c.here = 1024; /* it is alone on its CPU */
    CHECK_EQ(balance_draw_gain(&c, BALANCE_WHOLE / 2), (int64_t)(490 * MS));
    CHECK(balance_draws(&c, BALANCE_WHOLE / 2));
    CHECK(!balance_draws(&c, BALANCE_WHOLE));
    CHECK(!balance_draws(&c, BALANCE_WHOLE - BALANCE_WHOLE / 64)); /* 15 ms for a cost of 10 ms */
    c.ran = 79 * MS;
    CHECK(balance_draw_gain(&c, BALANCE_WHOLE / 2) > (int64_t)c.cost);
    CHECK(!balance_draws(&c, BALANCE_WHOLE / 2)); /* it has hardly run here */
    c.ran = 80 * MS;
    CHECK(balance_draws(&c, BALANCE_WHOLE / 2));
    c.ran = 50000 * MS; /* who has run for long is expected to stay as long */
    c.cost = 6000 * MS;
    CHECK(balance_draws(&c, BALANCE_WHOLE / 2));
    c.there = 1024; /* half of a CPU there */
    CHECK(!balance_draws(&c, BALANCE_WHOLE / 2));
}

TEST(balance_averages, "an average begins with the first sample and follows the others slowly")
{
    uint64_t average = 0;

    balance_average(&average, 800);
    CHECK_EQ(average, 800);
    balance_average(&average, 1600);
    CHECK_EQ(average, 900);
    for (int i = 0; i < 200; i++)
        balance_average(&average, 1600);
    CHECK(average > 1580 && average <= 1600);
    balance_average(&average, UINT64_MAX);
    CHECK(average < 1ull << 50);
}
