/* Stops and continues of a process with a thread on each of three kernels, told to the members in rounds; see
 * tasks/signal/signal.md. Kernel 0 is the home. One of the threads may move once.
 *
 * MASTER sends stops and continues as SIGSTOP and SIGCONT do; a stop is taken by a thread first (TAKE_SIGNAL) and asked
 * for later (PROCESS_STOP). A member has at most one stop and one continue that it has not answered; what is due is composed
 * under the lock, and sent without it, by another CPU perhaps: POSTER sends one message, and any two run in any order.
 * One FIFO channel per ordered pair; an atomic step is a critical section of group->lock.
 *
 * Checked: when nothing happens any more, every thread is quiesced exactly if the home says so, and the home says what
 * was sent last; the parent is told of a stop when no thread runs, and of each stop that lasts; every request is answered.
 *
 * Seeded bugs: 1 a member takes any round, not only later ones; 2 a stop counts though SIGCONT has come since it was
 * taken; 3 a kernel that quiesced is counted for the present round; 4 a thread that arrives does not look; 5 a kernel that
 * a thread is leaving says that all stand; 6 an overtaken stop is not answered and counts for the next; 7 an answer does not
 * look for what is due; 8 a round makes nobody due who has one of the other kind unanswered. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define HOME 0
#define NOWHERE 9
#define SENDS 3

mtype = { STOP, STANDS, MOVE, MOVED };

/* STOP and STANDS, its answer: round, whether it is a stop; MOVE: the thread */
chan wire[9] = [4] of { mtype, byte, bool };
#define CHANNEL(from, to) wire[(from) * KERNELS + (to)]

byte round[KERNELS];
bool stopped[KERNELS];
bool waits[KERNELS];  /* somebody is to be told when all stand: stop_waits */
byte kept[KERNELS];   /* the round whose answer is kept, 0: none */
bool due[KERNELS];    /* the threads, by number */
bool quiesced[KERNELS];
byte at[KERNELS];
byte leaving[KERNELS]; /* kernel that a thread leaves, until the target has answered */
byte left;             /* stop_left */
byte continues = 1;
byte told;             /* the round of the last CLD_STOPPED */
bool wanted;           /* what was sent last: a stop */
bool is_due[KERNELS];
bool unanswered[6];    /* by kernel * 2 + kind: a continue, a stop */
byte busy;             /* posters, and stops that were taken */

#define RUNS(t, k) ((at[t] == (k) && !quiesced[t]) || (leaving[t] == (k) && BUG != 5))
#define ALL_STAND(k) (!RUNS(0, k) && !RUNS(1, k) && !RUNS(2, k))

inline one_quiesced(r)
{
    if
    :: (round[HOME] == (r) || BUG == 3) && stopped[HOME] ->
        if
        :: left > 0 -> left--
        :: else
        fi;
        if
        :: left == 0 ->
            assert((quiesced[0] || due[0]) && (quiesced[1] || due[1]) && (quiesced[2] || due[2]));
            told = round[HOME]
        :: else
        fi
    :: else
    fi
}

/* stop_look_locked and stop_answer */
inline look(k)
{
    if
    :: waits[k] && ALL_STAND(k) ->
        waits[k] = false;
        if
        :: k == HOME -> one_quiesced(round[HOME])
        :: k != HOME && kept[k] != 0 -> CHANNEL(k, HOME)!STANDS, kept[k], true; kept[k] = 0
        :: else
        fi
    :: else
    fi
}

inline apply(k, r, stop)
{
    if
    :: k != HOME && kept[k] != 0 && BUG != 6 -> CHANNEL(k, HOME)!STANDS, kept[k], true; kept[k] = 0
    :: else
    fi;
    waits[k] = stop;
    round[k] = r;
    stopped[k] = stop;
    if
    :: stop && at[0] == k -> due[0] = true
    :: else
    fi;
    if
    :: stop && at[1] == k -> due[1] = true
    :: else
    fi;
    if
    :: stop && at[2] == k -> due[2] = true
    :: else
    fi
}

proctype thread(byte t)
{
end:
    do
    :: atomic { at[t] != NOWHERE && due[t] && stopped[at[t]] && !quiesced[t] -> quiesced[t] = true; look(at[t]) }
    :: atomic { at[t] != NOWHERE && due[t] && !stopped[at[t]] -> quiesced[t] = false; due[t] = false }
    :: atomic { /* thread 2 moves once, from its kernel to the next */
        t == 2 && at[t] == 2 && !due[t] && leaving[t] == NOWHERE ->
            CHANNEL(2, 1)!MOVE, t, false;
            at[t] = NOWHERE;
            leaving[t] = 2 }
    od
}

proctype poster(byte k; byte r; bool stop)
{
    atomic { CHANNEL(HOME, k)!STOP, r, stop; busy-- }
}

/* compose_locked, and what sends it */
inline send_if_ready(k)
{
    if
    :: is_due[k] && !unanswered[(k) * 2 + stopped[HOME]] ->
        is_due[k] = false;
        unanswered[(k) * 2 + stopped[HOME]] = true;
        busy++;
        run poster(k, round[HOME], stopped[HOME])
    :: else
    fi
}

proctype handler(byte k)
{
    byte from;
    byte number;
    bool flag;
    mtype type;

end:
    do
    :: atomic {
        if
        :: CHANNEL(0, k)?type, number, flag -> from = 0
        :: CHANNEL(1, k)?type, number, flag -> from = 1
        :: CHANNEL(2, k)?type, number, flag -> from = 2
        fi;
        if
        :: type == STOP ->
            if
            :: number > round[k] || BUG == 1 ->
                apply(k, number, flag);
                if
                :: flag -> kept[k] = number; look(k)
                :: else -> CHANNEL(k, HOME)!STANDS, number, false
                fi
            :: else -> CHANNEL(k, HOME)!STANDS, number, flag
            fi
        :: type == STANDS ->
            unanswered[from * 2 + flag] = false;
            one_quiesced(number);
            if
            :: BUG != 7 -> send_if_ready(from)
            :: else
            fi
        :: type == MOVE ->
            at[number] = k;
            if
            :: stopped[k] && BUG != 4 -> due[number] = true
            :: else
            fi;
            CHANNEL(k, from)!MOVED, number, false
        :: type == MOVED -> leaving[number] = NOWHERE; look(k)
        fi;
        from = 0;
        number = 0;
        flag = false;
        type = 0
       }
    od
}

inline begin_round(stop)
{
    apply(HOME, (round[HOME] + 1), stop);
    left = (stop -> 3 : 0);
    is_due[1] = (BUG != 8 || !unanswered[1 * 2 + 1 - stop]);
    is_due[2] = (BUG != 8 || !unanswered[2 * 2 + 1 - stop]);
    send_if_ready(1);
    send_if_ready(2);
    if
    :: stop -> look(HOME)
    :: else
    fi
}

/* A thread has taken a stop signal when CONTINUES was as said, and now asks the home to stop. */
proctype taker(byte before)
{
    atomic {
        busy--;
        if
        :: (continues == before || BUG == 2) && !stopped[HOME] -> begin_round(true)
        :: else
        fi
    }
}

proctype master()
{
    byte sends;

    do
    :: atomic { sends < SENDS && sends % 2 == 0 -> sends++; wanted = true; busy++; run taker(continues) }
    :: atomic { sends < SENDS && sends % 2 == 1 ->
        sends++;
        wanted = false;
        continues++;
        if
        :: stopped[HOME] -> begin_round(false)
        :: else
        fi }
    :: break
    od
}

init {
    byte k;

    atomic {
        for (k : 0 .. KERNELS - 1) {
            at[k] = k;
            leaving[k] = NOWHERE;
            run thread(k);
            run handler(k)
        }
        run master();
        k = 0
    }
    timeout;
    assert(busy == 0 && !is_due[1] && !is_due[2]);
    assert(!unanswered[2] && !unanswered[3] && !unanswered[4] && !unanswered[5]);
    assert(stopped[HOME] == wanted);
    assert(stopped[1] == wanted && stopped[2] == wanted);
    assert(quiesced[0] == wanted && quiesced[1] == wanted && quiesced[2] == wanted);
    assert(!wanted || told == round[HOME])
}
