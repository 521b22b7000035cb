/* Queues before full rings, and wishes for room (msg/PROTOCOL.md, "Room"). Two instances that fill each other's rings.
 * Each has two CPUs: one polls, another runs tasks that send. The handler of an urgent message sends an ordinary one,
 * so handlers send too. A ring has SLOTS slots; the part that is kept for short replies is request.pml's. When a hint
 * has changed the poller looks, sooner or later: that is channel.pml's. It may end its poll after any message, as an
 * instance with one CPU does. A long message is here so many messages.
 *
 * A hint is the slots put in both rings, which never wrap here, and the signals modulo SIGNALS (in the code 16). A
 * wish is open until the peer has stored that it has answered so many; while it is, there is no other. What a peer
 * reads is stored in a step of its own.
 *
 * Promise: when nothing can move any more, every message has been taken, in the order in which it was handed over:
 * nothing waits in a queue for ever. -DLIVE: every message is taken (ltl everything, under weak fairness). -DBOTH:
 * asserted too is that fewer than SIGNALS signals lie between two looks.
 *
 * -DSHORT: one message fewer, but not with -DBOTH.
 *
 * BUG=1: a queue that was put in part does not wish again.
 * BUG=2: the hint is stored before wants.
 * BUG=3: a wish that is seen while a ring is not empty is forgotten.
 * BUG=4: a message that finds room passes the queue.
 * BUG=5: a look that finds a queue and no room wishes again while a wish is open.
 * BUG=6: the mark that there is a queue is set after the wish was made.
 * BUG=7: the receiver signals room before it stores that it has.
 * BUG=8: only the urgent queue is put when there is room.
 * BUG=9: a poll that ends early, when it has just taken the last message, leaves a wish for room unanswered.
 *
 * Seeded bugs: 1 to 9 (tests/models/run).
 */
#ifndef BUG
#define BUG 0
#endif

#define SLOTS 1
#define SIGNALS 6
#define ORDINARY 0
#define URGENT 1
/* From the tasks of each instance. */
#if defined(BOTH)
#define ORDINARY_0 1
#define ORDINARY_1 1
#define URGENT_0 1
#define URGENT_1 1
#elif defined(LIVE)
#define ORDINARY_0 2
#ifdef SHORT
#define ORDINARY_1 1
#else
#define ORDINARY_1 2
#endif
#define URGENT_0 0
#define URGENT_1 0
#else
#ifdef SHORT
#define ORDINARY_0 2
#else
#define ORDINARY_0 3
#endif
#define ORDINARY_1 1
#define URGENT_0 0
#define URGENT_1 1
#endif
#define FROM_TASKS(s) (s == 0 -> ORDINARY_0 : ORDINARY_1)
#define URGENTS(s) (s == 0 -> URGENT_0 : URGENT_1)

#define peer (1 - self)
#define OUT(class) (2 * self + class) /* our ring to the peer */
#define IN(class) (2 * peer + class)  /* the peer's to us */

/* By sender and class. */
chan ring[4] = [SLOTS] of { byte };
chan queue[4] = [4] of { byte };
byte handed[4]; /* messages handed over so far */
byte taken[4];

/* By sender. */
bool tx_lock[2];
byte slots[2];   /* the hint at the peer: slots, */
byte signals[2]; /* and signals; stored at once */
byte wants[2];   /* at the peer: wishes so far */
byte told[2];    /* by the peer: wishes that it has answered */
bool blocked[2]; /* there is a queue */
#ifdef BOTH
byte since[2];   /* signals since the peer's poller has looked */
#endif

inline signal_locked()
{
    signals[self] = (signals[self] + 1) % SIGNALS
#ifdef BOTH
    ; since[self]++;
    assert(since[self] < SIGNALS)
#endif
}

/* The lock is held; it is free afterwards. */
inline put_hint()
{
    atomic { slots[self]++; tx_lock[self] = false }
}

/* The lock is held, and there is no room; it is free afterwards. One wish is open at a time. */
inline wish()
{
    if
    :: atomic { wants[self] == told[self] || BUG == 5 ->
#if BUG == 2
           signal_locked()
       };
       atomic { wants[self]++; tx_lock[self] = false }
#else
           wants[self]++
       };
       atomic { signal_locked(); tx_lock[self] = false }
#endif
    :: atomic { else -> tx_lock[self] = false }
    fi
}

/* msg_put() and msg_queue() */
inline send(class)
{
    if
    :: atomic { !tx_lock[self] && (len(queue[OUT(class)]) == 0 || BUG == 4) && len(ring[OUT(class)]) < SLOTS ->
           tx_lock[self] = true;
           ring[OUT(class)]!handed[OUT(class)];
           handed[OUT(class)]++
       };
       put_hint()
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) > 0 && BUG != 4 ->
           queue[OUT(class)]!handed[OUT(class)];
           handed[OUT(class)]++
       }
    :: atomic { !tx_lock[self] && (len(queue[OUT(class)]) == 0 || BUG == 4) && len(ring[OUT(class)]) == SLOTS ->
           tx_lock[self] = true;
           queue[OUT(class)]!handed[OUT(class)];
           handed[OUT(class)]++;
#if BUG != 6
           blocked[self] = true
#endif
       };
       wish();
#if BUG == 6
       blocked[self] = true
#endif
    fi
}

/* flush_first() until it puts no more */
inline flush(class)
{
    do
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) > 0 && len(ring[OUT(class)]) < SLOTS ->
           tx_lock[self] = true;
           queue[OUT(class)]?number;
           ring[OUT(class)]!number;
           number = 0;
           blocked[self] = len(queue[OUT(URGENT)]) + len(queue[OUT(ORDINARY)]) > 0
       };
       put_hint()
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) > 0 && len(ring[OUT(class)]) == SLOTS ->
           tx_lock[self] = true
       };
#if BUG == 1
       tx_lock[self] = false;
#else
       wish();
#endif
       break
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) == 0 -> break }
    od
}

inline tell_of_room()
{
    if
    :: atomic { len(ring[IN(ORDINARY)]) == 0 && len(ring[IN(URGENT)]) == 0 ->
           wished = false;
#if BUG != 7
           told[peer] = wants_seen
#endif
       };
       atomic { !tx_lock[self] -> signal_locked() };
#if BUG == 7
       told[peer] = wants_seen
#endif
    :: atomic { else ->
#if BUG == 3
           wished = false
#else
           skip
#endif
       }
    fi
}

/* scan_hints() and follow_hint() */
inline follow()
{
    if
    :: atomic { slots[peer] != seen_slots || signals[peer] != seen_signals ->
           signaled = signals[peer] != seen_signals;
           seen_slots = slots[peer];
           seen_signals = signals[peer];
#ifdef BOTH
           since[peer] = 0
#endif
       };
       atomic {
           busy[URGENT] = busy[URGENT] || len(ring[IN(URGENT)]) > 0;
           busy[ORDINARY] = busy[ORDINARY] || len(ring[IN(ORDINARY)]) > 0
       };
       if
       :: blocked[self] ->
           flush(URGENT);
#if BUG != 8
           flush(ORDINARY)
#endif
       :: else
       fi;
       if
       :: atomic { signaled && wants[peer] != wants_seen -> wants_seen = wants[peer]; wished = true; signaled = false };
          tell_of_room()
       :: atomic { else -> signaled = false }
       fi
    :: else
    fi
}

/* serve(), of one message */
inline serve(class)
{
    if
    :: atomic { ring[IN(class)]?number -> assert(number == taken[IN(class)]); taken[IN(class)]++; number = 0 };
       if
       :: class == URGENT -> send(ORDINARY)
       :: else
       fi
    :: atomic { len(ring[IN(class)]) == 0 -> busy[class] = false };
       if
       :: wished -> tell_of_room()
       :: else
       fi
    fi
}

/* leave_rest(): enough for one poll. What was announced and not taken is found again by its hint. */
inline leave()
{
    atomic {
        seen_slots = taken[IN(URGENT)] + taken[IN(ORDINARY)];
        busy[URGENT] = false;
        busy[ORDINARY] = false
    };
#if BUG != 9
    if
    :: wished -> tell_of_room()
    :: else
    fi
#endif
}

proctype poller(bit self)
{
    byte seen_slots, seen_signals, wants_seen, number;
    bool signaled, wished;
    bool busy[2];
end:
    do
    :: busy[URGENT] || busy[ORDINARY] || slots[peer] != seen_slots || signals[peer] != seen_signals ->
        follow();
        if
        :: busy[URGENT] -> serve(URGENT)
        :: !busy[URGENT] && busy[ORDINARY] -> serve(ORDINARY)
        :: else
        fi;
        if
        :: busy[URGENT] || busy[ORDINARY] -> leave()
        :: true
        fi
    od
}

proctype tasks(bit self)
{
    byte ordinary = FROM_TASKS(self), urgent = URGENTS(self);

    do
    :: ordinary > 0 -> ordinary--; send(ORDINARY)
    :: urgent > 0 -> urgent--; send(URGENT)
    :: ordinary == 0 && urgent == 0 -> break
    od
}

/* Urgent ones of one make ordinary ones of the other. */
#define FIRST_TAKEN (taken[0] == ORDINARY_0 + URGENT_1 && taken[1] == URGENT_0)
#define SECOND_TAKEN (taken[2] == ORDINARY_1 + URGENT_0 && taken[3] == URGENT_1)

proctype judge()
{
    timeout -> assert(FIRST_TAKEN && SECOND_TAKEN)
}

#ifdef LIVE
ltl everything { <> (FIRST_TAKEN && SECOND_TAKEN) }
#endif

init
{
    atomic {
        run poller(0);
        run poller(1);
        run tasks(0);
        run tasks(1);
        run judge()
    }
}
