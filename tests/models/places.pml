/* The locks of a page that one process maps at two places, and which two of its threads move, each asked for another of the
 * places; mm/move/move.md, mm/lock/home.md. A place is a range of the process's address space, whose locks the home grants in
 * the order of the requests that overlap. A mover waits for the lock of the lower place, and then asks for that of the other
 * one without waiting; if it does not get it, it releases the first, and begins again. Another thread locks the whole space,
 * as a fork does.
 *
 * Checked: no deadlock; nobody holds a lock that overlaps another one; a mover that has both has them alone; without the fork,
 * whoever asks for the second lock gets it, so that movers do not hinder each other.
 *
 * With LAMPORT, mm/lock/lamport.md, a ticket is a request's time, and the home, where the movers are, learns of the fork's
 * request later. A try finds nothing there that overlaps, draws its time, waits until all that is older is in the home's
 * queues, and withdraws if that excludes it.
 *
 * Seeded bugs: 1 a mover waits for the second lock, too; 2 it takes the second one first; 3 each mover waits for the lock of
 * the place that it was asked for; 4 (LAMPORT) a try waits for an older request of which the home has learned since. */
#ifndef BUG
#define BUG 0
#endif
#define REQUESTS 5 /* two of each mover, and the fork's */
#define FORKS 4
#define TRIES 3

byte ticket[REQUESTS]; /* in the order of the queue; 0: none */
byte place[REQUESTS];  /* the places that the request covers: a bit for each */
byte last;             /* ticket */
bool away[REQUESTS];   /* the home has not learned of it */

inline queue(r, where)
{
    last++;
    ticket[r] = last;
    place[r] = where
}

/* True while an earlier request overlaps that of R. */
#define EARLIER(r, i) (ticket[i] != 0 && ticket[i] < ticket[r] && (place[i] & place[r]) != 0)
#define WAITS(r) (EARLIER(r, 0) || EARLIER(r, 1) || EARLIER(r, 2) || EARLIER(r, 3) || EARLIER(r, 4))
#define OVERLAPS(i, where) (ticket[i] != 0 && !away[i] && (place[i] & where) != 0)
#define TAKEN(where) (OVERLAPS(0, where) || OVERLAPS(1, where) || OVERLAPS(2, where) || OVERLAPS(3, where) || OVERLAPS(4, where))

/* True while an earlier request is not in the home's queues. */
#define HELD(r) (ticket[FORKS] != 0 && ticket[FORKS] < ticket[r] && away[FORKS])

inline leave(r)
{
    ticket[r] = 0
}

inline wait_for(r, where)
{
    atomic { queue(r, where) };
    !WAITS(r)
}

proctype mover(byte me)
{
    byte tries, first = 1, second = 2;
    bool got;

    if
    :: BUG == 3 && me == 1 -> first = 2; second = 1
    :: else
    fi;
    do
    :: !got && tries < TRIES ->
        if
        :: BUG == 2 ->
            atomic {
                if
                :: !TAKEN(second) -> queue(2 * me + 1, second); got = true
                :: else
                fi
            }
        :: else -> got = true
        fi;
        if
        :: got -> wait_for(2 * me, first)
        :: else
        fi;
        if
        :: BUG == 2
        :: BUG == 1 -> wait_for(2 * me + 1, second)
        :: else ->
            atomic {
                got = !TAKEN(second);
                if
                :: got -> queue(2 * me + 1, second)
                :: else
                fi
            }
#ifdef LAMPORT
            ;
            if
            :: got ->
                !HELD(2 * me + 1);
                if
                :: BUG == 4 -> !WAITS(2 * me + 1)
                :: else ->
                    atomic {
                        got = !WAITS(2 * me + 1);
                        if
                        :: !got -> leave(2 * me + 1)
                        :: else
                        fi
                    }
                fi
            :: else
            fi
#endif
        fi;
        tries++;
        if
        :: !got -> leave(2 * me)
        :: else
        fi;
#ifndef FORK
        assert(got)
#endif
    :: else -> break
    od;
    if
    :: got ->
        assert(me != 0 || !((ticket[2] != 0 && !WAITS(2)) || (ticket[3] != 0 && !WAITS(3))));
        assert(me != 1 || !((ticket[0] != 0 && !WAITS(0)) || (ticket[1] != 0 && !WAITS(1))))
    :: else
    fi;
    atomic { leave(2 * me); leave(2 * me + 1) }
}

proctype fork()
{
#ifdef LAMPORT
    atomic { queue(FORKS, 3); away[FORKS] = true };
    away[FORKS] = false;
    !WAITS(FORKS);
#else
    wait_for(FORKS, 3);
#endif
    leave(FORKS)
}

init {
    atomic {
        run mover(0);
        run mover(1);
#ifdef FORK
        run fork()
#endif
    }
}
