/* Requests that are kept until an event (tasks/remote/remote.md, KEPT), as watches are. One kernel serves: a handler, an
 * object that counts events and ends with the last, and two workers. Tasks of another kernel look at the count, and then
 * ask for the next event; they may give up at any time, and their CANCEL may find no room. -DSTOP: the callers' kernel is
 * stopped, so they give up; there may be no event.
 *
 * An atomic step is a critical section: of the object's lock, of the lock of kept requests, or of a request's count of
 * users. The channel loses nothing but a CANCEL. A request has an id of its own.
 *
 * Promises, asserted: no request's memory, and no object, is used after it was given back; each request is answered
 * once; no work item is queued twice; nothing is sent to a kernel that was stopped. When nothing can happen any more,
 * everybody has an answer or has given up, nothing is kept, and the object is gone; with -DSTOP the kernel was stopped.
 *
 * -DSHORT: without -DSTOP the object ends with its first event.
 *
 * Seeded bugs: 1 a CANCEL adds no user; 2 a second CANCEL queues the work again; 3 the worker answers without a look at
 * who does; 4 the event leaves its mark that nobody answers; 5 the count is looked at before the lock is taken; 6 an
 * answer leaves the request among those that are kept; 7 a stop does not repeat a CANCEL; 8 a stop does not wait for
 * answers; 9 the worker lets go before it calls cancel; 10 a kept request holds no reference to its object; 11 the
 * request gives its memory back while the answer is still to be sent.
 */
#ifndef BUG
#define BUG 0
#endif
#ifdef STOP
#define EVENTS 1
#define MAY_GIVE_UP stopping
#else
#ifdef SHORT
#define EVENTS 1
#else
#define EVENTS 2
#endif
#define MAY_GIVE_UP true
#endif
#define CALLS 2

mtype = { ASKED, KEPT, ANSWER, CANCEL };

chan to_server = [8] of { mtype, byte, byte }; /* request, events seen */
chan to_caller = [4] of { mtype, byte };
chan work = [4] of { byte };                   /* requests whose cancel a worker is to call */

/* The server. */
byte events;
byte references = 1; /* to the object: the owner's */
bool known = true;   /* its id is */
bool memory[CALLS];  /* of the kept request */
bool waits[CALLS];   /* object's lock: it is in the object's list, and nobody answers it yet */
bool listed[CALLS];  /* among the kept requests */
bool cancelled[CALLS];
byte users[CALLS];
byte answers[CALLS];
byte working;        /* workers at work */

/* The callers' kernel. */
#define UNUSED 0
#define WAITING 1
#define ABANDONED 2
byte slot[CALLS];
bool kept[CALLS], got[CALLS];
byte ended;
bool stopping, stopped;

inline answered(i)
{
    assert(!stopped);
    answers[i]++;
    assert(answers[i] == 1);
    to_caller!ANSWER, i
}

inline give_back(i)
{
    assert(memory[i] && references > 0);
    memory[i] = false;
    references = references - (BUG != 10)
}

/* let_go() */
inline let_go(i)
{
    atomic {
        assert(memory[i]);
        users[i]--;
        if
        :: users[i] == 0 -> give_back(i)
        :: else
        fi
    }
}

/* remote_answer() */
inline answer(i)
{
    atomic { assert(memory[i]); listed[i] = (BUG == 6) };
#if BUG == 11
    let_go(i);
    atomic { assert(memory[i]); answered(i) }
#else
    atomic { assert(memory[i]); answered(i) };
    let_go(i)
#endif
}

/* The object's owner: watch_event(). */
proctype owner()
{
    bool mine[CALLS];
    byte i;

    do
    :: events < EVENTS ->
        atomic {
            assert(references > 0);
            events++;
            do
            :: i < CALLS -> mine[i] = waits[i]; waits[i] = waits[i] && BUG == 4; i++
            :: else -> i = 0; break
            od
        };
        do
        :: i < CALLS ->
            if
            :: mine[i] -> answer(i); mine[i] = false
            :: else
            fi;
            i++
        :: else -> i = 0; break
        od
#ifdef STOP
    :: break
#endif
    :: events == EVENTS -> break
    od;
#ifndef STOP
    atomic { references--; known = false }
#endif
}

/* run_cancel(), with the cancel of a watch. */
proctype worker()
{
    byte i;
    bool mine;

end:
    do
    :: atomic { work?i -> working++ };
#if BUG == 9
        let_go(i);
#endif
        atomic {
            assert(memory[i] && references > 0);
            mine = waits[i] || BUG == 3;
            waits[i] = false
        };
        if
        :: mine -> answer(i)
        :: else
        fi;
#if BUG != 9
        let_go(i);
#endif
        atomic { working--; i = 0; mine = false }
    od
}

proctype server()
{
    mtype kind;
    byte i, seen;
    bool now;

end:
    do
    :: atomic { to_server?kind, i, seen };
        if
        :: kind == ASKED ->
            atomic { /* the lookup */
                if
                :: !known -> answered(i); now = true
                :: else -> references = references + (BUG != 10); memory[i] = true; users[i] = 1
                fi
            };
            if
            :: now
            :: else ->
#if BUG == 5
                now = events > seen;
#endif
                atomic {
                    assert(references > 0);
#if BUG != 5
                    now = events > seen;
#endif
                    if
                    :: !now -> listed[i] = true; waits[i] = true; to_caller!KEPT, i /* remote_keep() */
                    :: else
                    fi
                };
                atomic {
                    if
                    :: now -> answered(i); give_back(i)
                    :: else
                    fi
                }
            fi
        :: kind == CANCEL ->
            atomic { /* cancelled() */
                if
                :: listed[i] ->
                    assert(memory[i]);
                    if
                    :: !cancelled[i] || BUG == 2 ->
                        cancelled[i] = true;
                        users[i] = users[i] + (BUG != 1);
                        assert(!work??[eval(i)]);
                        work!i
                    :: else
                    fi
                :: else
                fi
            }
        fi;
        atomic { kind = 0; i = 0; seen = 0; now = false }
    od
}

/* msg_request_cancel() */
inline cancel(i)
{
    if
    :: to_server!CANCEL, i, 0
    :: skip /* there is no room */
    fi
}

/* msg_take_reply(), msg_take_kept() */
proctype taker()
{
    byte i;

end:
    do
    :: atomic {
           to_caller?KEPT, i ->
           kept[i] = true;
           if
           :: slot[i] == ABANDONED -> cancel(i)
           :: else
           fi;
           i = 0
       }
    :: atomic {
           to_caller?ANSWER, i ->
           assert(slot[i] != UNUSED && !stopped);
           got[i] = slot[i] == WAITING;
           slot[i] = UNUSED;
           i = 0
       }
    od
}

proctype caller(byte i)
{
    byte seen;

    seen = events;
    if
    :: seen == EVENTS /* the object has ended */
    :: seen < EVENTS && MAY_GIVE_UP
    :: seen < EVENTS ->
        atomic { slot[i] = WAITING; to_server!ASKED, i, seen };
        if
        :: got[i]
        :: atomic {
               slot[i] == WAITING && MAY_GIVE_UP ->
               slot[i] = ABANDONED;
               if
               :: kept[i] -> cancel(i)
               :: else
               fi
           }
        fi
    fi;
    ended++
}

#define UNANSWERED (slot[0] != UNUSED || slot[1] != UNUSED)

/* The stop of the callers' kernel looks again and again at what is under way there and at the server. */
proctype stop()
{
    byte i;

    stopping = true;
    do
    :: atomic {
           ended == CALLS && ((!UNANSWERED && len(work) == 0 && working == 0) || BUG == 8) ->
           assert(BUG == 8 || (!listed[0] && !listed[1] && len(to_caller) == 0));
           stopped = true;
           break
       }
    :: atomic {
           BUG != 7 && ended == CALLS && slot[i] == ABANDONED && kept[i] && !to_server??[CANCEL, eval(i), 0] ->
           to_server!CANCEL, i, 0
       }
    :: atomic { ended == CALLS && slot[i] == UNUSED && i + 1 < CALLS -> i++ }
    od
}

init
{
    atomic {
        run server();
        run owner();
        run worker();
        run worker();
        run taker();
        run caller(0);
        run caller(1);
#ifdef STOP
        run stop();
#endif
    };
    timeout;
    assert(ended == CALLS && !UNANSWERED);
    assert(!memory[0] && !memory[1] && len(to_server) == 0 && len(to_caller) == 0 && len(work) == 0);
#ifdef STOP
    assert(stopped && references == 1)
#else
    assert(references == 0)
#endif
}
