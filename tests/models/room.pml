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
 * -DLEND: the bytes of ordinary messages are lent (Loans). The slot of such a message returns before the receiver has
 * copied the bytes. The sender uses the memory again once the wish that goes with the message is answered: no copy comes
 * after that, and every loan ends.
 *
 * -DSHORT: one message fewer, but not with -DBOTH.
 *
 * BUG=1: a look at an answer does not wish again for what is left.
 * BUG=2: the hint is stored before wants.
 * BUG=3: a wish that is seen while a ring is not empty is forgotten.
 * BUG=4: a message that finds room passes the queue.
 * BUG=5: a look that finds a queue and no room wishes again while a wish is open.
 * BUG=6: the mark that there is a queue is set after the wish was made.
 * BUG=7: the receiver signals room before it stores that it has.
 * BUG=8: after a put the mark is that of the urgent queue alone.
 * BUG=9: a loan ends with the answer to a wish that was open before.
 * BUG=10: a look at an answer wishes again for queues alone.
 * BUG=11: a loan ends when its slot is free again.
 * BUG=12: a poll that ends early, when it has just taken the last message, leaves a wish for room unanswered.
 *
 * Seeded bugs: 1 to 12 (tests/models/run).
 */
#ifndef BUG
#define BUG 0
#endif

#define SLOTS 1
#ifdef LEND
#define SIGNALS 8
#else
#define SIGNALS 6
#endif
#define ORDINARY 0
#define URGENT 1
/* From the tasks of each instance. */
#if defined(LEND)
#ifdef SHORT
#define ORDINARY_0 2
#else
#define ORDINARY_0 3
#endif
#define ORDINARY_1 1
#define URGENT_0 0
#define URGENT_1 0
#elif defined(BOTH)
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
#if defined(LEND) && BUG == 10
#define WAITED_FOR blocked[self]
#elif defined(LEND)
#define WAITED_FOR (blocked[self] || len(lent[self]) > 0)
#else
#define WAITED_FOR blocked[self]
#endif
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
#if defined(BOTH) || defined(LEND)
byte since[2];   /* signals since the peer's poller has looked */
#endif
#ifdef LEND
chan lent[2] = [4] of { byte, byte }; /* messages whose memory is lent, each with the wish that ends the loan */
byte copied[2];                       /* of the messages lent to the peer */
byte ended[2];                        /* loans */
#endif

inline signal_locked()
{
    signals[self] = (signals[self] + 1) % SIGNALS
#if defined(BOTH) || defined(LEND)
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

/* A message has been put: await_locked(). The lock is held; it is free afterwards. */
inline put_done(class, which)
{
#ifdef LEND
    if
    :: class == ORDINARY ->
        atomic {
            awaited = blocked[self] || len(lent[self]) > 0;
#if BUG == 9
            lent[self]!which, wants[self] + (wants[self] == told[self] -> 1 : 0);
#else
            lent[self]!which, wants[self] + 1;
#endif
            slots[self]++
        };
        if
        :: !awaited -> wish()
        :: else -> tx_lock[self] = false
        fi
    :: else -> put_hint()
    fi
#else
    put_hint()
#endif
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
       put_done(class, handed[OUT(class)] - 1)
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) > 0 && BUG != 4 ->
           queue[OUT(class)]!handed[OUT(class)];
           handed[OUT(class)]++
       }
    :: atomic { !tx_lock[self] && (len(queue[OUT(class)]) == 0 || BUG == 4) && len(ring[OUT(class)]) == SLOTS ->
           tx_lock[self] = true;
           queue[OUT(class)]!handed[OUT(class)];
           handed[OUT(class)]++;
           awaited = WAITED_FOR;
#if BUG != 6
           blocked[self] = true
#endif
       };
       if
       :: !awaited -> wish()
       :: else -> tx_lock[self] = false
       fi;
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
#ifndef LEND
           number = 0;
#endif
           blocked[self] = len(queue[OUT(URGENT)]) + (BUG != 8 -> len(queue[OUT(ORDINARY)]) : 0) > 0
       };
       put_done(class, number);
       number = 0
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) > 0 && len(ring[OUT(class)]) == SLOTS -> break }
    :: atomic { !tx_lock[self] && len(queue[OUT(class)]) == 0 -> break }
    od
}

#ifdef LEND
/* take_returned() until there is none */
inline take_back()
{
    do
    :: atomic { !tx_lock[self] && len(lent[self]) > 0 ->
           lent[self]?<number, loan>;
           tx_lock[self] = true
       };
       if
       :: atomic { told[self] >= loan || taken[OUT(ORDINARY)] > number + 1 ||
                   (BUG == 11 && len(ring[OUT(ORDINARY)]) == 0) ->
              lent[self]?number, loan;
              assert(copied[self] > number); /* the peer does not read it any more */
              ended[self]++;
              number = 0;
              loan = 0;
              tx_lock[self] = false
          }
       :: atomic { else -> number = 0; loan = 0; tx_lock[self] = false; break }
       fi
    :: atomic { !tx_lock[self] && len(lent[self]) == 0 -> break }
    od
}
#endif

inline tell_of_room()
{
    if
    :: atomic { len(ring[IN(ORDINARY)]) == 0 && len(ring[IN(URGENT)]) == 0 -> wished = false };
#if BUG != 7
       told[peer] = wants_seen;
#endif
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
#if defined(BOTH) || defined(LEND)
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
           flush(ORDINARY)
       :: else
       fi;
#ifdef LEND
       if
       :: len(lent[self]) > 0 -> take_back()
       :: else
       fi;
#endif
#if BUG != 1
       if
       :: atomic { !tx_lock[self] && WAITED_FOR -> tx_lock[self] = true };
          wish()
       :: atomic { !tx_lock[self] && !WAITED_FOR }
       fi;
#endif
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
#ifdef LEND
       if
       :: class == ORDINARY -> copied[peer]++ /* from memory that is still lent: asserted where a loan ends */
       :: else
       fi;
#endif
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
#if BUG != 12
    if
    :: wished -> tell_of_room()
    :: else
    fi
#endif
}

proctype poller(bit self)
{
    byte seen_slots, seen_signals, wants_seen, number;
#ifdef LEND
    byte loan;
#endif
    bool signaled, wished, awaited;
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
    bool awaited;

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
    timeout -> assert(FIRST_TAKEN && SECOND_TAKEN);
#ifdef LEND
    assert(ended[0] == ORDINARY_0 + URGENT_1 && ended[1] == ORDINARY_1 + URGENT_0)
#endif
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
