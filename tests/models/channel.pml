/* The channel between instances (msg/PROTOCOL.md): rings, hints, the doorbell word, and a receiver that polls, arms
 * the doorbell and halts. Every CPU has a store buffer, as x86 does: a store becomes visible some time after it was
 * made, in order; a CPU sees its own earlier. So each fence of the code is needed, and the model says so.
 *
 * One instance or two send to another. The first CPU of that takes doorbell interrupts. It idles, and as often as ASKS
 * runs a task, which looks for an answer and then perhaps stays in user mode for ever. The second CPU runs a task that
 * looks as often as HELPS. A hint counts modulo HINTS (in the code 4096, for two rings of up to 1024 slots; signals
 * are left out: room.pml). A sender waits for room by itself (queues: room.pml). A step takes at most QUANTUM
 * messages, and all hints are read again after it. -DPAIR: two senders. -DONE: two senders, and a receiver with one
 * CPU, which takes no locked instruction. -DONE -DRINGS: one sender with two rings, which one hint announces, and a
 * receiver with one CPU, which takes messages directly: see take_directly. With -DHELD it takes none directly, as fault
 * injection holds messages back in their ring, each once, until a timer releases them; and stores are visible at once, as
 * the other variants have the fences. -DLIVE: one of each.
 *
 * Promise: when nothing can move any more, every message has been taken: no wakeup is lost, and nothing is left
 * behind. -DLIVE: every message is taken (ltl everything, under weak fairness).
 *
 * -DSHORT: without any of these, two messages in place of three; with -DHELD they are always two.
 *
 * BUG=1: the sender does not fence between its hint and its look at the doorbell.
 * BUG=2: the receiver does not fence between arming the doorbell and its look at the hints.
 * BUG=3: the hint that is remembered is read after the look into the ring.
 * BUG=4: the hint is stored before the message is published.
 * BUG=5: a poll ends with work left in a ring, whose hint is remembered.
 * BUG=6: arming again does not change the doorbell's generation.
 * BUG=7: a hint counts modulo the slots of a ring.
 * BUG=8: a task that has looked for its answer does not arm again.
 * BUG=9: the first CPU looks at the hints, then arms, and halts.
 * BUG=10: an interrupt that finds another CPU at work leaves everything to it, and does not arm again.
 * BUG=11: the idle loop, its arming undone by a hint, does not poll, but for luck in a look before it arms.
 * BUG=12: who has taken a message directly remembers the hint of the moment, not that of the messages taken.
 * BUG=13: a poll that has taken a message directly ends, whatever else is announced, and its hint is remembered.
 * BUG=14: who leaves while messages keep coming has no timer look for them.
 * BUG=15: a poll that ends early does not take back that it has seen the rest announced.
 * BUG=16: a poll that ends early, and has found what was held back, sets no timer for the rest.
 * BUG=17: a poll of the second CPU that ends early does not ring the first one.
 * BUG=18: it rings before its stores are seen.
 * BUG=19: it does not ring when the first CPU has left its messages to a timer; the latter is to ignore the ring.
 *
 * Seeded bugs: 1 to 19 (tests/models/run).
 */
#ifndef BUG
#define BUG 0
#endif

#define SENDERS 2
/* Messages from each; looks of the second CPU's task; tasks of the first; whether there is a second CPU. */
#if defined(LIVE)
#define FROM_0 2
#define FROM_1 0
#define HELPS 0
#define ASKS 1
#define LOCKS 0
#elif defined(RINGS)
#if defined(SHORT) || defined(HELD)
#define FROM_0 2
#else
#define FROM_0 3
#endif
#define FROM_1 0
#define HELPS 0
#define ASKS 1
#define LOCKS 0
#elif defined(ONE)
#define FROM_0 1
#define FROM_1 1
#define HELPS 0
#define ASKS 1
#define LOCKS 0
#elif defined(PAIR)
#define FROM_0 1
#define FROM_1 1
#define HELPS 1
#define ASKS 0
#define LOCKS 1
#elif defined(SHORT)
#define FROM_0 2
#define FROM_1 0
#define HELPS 1
#define ASKS 1
#define LOCKS 1
#else
#define FROM_0 3
#define FROM_1 0
#define HELPS 1
#define ASKS 1
#define LOCKS 1
#endif
#define SLOTS 2
#define QUANTUM 1
#if BUG == 7
#define HINTS SLOTS
#elif defined(RINGS)
#define HINTS 8
#else
#define HINTS 4 /* more than SLOTS and QUANTUM together */
#endif

#define CPUS 4 /* the senders, the receiver's first CPU, its second */
#define FIRST 2
#define SECOND 3

/* Words of shared memory. */
#define PUBLISH 0 /* + sender: messages published; the last one's slot says so */
#define HINT 2    /* + sender */
#define TAKEN 4   /* + sender */
#define SEEN 6    /* msg_seen, the receiver's own: both hints */
#define BELL 7    /* 1: armed. The generation is left out: see rung */
#define LOCK 8    /* rx_lock */
#define WORDS 9

byte mem[WORDS];
chan buffer[CPUS] = [3] of { byte, byte }; /* word, value */
byte held[CPUS * WORDS];   /* stores to that word in that CPU's buffer */
byte newest[CPUS * WORDS]; /* and the last of them */
bool interrupt;            /* the doorbell's, waiting at the first CPU */
bool rung[SENDERS];        /* has rung for the generation in memory: forgotten when another one gets there */
byte taken[SENDERS];        /* messages taken; under rx_lock */
bool busy[SENDERS];        /* under rx_lock */
bool timer;                 /* its interrupt, waiting at the first CPU */
bool ignored;               /* that CPU ignores the interrupt that it takes */
#ifdef HELD
bool back[SENDERS];    /* the ring's next message is held back; under rx_lock */
byte decided[SENDERS]; /* messages of the ring for which that has been decided */
bool due;              /* what is held back is to be released */
bool later;            /* look_due */
bool leaves;           /* the interrupt ends with leave() */
#define DUE (due && (back[0] || back[1]))
#define DIRECT false
#else
#define DUE false
#define DIRECT true
#endif

#define load(c, w) (held[(c) * WORDS + (w)] > 0 -> newest[(c) * WORDS + (w)] : mem[w])
#define hints(c) (load(c, HINT) + HINTS * load(c, HINT + 1)) /* one load */
#define hinted(c) (hints(c) != load(c, SEEN))

inline store(c, w, value)
{
    atomic {
#ifdef HELD
        mem[w] = value;
        if
        :: w == BELL && value == 1 -> rung[0] = false; rung[1] = false
        :: else
        fi
#else
        nfull(buffer[c]);
        buffer[c]!w, value;
        newest[(c) * WORDS + (w)] = value;
        held[(c) * WORDS + (w)]++
#endif
    }
}

inline fence(c)
{
    empty(buffer[c])
}

proctype drain_stores(byte c)
{
    byte w, value;
end:
    do
    :: d_step {
           buffer[c]?w, value ->
           mem[w] = value;
#if BUG != 6
           if
           :: w == BELL && value == 1 -> rung[0] = false; rung[1] = false
           :: else
           fi;
#endif
           held[c * WORDS + w]--;
           if
           :: held[c * WORDS + w] == 0 -> newest[c * WORDS + w] = 0
           :: else
           fi;
           w = 0;
           value = 0
       }
    od
}

#ifdef RINGS
#define RING ring
#define ALL_TAKEN (taken[0] + taken[1] == FROM_0)
#else
#define RING s
#define ALL_TAKEN (taken[0] == FROM_0 && taken[1] == FROM_1)
#endif

/* A load and the stores behind it are one step here: others see nothing of it. */
proctype sender(byte s)
{
    byte sent = 0;
#ifdef RINGS
    byte ring = 0, put[2];
#endif

    do
    :: sent < (s == 0 -> FROM_0 : FROM_1) ->
#ifdef RINGS
        if
        :: ring = 0
        :: ring = 1
        fi;
        atomic {
            put[ring] - mem[TAKEN + ring] < SLOTS -> /* waits for room */
            sent++;
            put[ring]++;
            store(s, PUBLISH + ring, put[ring]);
            store(s, HINT, sent % HINTS)
        };
#else
        atomic {
            sent - mem[TAKEN + s] < SLOTS -> /* waits for room */
            sent++;
#if BUG == 4
            store(s, HINT + s, sent % HINTS);
            store(s, PUBLISH + s, sent)
#else
            store(s, PUBLISH + s, sent);
            store(s, HINT + s, sent % HINTS)
#endif
        };
#endif
#if BUG == 1
#define FENCED true
#else
#define FENCED empty(buffer[s])
#endif
        if
        :: atomic { FENCED && mem[BELL] == 1 && !rung[s] -> rung[s] = true }; /* the look; then the interrupt */
            interrupt = true
        :: FENCED && !(mem[BELL] == 1 && !rung[s])
        fi
    :: else -> break
    od
}

#ifdef RINGS
/* Both rings are announced by one hint. */
inline look(c, s)
{
    atomic {
        if
        :: hint != seen && load(c, PUBLISH + s) > taken[s] -> busy[s] = true
        :: else
        fi
    }
}

#ifdef HELD
/* inject_holds(), before a message is taken */
inline hold(c, s)
{
    atomic {
        if
        :: load(c, PUBLISH + s) > taken[s] && decided[s] == taken[s] ->
            decided[s]++;
            if
            :: back[s] = true; busy[s] = false; due = false
            :: true
            fi
        :: else
        fi
    }
}

/* The timer comes when what is held back is to be released. */
proctype clock()
{
end:
    do
    :: atomic { (back[0] || back[1]) && !due -> due = true; timer = true }
    od
}
#endif

#define REMEMBERED (taken[0] + taken[1]) % HINTS

/* msg_poll_ring(), and a step of poll_directly(): takes a message, perhaps before it is announced, and remembers the
 * hint that announces just what was taken. */
inline take_directly(c)
{
    atomic {
        if
        :: load(c, PUBLISH) > taken[0] -> count = 0
        :: load(c, PUBLISH) <= taken[0] && load(c, PUBLISH + 1) > taken[1] -> count = 1
        :: else -> count = 2
        fi;
        if
        :: count < 2 ->
            taken[count]++;
            store(c, TAKEN + count, taken[count])
        :: else
        fi
    };
    atomic {
        if
        :: count < 2 ->
#if BUG == 12
            count = hints(c);
            store(c, SEEN, count)
#else
            store(c, SEEN, REMEMBERED)
#endif
        :: else
        fi;
        count = 0
    }
}
#else
inline look(c, s)
{
    atomic {
        if
        :: hint % HINTS != seen % HINTS && load(c, PUBLISH + s) > taken[s] -> busy[s] = true
        :: else
        fi;
        hint = hint / HINTS;
        seen = seen / HINTS
    }
}
#endif

#if BUG == 17
#define RINGS_FIRST false
#elif BUG == 19
#define RINGS_FIRST !timer
#else
#define RINGS_FIRST true
#endif

/* scan_hints() */
inline scan(c)
{
    atomic {
        hint = hints(c);
        seen = load(c, SEEN);
#if BUG != 3
        if
        :: hint != seen -> store(c, SEEN, hint)
        :: else
        fi
#endif
    };
    if
    :: hint != seen ->
        look(c, 0);
        look(c, 1)
#ifdef RINGS
        ; hint = 0; seen = 0
#endif
#if BUG == 3
        ; atomic { hint = hints(c); store(c, SEEN, hint); hint = 0 }
#endif
    :: else -> hint = 0; seen = 0
    fi
}

/* serve() and drain() */
inline serve(c, s)
{
    do
    :: atomic { count < QUANTUM && load(c, PUBLISH + s) > taken[s] ->
           taken[s]++;
           count++;
           store(c, TAKEN + s, taken[s])
       }
    :: atomic { count < QUANTUM && load(c, PUBLISH + s) == taken[s] -> busy[s] = false; break }
    :: atomic { count == QUANTUM -> break }
    od;
    count = 0
}

/* msg_poll(); spin_try() looks before its locked exchange */
inline poll(c)
{
    if
    :: load(c, LOCK) != 0 /* the other CPU is at it */
    :: atomic { load(c, LOCK) == 0 && (!LOCKS || empty(buffer[c]) && mem[LOCK] == 0) -> mem[LOCK] = LOCKS };
#ifdef HELD
        atomic { /* inject_released() */
            if
            :: DUE ->
                busy[0] = busy[0] || back[0];
                busy[1] = busy[1] || back[1];
                back[0] = false;
                back[1] = false;
                due = false
            :: else
            fi
        };
#endif
        do
#ifdef RINGS
        :: DIRECT && hinted(c) ->
            take_directly(c);
#if BUG == 13
            atomic { count = hints(c); store(c, SEEN, count); count = 0 };
            break
#else
            if
            :: !hinted(c) -> break
            :: else
            fi
#endif
#endif
        :: scan(c);
#ifdef HELD
            if
            :: busy[0] -> hold(c, 0)
            :: !busy[0] && busy[1] -> hold(c, 1)
            :: else
            fi;
#endif
            if
            :: busy[0] -> serve(c, 0)
            :: busy[1] -> serve(c, 1)
            :: !busy[0] && !busy[1] -> break
            fi;
#if BUG == 5
            break
#endif
            if
            :: !LOCKS && !busy[0] && !busy[1] -> break /* one CPU alone looks again before it halts or leaves */
            :: else
            fi
#ifdef RINGS
            ; if
            :: busy[0] || busy[1] -> /* enough for one poll: leave_rest() */
#if BUG != 15
                store(c, SEEN, REMEMBERED);
#endif
                busy[0] = false;
                busy[1] = false;
#if defined(HELD) && BUG != 16
                atomic { later = true; timer = true };
#endif
                break
            :: true
            fi
#else
            ; if
            :: LOCKS && (busy[0] || busy[1]) -> /* the same, with two CPUs */
#if BUG != 15
                atomic {
                    hint = load(c, SEEN);
                    count = (busy[0] -> taken[0] % HINTS : hint % HINTS) +
                            HINTS * (busy[1] -> taken[1] % HINTS : hint / HINTS);
                    store(c, SEEN, count);
                    count = 0;
                    hint = 0
                };
#endif
                busy[0] = false;
                busy[1] = false;
                if
                :: c == FIRST -> timer = true
                :: c == SECOND && RINGS_FIRST ->
#if BUG != 18
                    fence(c);
#endif
                    interrupt = true
                :: else
                fi;
                break
            :: true
            fi
#endif
        od;
        if
        :: LOCKS -> store(c, LOCK, 0)
        :: else
        fi
    fi
}

inline disarm(c)
{
    store(c, BELL, 0)
}

/* msg_doorbell_arm(): afterwards ARMED says whether it stays so */
inline arm(c)
{
#if BUG == 9
    atomic {
        armed = !hinted(c);
        if
        :: armed -> store(c, BELL, 1)
        :: else
        fi
    };
    fence(c)
#else
    store(c, BELL, 1);
    atomic {
#if BUG != 2
        fence(c);
#endif
        armed = !hinted(c) && !DUE;
        if
        :: !armed -> disarm(c)
        :: else
        fi
    }
#endif
}

/* msg_doorbell_leave(): perhaps a timer replaces the doorbell, whose interrupt then is ignored until the timer's */
inline leave(c)
{
    do
    :: arm(c);
        if
        :: armed ->
#ifdef HELD
            later = false;
#else
            timer = false;
#endif
            break
        :: !armed -> poll(c)
        :: !armed ->
#if BUG != 14
#ifdef HELD
            atomic { later = true; timer = true };
#else
            timer = true;
#endif
#endif
            break
        fi
    od;
    armed = false
}

#ifdef HELD
#define TAKE_INTERRUPT                                    \
    atomic {                                              \
        if                                                \
        :: interrupt ->                                   \
            interrupt = false;                            \
            leaves = true;                                \
            ignored = later && timer && !load(FIRST, BELL) \
        :: timer -> timer = false; leaves = later         \
        fi                                                \
    }
#else
#define TAKE_INTERRUPT                                                                  \
    atomic {                                                                            \
        if                                                                              \
        :: interrupt -> interrupt = false; ignored = timer && load(FIRST, BELL) == 0    \
        :: timer -> timer = false                                                       \
        fi                                                                              \
    }
#endif

/* msg_doorbell_interrupt(), or msg_due_interrupt() */
inline handle_interrupt()
{
#if BUG == 10
    if
    :: load(FIRST, LOCK) == 0 ->
#endif
    if
    :: ignored ->
        ignored = false
#ifdef HELD
        ; leaves = false
#endif
    :: else ->
        poll(FIRST);
#ifdef HELD
        if
        :: leaves -> leaves = false; leave(FIRST)
        :: else
        fi
#else
        leave(FIRST)
#endif
    fi
#if BUG == 10
    :: else
    fi
#endif
}

proctype first_cpu()
{
    byte count = 0, hint = 0, seen = 0, asks = 0;
    bool armed = false;

    do
    :: /* nothing to run: looks, arms, halts */
        if
        :: hinted(FIRST) || DUE -> poll(FIRST)
        :: true /* the budget is used up */
        fi;
        arm(FIRST);
        if
        :: armed ->
            armed = false;
end_halted:
            TAKE_INTERRUPT;
            handle_interrupt();
            disarm(FIRST)
        :: else ->
#if BUG != 11
            poll(FIRST)
#else
            skip
#endif
        fi
    :: asks < ASKS -> /* a thread is ready */
        asks++;
        leave(FIRST);
        do
        :: TAKE_INTERRUPT; handle_interrupt()
        :: break /* a system call, which asks: idle_poll_answer() */
        od;
        disarm(FIRST);
        if
        :: hinted(FIRST) || DUE -> poll(FIRST)
#ifdef RINGS
        :: DIRECT -> take_directly(FIRST)
#endif
        :: true
        fi;
#if BUG != 8
        leave(FIRST);
#endif
        if
        :: true -> /* stays in user mode */
end_user:
            do
            :: TAKE_INTERRUPT; handle_interrupt()
            od
        :: true
        fi;
        disarm(FIRST) /* it waits: the idle loop */
    od
}

proctype second_cpu()
{
    byte count = 0, hint = 0, seen = 0, helps = 0;

    do
    :: helps < HELPS && hinted(SECOND) -> poll(SECOND); helps++
    :: break
    od
}

proctype judge()
{
    timeout -> assert(ALL_TAKEN)
}

#ifdef LIVE
ltl everything { <> ALL_TAKEN }
#endif

init
{
    byte c = 0;

    atomic {
        do
        :: c < CPUS -> run drain_stores(c); c++
        :: else -> break
        od;
        run sender(0);
        run sender(1);
        run first_cpu();
        run second_cpu();
#ifdef HELD
        run clock();
#endif
        run judge()
    }
}
