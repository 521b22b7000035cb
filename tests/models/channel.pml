/* The channel between instances (msg/PROTOCOL.md): rings, pending bytes, the doorbell word, and a receiver that polls, arms
 * the doorbell and halts. Every CPU has a store buffer, as x86 does: a store becomes visible some time after it was made, in
 * order; a CPU sees its own earlier. So each fence of the code is needed, and the model says so.
 *
 * Two instances send to one that has two CPUs. The first takes doorbell interrupts; the second runs a task that waits for room
 * and polls meanwhile, as often as HELPS. A poll takes at most BATCH messages from a sender in one round.
 *
 * Promise: when nothing can move any more, every message has been taken. That is: no wakeup is lost.
 *
 * BUG=1: the sender does not fence between its pending byte and its look at the doorbell.
 * BUG=2: the receiver does not fence between arming the doorbell and its look at the pending bytes.
 * BUG=3: the receiver does not fence between clearing a pending byte and its look at the ring.
 * BUG=4: a poll that leaves messages behind, with their pending byte set, ends all the same.
 * BUG=5: arming again does not change the doorbell's generation.
 *
 * Seeded bugs: 1 to 5 (tests/models/run).
 */
#ifndef BUG
#define BUG 0
#endif

#define SENDERS 2
#define MESSAGES(s) (2 - (s)) /* from each: one fills its ring */
#define SLOTS 2
#define BATCH 1
#define HELPS 1

#define CPUS 4 /* the senders, the receiver's first CPU, its second */
#define FIRST 2
#define SECOND 3

/* Words of shared memory. */
#define PUBLISH 0 /* + sender: messages published; the last one's slot says so */
#define PENDING 2 /* + sender */
#define CONSUMED 4 /* + sender */
#define BELL 6 /* 1: armed. The generation is left out: see rung */
#define LOCK 7 /* rx_lock */
#define WORDS 8

byte mem[WORDS];
chan buffer[CPUS] = [3] of { byte, byte }; /* word, value */
byte held[CPUS * WORDS];   /* stores to that word in that CPU's buffer */
byte newest[CPUS * WORDS]; /* and the last of them */
bool interrupt;            /* the doorbell's, waiting at the first CPU */
bool rung[SENDERS];        /* has rung for the generation in memory: forgotten when another one gets there */
byte next[SENDERS];        /* messages taken; under rx_lock */

#define load(c, w) (held[(c) * WORDS + (w)] > 0 -> newest[(c) * WORDS + (w)] : mem[w])
#define any_pending(c) (load(c, PENDING) != 0 || load(c, PENDING + 1) != 0)

inline store(c, w, value)
{
    atomic {
        nfull(buffer[c]);
        buffer[c]!w, value;
        newest[(c) * WORDS + (w)] = value;
        held[(c) * WORDS + (w)]++
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
#if BUG != 5
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

proctype sender(byte s)
{
    byte sent = 0;

    do
    :: sent < MESSAGES(s) ->
        sent - mem[CONSUMED + s] < SLOTS; /* waits for room */
        sent++;
        store(s, PUBLISH + s, sent);
        store(s, PENDING + s, 1);
#if BUG != 1
        fence(s);
#endif
        if
        :: atomic { mem[BELL] == 1 && !rung[s] -> rung[s] = true }; /* the look; then the interrupt */
            interrupt = true
        :: else
        fi
    :: else -> break
    od
}

/* drain() */
inline take_some(c)
{
    store(c, PENDING + s, 0);
#if BUG != 3
    fence(c);
#endif
    do
    :: count < BATCH && load(c, PUBLISH + s) > next[s] ->
        next[s]++;
        count++;
        store(c, CONSUMED + s, next[s])
    :: else -> break
    od;
    if
    :: count == BATCH -> store(c, PENDING + s, 1); more = true
    :: else
    fi;
    count = 0
}

/* msg_poll() */
inline poll(c)
{
    if
    :: any_pending(c) ->
        if
        :: atomic { empty(buffer[c]) && mem[LOCK] == 0 -> mem[LOCK] = 1 }; /* a locked exchange */
            do
            :: more = false;
                s = 0;
                do
                :: s < SENDERS ->
                    if
                    :: load(c, PENDING + s) != 0 -> take_some(c)
                    :: else
                    fi;
                    s++
                :: else -> s = 0; break
                od;
#if BUG == 4
                break
#else
                if
                :: more
                :: else -> break
                fi
#endif
            od;
            more = false;
            store(c, LOCK, 0)
        :: empty(buffer[c]) && mem[LOCK] != 0 /* the other CPU is at it */
        fi
    :: else
    fi
}

inline arm(c)
{
    store(c, BELL, 1);
#if BUG != 2
    fence(c)
#endif
}

inline disarm(c)
{
    store(c, BELL, 0)
}

proctype first_cpu()
{
    byte s = 0, count = 0;
    bool more = false;

    do
    :: poll(FIRST);
        arm(FIRST);
        if
        :: any_pending(FIRST) -> disarm(FIRST)
        :: else ->
end_halted:
            atomic { interrupt -> interrupt = false };
            do /* msg_doorbell_interrupt() */
            :: poll(FIRST);
                arm(FIRST);
                if
                :: any_pending(FIRST) -> disarm(FIRST)
                :: else -> break
                fi
            od;
            disarm(FIRST) /* back in the idle loop */
        fi
    od
}

proctype second_cpu()
{
    byte s = 0, count = 0, helps = 0;
    bool more = false;

    do
    :: helps < HELPS -> poll(SECOND); helps++
    :: break
    od
}

proctype judge()
{
    timeout -> assert(next[0] == MESSAGES(0) && next[1] == MESSAGES(1))
}

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
        run judge()
    }
}
