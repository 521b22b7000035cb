/* Requests and answers over small rings (msg/PROTOCOL.md, "Room", "Giving up"). Two kernels; on each a poller, which
 * takes and handles messages and sends what waits in the queue when there is room, tasks that ask, a task that sends
 * notices, and keepers, which answer the requests that a handler has kept. Each atomic step is a critical section of
 * the code, or one store that the other kernel sees. When a queue may go on is room.pml's: here, whenever there is
 * room.
 *
 * A ring has SLOTS slots, of which only short replies may use the last RESERVE; a kernel has at most CREDITS requests
 * with a credit at the other. A request's id is a slot of the asker's table; the generation is left out, as it wraps:
 * nothing rests on it. Kernel 0 asks FREE, kernel 1 asks PLAIN, which is answered at once or kept. -DKEEP: kernel 0
 * alone asks, FREE and HOLD, which is kept until FREE was handled, and may be given up. -DGIVEUP: kernel 1 alone asks,
 * PLAIN twice, and may give up, as it may at any time. Each kernel sends TELLS notices too.
 *
 * Promises, asserted: a short reply always finds room; every request is answered exactly once, if it was sent; its
 * answer reaches it and no other, or is dropped when it was given up; so does a CANCEL; no memory is used after it was
 * given up; the credits out are at most CREDITS. When nothing can move any more all tasks have an answer or have given
 * up, and no credit, slot or message is left.
 *
 * -DSHORT: fewer notices: one of each kernel, none with -DGIVEUP.
 *
 * BUG=1: no reserve.
 * BUG=2: no limit on the requests with a credit.
 * BUG=3: slots are given back when the ring is empty, so credits come back before them.
 * BUG=4: a kept request keeps its credit until it is answered.
 * BUG=5: the slot of a request that was sent and is given up is free at once.
 * BUG=6: a handler keeps a request and answers it too.
 * BUG=7: a request that is taken back before it was sent keeps its credit.
 * BUG=8: the late answer to a request that was given up does not bring its credit back.
 * BUG=9: whoever gives up does not wait until the poller is done with a request that has just left the queue.
 * BUG=10: the answer to a kept request uses the reserve, as a short reply does.
 * BUG=11: giving up does not look at the list of those that wait for a credit.
 * BUG=12: whoever is to answer a request gets it before the handler has put the kept mark.
 *
 * Seeded bugs: 1 to 12 (tests/models/run).
 */
#ifndef BUG
#define BUG 0
#endif

#define SLOTS 2
#if BUG == 1
#define RESERVE 0
#else
#define RESERVE 1
#endif
#if BUG == 2
#define CREDITS 2
#else
#define CREDITS 1
#endif
/* Which requests the kernels ask; tasks; notices from each kernel. */
#if defined(KEEP)
#define ASKED_BY_0 run asker(0, HOLD, HOLD); run asker(0, FREE, FREE)
#define ASKED_BY_1 skip
#define TASKS 4
#define TELLS 1
#define MAY_GIVE_UP (r == HOLD)
#elif defined(GIVEUP)
#define ASKED_BY_0 skip
#define ASKED_BY_1 run asker(1, 2, 3)
#define TASKS 3
#ifdef SHORT
#define TELLS 0
#else
#define TELLS 1
#endif
#define MAY_GIVE_UP true
#else
#define ASKED_BY_0 run asker(0, FREE, FREE)
#define ASKED_BY_1 run asker(1, 2, 2)
#define TASKS 4
#ifdef SHORT
#define TELLS 1
#else
#define TELLS 2
#endif
#define MAY_GIVE_UP false
#endif

mtype = { NOTICE, REQUEST, ANSWER, KEPT, CANCEL }; /* messages */
/* States of a slot of the table. */
#define UNUSED 0
#define WAITING 1
#define ABANDONED 2

/* The requests. */
#define HOLD 0 /* from kernel 0 */
#define FREE 1
/* 2 and 3: PLAIN, from kernel 1 */
#define REQUESTS 4
#define peer (1 - self)

typedef table_slot { byte state; byte request; bool credit }
typedef table { table_slot at[2] }

chan ring[2] = [SLOTS] of { mtype, byte, byte }; /* by receiver; id and, to check, request */
chan queue[2] = [6] of { mtype, byte, byte };    /* by sender: what waits for room */
chan waiting[2] = [2] of { byte };               /* requests that wait for a credit */
table asked[2];        /* by asker */
byte used[2];          /* by receiver: slots filled and not given back */
byte credits[2];       /* by asker: those that are out */
bool memory[REQUESTS]; /* the asker's, with the request in it, and perhaps in the queue */
bool queued[REQUESTS];
bool gone[REQUESTS];   /* completion: it has left the queue, and nobody there uses its memory any more */
bool got[REQUESTS];    /* completion: the answer */
byte answers[REQUESTS]; /* that were sent */
bool keeps[REQUESTS];
byte kept_id[REQUESTS];
bool cancelled[REQUESTS];
bool freed;            /* FREE was handled */
byte ended;            /* tasks that are through */

#define ROOM(k) (used[k] + RESERVE < SLOTS)

/* msg_put() */
inline put(kind, id, request)
{
    used[peer]++;
    ring[peer]!kind, id, request
}

/* msg_put() or else msg_queue() */
inline send(kind, id, request)
{
    if
    :: len(queue[self]) == 0 && ROOM(peer) -> put(kind, id, request)
    :: else -> queue[self]!kind, id, request
    fi
}

inline send_short_reply(kind, id, request)
{
    atomic {
#if BUG == 1
        used[peer] < SLOTS -> /* waits */
#else
        assert(used[peer] < SLOTS);
#endif
        put(kind, id, request);
        if
        :: kind == ANSWER -> answers[request]++; assert(answers[request] == 1)
        :: else
        fi
    }
}

/* start_locked() */
inline start(r)
{
    credits[self]++;
    assert(BUG == 2 || credits[self] <= CREDITS);
    if
    :: asked[self].at[0].state == UNUSED -> slot = 0
    :: else -> slot = 1
    fi;
    assert(asked[self].at[slot].state == UNUSED);
    asked[self].at[slot].state = WAITING;
    asked[self].at[slot].request = r;
    asked[self].at[slot].credit = true;
    queued[r] = !(len(queue[self]) == 0 && ROOM(peer));
    send(REQUEST, slot, r);
    slot = 0
}

/* credit_back_locked() */
inline credit_back()
{
    credits[self]--;
    if
    :: len(waiting[self]) > 0 -> waiting[self]?next; assert(memory[next]); start(next); next = 0
    :: else
    fi
}

/* tell_cancelled(): left out when there is no room */
inline tell_cancelled(id, r)
{
    atomic {
        if
        :: len(queue[self]) == 0 && ROOM(peer) -> put(CANCEL, id, r)
        :: else
        fi
    }
}

#define SLOT asked[self].at[id]

inline handle()
{
    if
    :: kind == NOTICE
    :: kind == REQUEST ->
        if
        :: request == FREE -> freed = true
        :: else
        fi;
        if
        :: request != HOLD -> send_short_reply(ANSWER, id, request)
        :: request != FREE ->
#if BUG == 12
            atomic { keeps[request] = true; kept_id[request] = id };
            send_short_reply(KEPT, id, request)
#else
            send_short_reply(KEPT, id, request); /* msg_keep(); whoever answers gets the request after that */
#if BUG == 6
            send_short_reply(ANSWER, id, request);
#endif
            atomic { keeps[request] = true; kept_id[request] = id }
#endif
        fi
    :: kind == ANSWER ->
        atomic {
            if
            :: SLOT.state != UNUSED ->
                assert(SLOT.request == request);
                if
                :: SLOT.state == WAITING -> assert(memory[request] && !got[request]); got[request] = true
                :: else
                fi;
                if
                :: SLOT.credit && !(BUG == 8 && SLOT.state == ABANDONED) -> SLOT.state = UNUSED; credit_back()
                :: else -> SLOT.state = UNUSED
                fi
            :: else /* late */
            fi
        }
    :: kind == KEPT ->
        atomic {
            if
            :: SLOT.state != UNUSED && SLOT.credit && BUG != 4 ->
                assert(SLOT.request == request);
                SLOT.credit = false;
                credit_back();
                if
                :: SLOT.state == ABANDONED -> tell_cancelled(id, request)
                :: else
                fi
            :: else
            fi
        }
    :: kind == CANCEL -> /* handle_cancel() goes by the id */
        atomic {
            other = (self == 0 -> 2 : 0);
            do
            :: other < (self == 0 -> 4 : 2) ->
                if
                :: keeps[other] && kept_id[other] == id -> assert(other == request); cancelled[other] = true
                :: else
                fi;
                other++
            :: else -> other = 0; break
            od
        }
    fi
}

proctype poller(byte self)
{
    mtype kind;
    byte id, request, slot, next, other;
#if BUG == 3
    byte back = 0;
#endif
end:
    do
    :: atomic {
           ring[self]?kind, id, request ->
#if BUG == 3
           back++
#else
           used[self]--
#endif
       };
       handle();
       atomic { kind = 0; id = 0; request = 0 }
    :: atomic { /* flush_first(), then done() */
           len(queue[self]) > 0 && ROOM(peer) -> queue[self]?kind, id, request; put(kind, id, request)
       };
       atomic {
           if
           :: kind == REQUEST -> assert(memory[request]); gone[request] = true
           :: else
           fi;
           kind = 0;
           id = 0;
           request = 0
       }
#if BUG == 3
    :: atomic { len(ring[self]) == 0 && back > 0 -> used[self] = used[self] - back; back = 0 }
#endif
    od
}

proctype keeper(byte self; byte r)
{
end:
    atomic {
        keeps[r] && (r != HOLD || freed || cancelled[r]) -> /* msg_kept_reply() */
        keeps[r] = false;
        answers[r]++;
        assert(answers[r] == 1);
#if BUG == 10
        if
        :: used[peer] < SLOTS -> put(ANSWER, kept_id[r], r)
        :: else -> queue[self]!ANSWER, kept_id[r], r
        fi;
#else
        send(ANSWER, kept_id[r], r);
#endif
        kept_id[r] = 0
    }
}

/* abandon() */
inline give_up(r)
{
    atomic {
        if
        :: BUG != 11 && waiting[self]??[eval(r)] -> waiting[self]??eval(r); given_up = true
        :: else
        fi
    };
    if
    :: !given_up ->
        atomic { /* msg_unqueue() */
            if
            :: queue[self]??[REQUEST, 0, eval(r)] -> queue[self]??REQUEST, 0, eval(r); unsent = true
            :: queue[self]??[REQUEST, 1, eval(r)] -> queue[self]??REQUEST, 1, eval(r); unsent = true
            :: else
            fi
        };
#if BUG != 9
        !queued[r] || unsent || gone[r];
#endif
        atomic {
            if
            :: asked[self].at[0].state == WAITING && asked[self].at[0].request == r -> id = 0; given_up = true
            :: asked[self].at[1].state == WAITING && asked[self].at[1].request == r -> id = 1; given_up = true
            :: else /* the answer is being given */
            fi;
            if
            :: given_up && (unsent || BUG == 5) ->
                SLOT.state = UNUSED;
#if BUG == 7
                skip
#else
                if
                :: SLOT.credit -> credit_back()
                :: else
                fi
#endif
            :: given_up && !unsent && BUG != 5 ->
                SLOT.state = ABANDONED;
                if
                :: !SLOT.credit -> tell_cancelled(id, r)
                :: else
                fi
            :: else
            fi;
            id = 0;
            unsent = false
        }
    :: else
    fi
}

/* msg_call_within() */
inline call(r)
{
    atomic {
        memory[r] = true;
        if
        :: credits[self] < CREDITS -> start(r)
        :: else -> waiting[self]!r
        fi
    };
    if
    :: MAY_GIVE_UP -> give_up(r)
    :: got[r]
    fi;
    atomic {
        given_up || got[r] ->
        memory[r] = false;
        given_up = false
    }
}

proctype asker(byte self; byte first; byte last)
{
    byte slot, next, id, r;
    bool given_up, unsent;

    r = first;
    do
    :: r <= last -> call(r); r++
    :: else -> break
    od;
    ended++
}

proctype teller(byte self)
{
    byte left = TELLS;

    do
    :: left > 0 ->
        atomic { send(NOTICE, 0, 0); left-- };
        !queue[self]??[NOTICE, 0, 0]
    :: else -> break
    od;
    ended++
}

init
{
    atomic {
        run poller(0);
        run poller(1);
        run keeper(1, HOLD);
        run keeper(0, 2);
        run keeper(0, 3);
        run teller(0);
        run teller(1);
        ASKED_BY_0;
        ASKED_BY_1
    };
    timeout;
    assert(ended == TASKS);
    assert(credits[0] == 0 && credits[1] == 0);
    assert(used[0] == 0 && used[1] == 0 && len(queue[0]) == 0 && len(queue[1]) == 0);
    assert(asked[0].at[0].state == UNUSED && asked[0].at[1].state == UNUSED);
    assert(asked[1].at[0].state == UNUSED && asked[1].at[1].state == UNUSED)
}
