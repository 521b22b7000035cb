/* Requests and replies over small rings (msg/PROTOCOL.md, "Room"). Two kernels; on each, tasks that wait for room, for a
 * credit and for their replies, one dispatcher whose handlers never wait, and a worker that answers requests handed to it.
 *
 * A ring has SLOTS slots, of which only replies may use the last RESERVE; a kernel has at most RESERVE requests unanswered
 * at each peer. A slot is given back to the sender before the message in it is handled.
 *
 * Promises: a reply always finds room (asserted); no task waits for ever (no invalid end state); every request is answered
 * exactly once (asserted).
 *
 * BUG=1: no reserve: requests and notices fill the ring, and a handler that has to answer waits for room.
 * BUG=2: no limit on the requests a kernel has unanswered.
 * BUG=3: slots are given back only when the ring is empty.
 * BUG=4: a handler hands a request to the worker and answers it too.
 *
 * Seeded bugs: 1 to 4 (tests/models/run).
 */
#ifndef BUG
#define BUG 0
#endif

#define KERNELS 2
#define TASKS 2 /* of each kernel, that ask once; one more sends notices */
#define TELLS 2
#define SLOTS 2
#if BUG == 1
#define RESERVE 0
#else
#define RESERVE 1
#endif
#define CREDITS 1

mtype = { NOTICE, REQUEST, REPLY };

chan ring[KERNELS] = [SLOTS] of { mtype, byte }; /* by receiver; the byte is the asking task */
byte used[KERNELS];                              /* slots filled and not given back */
byte outstanding[KERNELS];                       /* by asking kernel */
chan work[KERNELS] = [TASKS] of { byte };        /* requests handed to the worker */
byte answers[KERNELS * TASKS];                   /* replies a task has got */
byte answered[KERNELS * TASKS];                  /* replies sent to it */

#define peer (1 - self)

inline send_ordinary(kind, task)
{
    atomic {
        used[peer] + RESERVE < SLOTS -> /* waits */
        used[peer]++;
        ring[peer]!kind, task
    }
}

inline send_reply(task)
{
    atomic {
#if BUG == 1
        used[peer] < SLOTS -> /* waits */
#else
        assert(used[peer] < SLOTS);
#endif
        used[peer]++;
        assert(answered[peer * TASKS + task] == 0);
        answered[peer * TASKS + task]++;
        ring[peer]!REPLY, task
    }
}

inline handle(kind, task)
{
    if
    :: kind == NOTICE
    :: kind == REQUEST ->
        if
        :: true -> send_reply(task)
        :: true ->
            work[self]!task;
#if BUG == 4
            send_reply(task)
#endif
        fi
    :: kind == REPLY -> /* the credit comes back first, then the task wakes */
        outstanding[self]--;
        assert(answers[self * TASKS + task] == 0);
        answers[self * TASKS + task]++
    fi
}

proctype dispatcher(byte self)
{
    mtype kind;
    byte task;
    byte taken = 0;
end:
    do
    :: ring[self]?kind, task ->
        taken++;
#if BUG != 3
        used[self] = used[self] - taken;
        taken = 0;
#endif
        handle(kind, task);
        kind = 0;
        task = 0
#if BUG == 3
    :: atomic { empty(ring[self]) && taken > 0 -> used[self] = used[self] - taken; taken = 0 }
#endif
    od
}

proctype worker(byte self)
{
    byte task;
end:
    do
    :: work[self]?task ->
        send_reply(task);
        task = 0
    od
}

proctype teller(byte self)
{
    byte left = TELLS;

    do
    :: left > 0 -> send_ordinary(NOTICE, 0); left--
    :: else -> break
    od
}

proctype asker(byte self; byte task)
{
#if BUG == 2
    outstanding[self]++;
#else
    atomic { outstanding[self] < CREDITS -> outstanding[self]++ };
#endif
    send_ordinary(REQUEST, task);
    answers[self * TASKS + task] > 0
}

init
{
    byte kernel = 0, task = 0;

    atomic { /* the tasks last: a process ends only after those that were started later */
        do
        :: kernel < KERNELS -> run dispatcher(kernel); run worker(kernel); kernel++
        :: else -> kernel = 0; break
        od;
        do
        :: kernel < KERNELS && task < TASKS -> run asker(kernel, task); task++
        :: kernel < KERNELS && task == TASKS -> run teller(kernel); kernel++; task = 0
        :: else -> break
        od
    };
    (_nr_pr == 1 + 2 * KERNELS); /* all tasks have their answers */
    assert(outstanding[0] == 0 && outstanding[1] == 0)
}
