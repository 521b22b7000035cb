/* Tasks that wait for a POSIX message queue; kernel/ipc/sysv/ipc.md has the table, kernel/ipc/mqueue/line.c and
 * mqueue.c the functions that are named here. The queue is on kernel 0 and has room for one message. Each task asks
 * once, to receive or to send its message, and waits if it is told to. -DGIVEUP: a receiver and a sender may be
 * interrupted while they wait. -DDEATH: the kernel of two receivers dies. -DCLOSE: the open file of a receiver is
 * closed, and its release comes later than that, as while an operation has the file pinned.
 *
 * An atomic step is a critical section of the queue's lock. Asking, and MQUEUE_TAKE, are steps of the task; a notice
 * goes on its own, and finds nobody whose wait has not begun.
 *
 * Asserted: who is served came first among the most urgent of its line; who receives gets the first of the greatest
 * rank; nobody waits to receive while there is a message, nor to send while there is room; a message is received once,
 * or is in the queue, if its sender was told that it had been sent, and is nowhere if not. When nothing happens any
 * more, whoever was served, interrupted or closed has come to an end.
 *
 * Seeded bugs: 1 what a receiver has got and does not take is lost; 2 it comes back as the last; 3 a sender that gives
 * up leaves its message; 4 a receive lets no sender in; 5 a message goes to the queue although somebody waits for it; 6
 * no notice is sent; 7 the wait begins after the task has asked; 8 who is interrupted gives up without MQUEUE_TAKE; 9 a
 * death ends the waits of those first who have been served; 10 who comes later goes before those of equal urgency; 11
 * who asks by a file that has been closed waits; 12 a close tells nobody; 13 what comes back to a full queue is lost. */
#ifndef BUG
#define BUG 0
#endif
#ifdef DEATH
#define RECEIVERS 3
#define MORTALS 2
#else
#define RECEIVERS 2
#define MORTALS 1
#endif
#define TASKS 4
#define ROOM 1
#define NOBODY 9

mtype = { NONE, WAITS, SERVED, ENDED };      /* a task, at the queue; ENDED: it has its answer */
mtype = { LINE, QUEUE, GOT, TAKEN, NOWHERE }; /* a message */

mtype state[TASKS];
byte urgency[TASKS], arrival[TASKS], arrivals;
mtype at[TASKS];          /* of the message of a sender, by its task */
byte rank[TASKS], sequence[TASKS], first[TASKS], sequences; /* FIRST: as it came, whatever the code makes of it */
byte got[TASKS];          /* of a receiver that was served: whose message; NOBODY: none */
byte count;               /* messages in the queue */
bool sent[TASKS];         /* the sender was told so */
bool pending[TASKS];      /* a notice is under way */
bool listens[TASKS], noticed[TASKS], interrupted[TASKS];
bool dead, closed, ended[TASKS];

#define RECEIVES(t) ((t) < RECEIVERS)
#define MORTAL(t) ((t) < MORTALS) /* is on the kernel that dies, or came by the file that is closed */

/* serve_first() of the receivers or the senders: sets WHO, NOBODY: nobody waits */
inline serve_first(receivers)
{
    who = NOBODY;
    for (n : 0 .. TASKS - 1) {
        if
        :: state[n] == WAITS && RECEIVES(n) == receivers ->
            if
            :: who == NOBODY -> who = n
            :: who != NOBODY && (urgency[n] > urgency[who] ||
               (urgency[n] == urgency[who] && (arrival[n] < arrival[who]) != (BUG == 10))) -> who = n
            :: else
            fi
        :: else
        fi
    }
    if
    :: who != NOBODY ->
        for (n : 0 .. TASKS - 1) {
            assert(state[n] != WAITS || RECEIVES(n) != receivers || n == who || urgency[n] < urgency[who] ||
                   (urgency[n] == urgency[who] && arrival[n] > arrival[who]))
        }
        state[who] = SERVED;
        pending[who] = BUG != 6
    :: else
    fi;
    n = 0
}

/* mqueue_arrive_locked() */
inline arrive(m)
{
    if
    :: sequence[m] == 0 || BUG == 2 -> sequences++; sequence[m] = sequences
    :: else
    fi;
    if
    :: first[m] == 0 -> first[m] = sequences
    :: else
    fi;
    if
    :: BUG != 5 -> serve_first(true)
    :: else -> who = NOBODY
    fi;
    if
    :: who != NOBODY -> got[who] = m; at[m] = GOT
    :: else -> at[m] = QUEUE; count++
    fi
}

/* mqueue_let_in_locked() */
inline let_in()
{
    who = NOBODY;
    if
    :: count < ROOM && BUG != 4 -> serve_first(false)
    :: else
    fi;
    if
    :: who != NOBODY -> sequences++; sequence[who] = sequences; first[who] = sequences; at[who] = QUEUE; count++
    :: else
    fi
}

/* mqueue_end_wait_locked() */
inline end_wait(t)
{
    state[t] = NONE;
    if
    :: RECEIVES(t) && got[t] != NOBODY ->
        m = got[t];
        got[t] = NOBODY;
        if
        :: BUG == 1 -> at[m] = NOWHERE
        :: BUG == 13 && count >= ROOM -> at[m] = NOWHERE
        :: else -> arrive(m)
        fi
    :: !RECEIVES(t) && at[t] == LINE && BUG != 3 -> at[t] = NOWHERE
    :: !RECEIVES(t) && at[t] == LINE && BUG == 3 -> arrive(t)
    :: else
    fi;
    m = 0
}

/* mqueue_end_waits_locked(): of the tasks that are on the dead kernel, or came by the closed file */
inline end_waits(tell)
{
    for (i : 0 .. TASKS - 1) {
        if
        :: MORTAL(i) && (state[i] == (BUG == 9 -> SERVED : WAITS)) -> pending[i] = tell; end_wait(i)
        :: else
        fi
    }
    for (i : 0 .. TASKS - 1) {
        if
        :: MORTAL(i) && BUG != 9 && state[i] == SERVED -> pending[i] = tell; end_wait(i)
        :: else
        fi
    }
    i = 0
}

#define GOES_ON(t) (!dead || !MORTAL(t))

/* receive_locked() */
inline receive(t)
{
    who = NOBODY;
    for (n : 0 .. TASKS - 1) {
        if
        :: at[n] == QUEUE && (who == NOBODY || rank[n] > rank[who] ||
           (rank[n] == rank[who] && sequence[n] < sequence[who])) -> who = n
        :: else
        fi
    }
    if
    :: who != NOBODY ->
        for (n : 0 .. TASKS - 1) {
            assert(at[n] != QUEUE || n == who || rank[n] < rank[who] ||
                   (rank[n] == rank[who] && first[n] > first[who]))
        }
        at[who] = TAKEN;
        count--;
        state[t] = ENDED;
        let_in()
    :: else -> arrivals++; arrival[t] = arrivals; state[t] = WAITS
    fi;
    n = 0
}

/* send_locked() */
inline send(t)
{
    if
    :: count < ROOM -> arrive(t); sent[t] = true; state[t] = ENDED
    :: else -> at[t] = LINE; arrivals++; arrival[t] = arrivals; state[t] = WAITS
    fi
}

/* take_locked(); a file that has been closed is not found */
inline take(t)
{
    if
    :: state[t] == SERVED && RECEIVES(t) && !(closed && MORTAL(t)) ->
        at[got[t]] = TAKEN;
        got[t] = NOBODY;
        state[t] = ENDED
    :: state[t] == SERVED && !RECEIVES(t) -> sent[t] = true; state[t] = ENDED
    :: state[t] == WAITS && !(closed && MORTAL(t)) -> end_wait(t); state[t] = ENDED
    :: state[t] == NONE && RECEIVES(t) -> state[t] = ENDED
    :: else -> gone = true /* EBADF: its wait ends with the release */
    fi
}

proctype task(byte t)
{
    byte n, m, who;
    bool gone;

    if
    :: BUG != 7 -> listens[t] = true
    :: else
    fi;
    atomic {
        if
        :: !GOES_ON(t) -> gone = true
        :: GOES_ON(t) && closed && MORTAL(t) && BUG != 11 -> gone = true
        :: GOES_ON(t) && !(closed && MORTAL(t) && BUG != 11) && RECEIVES(t) -> receive(t)
        :: else -> send(t)
        fi
    }
    if
    :: BUG == 7 -> listens[t] = true
    :: else
    fi;
    if
    :: !gone && state[t] != ENDED ->
end_here:
        if /* nobody may come */
        :: noticed[t]
        :: interrupted[t] -> gone = BUG == 8
        :: !GOES_ON(t) -> gone = true
        fi;
        atomic {
            if
            :: !gone && GOES_ON(t) -> take(t)
            :: else
            fi
        }
    :: else
    fi;
    ended[t] = true
}



proctype notices()
{
    byte n;

end:
    do
    :: atomic { pending[0] -> pending[0] = false; noticed[0] = noticed[0] || listens[0] }
    :: atomic { pending[1] -> pending[1] = false; noticed[1] = noticed[1] || listens[1] }
    :: atomic { pending[2] -> pending[2] = false; noticed[2] = noticed[2] || listens[2] }
    :: atomic { pending[3] -> pending[3] = false; noticed[3] = noticed[3] || listens[3] }
    od
}

#if defined(DEATH) || defined(CLOSE)
proctype breaks()
{
    byte n, m, i, who;

#ifdef DEATH
    atomic { dead = true }
    atomic { end_waits(false) } /* mqueue_lost() */
#else
    closed = true;
    atomic { end_waits(BUG != 12) }
#endif
}
#endif

#ifdef GIVEUP
proctype interrupts()
{
    if
    :: interrupted[0] = true
    :: interrupted[TASKS - 1] = true
    :: interrupted[0] = true; interrupted[TASKS - 1] = true
    fi
}
#endif

init {
    byte n, messages;

    atomic {
        for (n : 0 .. TASKS - 1) {
            state[n] = NONE;
            at[n] = NOWHERE;
            got[n] = NOBODY
        }
        if /* of the two that can be compared in a line */
        :: urgency[1] = 1
        :: urgency[0] = 1
        :: true
        fi;
        if
        :: rank[TASKS - 1] = 1
        :: true
        fi;
        run notices();
#if defined(DEATH) || defined(CLOSE)
        run breaks();
#endif
#ifdef GIVEUP
        run interrupts();
#endif
        for (n : 0 .. TASKS - 1) {
            run task(n)
        }
        n = 0
    }
    timeout;
    atomic {
        for (n : 0 .. TASKS - 1) {
            assert(ended[n] || (state[n] == WAITS && !interrupted[n] && GOES_ON(n) && !(closed && MORTAL(n))));
            assert(state[n] != WAITS || GOES_ON(n) || ended[n]);
            assert(state[n] != WAITS || (RECEIVES(n) -> count == 0 : count >= ROOM));
            assert(state[n] != SERVED);
            assert(RECEIVES(n) || ((at[n] == QUEUE || at[n] == TAKEN) == sent[n]));
            messages = messages + (at[n] == QUEUE)
        }
        assert(messages == count)
    }
}
