/* The ledger of stress-tasks. tests/guest/tasks/stress_ledger.h is the contract. */
#include "tests/guest/tasks/stress_ledger.h"

#include <stdio.h>

#include "tests/guest/harness/tap.h"

static const char *const kind_names[LEDGER_KINDS] = {"exit", "killed", "exec", "stop", "orphan", "group", "crowd"};

struct ledger_child *ledger_child(struct ledger *ledger, enum ledger_kind kind, int expected)
{
    int place = atomic_fetch_add(&ledger->children, 1);

    if (place >= CHILDREN_MAX) {
        atomic_store(&ledger->children, CHILDREN_MAX);
        return NULL;
    }
    atomic_store(&ledger->table[place].kind, kind);
    atomic_store(&ledger->table[place].expected, expected);
    return &ledger->table[place];
}

static void seen_audit(int row, const char *what, atomic_int *expected, atomic_int *seen)
{
    if (atomic_load(expected) != 0)
        CHECK(atomic_load(seen) == atomic_load(expected), "child %d sees %s %d, not %d", row, what, atomic_load(seen),
              atomic_load(expected));
}

static void children_audit(struct ledger *ledger)
{
    for (int i = 0; i < atomic_load(&ledger->children); i++) {
        struct ledger_child *child = &ledger->table[i];
        const char *kind = kind_names[atomic_load(&child->kind)];

        CHECK(atomic_load(&child->reaped) == 1, "child %d (%s) was reaped %d times", i, kind,
              atomic_load(&child->reaped));
        CHECK(atomic_load(&child->status) == atomic_load(&child->expected), "child %d (%s) has status %#x, not %#x", i,
              kind, (unsigned)atomic_load(&child->status), (unsigned)atomic_load(&child->expected));
        CHECK(atomic_load(&child->begun) == 1, "child %d (%s) ran %d times", i, kind, atomic_load(&child->begun));
        CHECK(atomic_load(&child->orphans_left) == atomic_load(&child->orphans_ended), "child %d left %d, ended %d", i,
              atomic_load(&child->orphans_left), atomic_load(&child->orphans_ended));
        seen_audit(i, "parent", &child->parent, &child->parent_seen);
        seen_audit(i, "group", &child->group, &child->group_seen);
        seen_audit(i, "session", &child->session, &child->session_seen);
    }
}

void ledger_audit(struct ledger *ledger)
{
    children_audit(ledger);
    for (int i = 0; i < WORKERS; i++) {
        struct ledger_worker *worker = &ledger->workers[i];

        CHECK(atomic_load(&worker->finished) == 1, "worker %d has not finished", i);
        CHECK(atomic_load(&worker->threads) == atomic_load(&worker->threads_ended), "worker %d: %ld threads, %ld ended",
              i, atomic_load(&worker->threads), atomic_load(&worker->threads_ended));
        CHECK(atomic_load(&worker->order_broken) == 0, "worker %d took %ld signals out of order", i,
              atomic_load(&worker->order_broken));
        CHECK(atomic_load(&worker->written) == atomic_load(&worker->read), "pipe %d: %ld bytes written, %ld read", i,
              atomic_load(&worker->written), atomic_load(&worker->read));
        CHECK(atomic_load(&worker->bytes_wrong) == 0, "pipe %d: %ld wrong bytes", i, atomic_load(&worker->bytes_wrong));
        for (int k = 0; k < WORKERS; k++) {
            struct ledger_worker *other = &ledger->workers[k];

            CHECK(atomic_load(&worker->queued[k]) == atomic_load(&other->taken[i]),
                  "%ld signals queued from worker %d to %d, %ld taken", atomic_load(&worker->queued[k]), i, k,
                  atomic_load(&other->taken[i]));
            CHECK(atomic_load(&worker->standard_before[k]) < atomic_load(&other->standard_handled),
                  "worker %d's last standard signal to %d was not handled", i, k);
        }
        CHECK(atomic_load(&worker->standard_handled) <= atomic_load(&worker->standard_sent),
              "worker %d handled %ld standard signals, %ld were sent", i, atomic_load(&worker->standard_handled),
              atomic_load(&worker->standard_sent));
    }
}

void ledger_totals(struct ledger *ledger)
{
    long operations = 0, moves = 0, pushes = 0, threads = 0, stops = 0, queued = 0, standard = 0, bytes = 0;
    int kinds[LEDGER_KINDS] = {0};

    for (int i = 0; i < WORKERS; i++) {
        struct ledger_worker *worker = &ledger->workers[i];

        operations += atomic_load(&worker->operations);
        moves += atomic_load(&worker->moves);
        pushes += atomic_load(&worker->pushes);
        threads += atomic_load(&worker->threads);
        stops += atomic_load(&worker->stops);
        standard += atomic_load(&worker->standard_sent);
        bytes += atomic_load(&worker->read);
        for (int k = 0; k < WORKERS; k++)
            queued += atomic_load(&worker->queued[k]);
    }
    for (int i = 0; i < atomic_load(&ledger->children); i++)
        kinds[atomic_load(&ledger->table[i].kind)]++;
    tap_note("%ld operations: %ld moves, %ld pushes, %d children (%d exec, %d killed, %d orphans left, %d of crowds), "
             "%ld threads, %ld stops, %ld queued and %ld standard signals, %ld bytes",
             operations, moves, pushes, atomic_load(&ledger->children), kinds[LEDGER_EXEC], kinds[LEDGER_KILLED],
             kinds[LEDGER_ORPHAN], kinds[LEDGER_CROWD], threads, stops, queued, standard, bytes);
}
