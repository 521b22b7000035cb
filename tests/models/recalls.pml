/* Recalls of several leases at the home (mm/lease/lease.md, "Several leases"). Kernel 1 has leases 0 and 2, kernel 2 has lease 1. One wait wants
 * all of them, another leases 1 and 2. A wait recalls one lease of each holder at a time; it has the memory for one of these recalls, and may get memory for another. While it has one under way, it may
 * stop looking for more before it has seen all leases, and looks on when one of its own is over. A holder gives the lease up, or has no memory to answer. A fork may hold recalls back once while nobody waits.
 *
 * An atomic step is a critical section of space->lock.
 *
 * Checked: who waits goes on when no lease is left that it wants, or fails after a recall that failed; then none of its recalls is under way; a lease is recalled once at
 * a time; a wait asks a holder for one lease at a time; nobody waits while no recall is under way.
 *
 * Seeded bugs: 1 a wait goes on when its first recall is over; 2 the end of a recall looks only at the wait whose recall it was; 3 a lease is recalled that is being recalled; 4 a wait fails
 * at once, although another recall of its is under way; 5 the release of the fork's lock begins no recall; 6 a wait without memory begins no recall; 7 the end of a recall
 * begins no other one; 8 a wait stops looking although it has nothing under way. */
#ifndef BUG
#define BUG 0
#endif
#define LEASES 3
#define WAITS 2
#define NOBODY 2

#define HOLDER(l) (l == 1 -> 2 : 1)
#define WANTS(w, l) (w == 0 || l != 0)
#define LEFT(w) ((leased[0] && WANTS(w, 0)) || (leased[1] && WANTS(w, 1)) || (leased[2] && WANTS(w, 2)))
#define UNDER_WAY(w) (recall[0] == w || recall[1] == w || recall[2] == w)
/* The recall of X, one of the wait OVER, had no memory: whether W fails. */
#define FAILS(w, x) (waits[w] && WANTS(w, x) && (over == w || !UNDER_WAY(w)))
#define ANY (recall[0] != NOBODY || recall[1] != NOBODY || recall[2] != NOBODY)

bool leased[LEASES] = true;
byte recall[LEASES] = NOBODY; /* the wait whose recall of it is under way */
bool sent[LEASES];            /* the holder has been asked */
bool asked[WAITS * 3];        /* by wait and holder */
byte own[WAITS] = LEASES;     /* the lease whose recall has the wait's own memory */
bool waits[WAITS];
bool failed[WAITS];
bool done[WAITS];
bool held;                    /* a fork has the lock and leaves the leases as they are */

/* The wait W begins a recall of each lease that it can. */
inline begin(w)
{
    l = 0;
    do
    :: l < LEASES ->
        if
        :: !held && leased[l] && WANTS(w, l) && !asked[w * 3 + HOLDER(l)] && (recall[l] == NOBODY || BUG == 3) ->
            assert(recall[l] == NOBODY);
            if
            :: own[w] == LEASES && BUG != 6 -> own[w] = l; recall[l] = w; asked[w * 3 + HOLDER(l)] = true
            :: own[w] != LEASES || BUG == 6 -> recall[l] = w; asked[w * 3 + HOLDER(l)] = true
            :: own[w] != LEASES || BUG == 6 /* no memory */
            :: UNDER_WAY(w) || BUG == 8 /* it has looked at enough leases */
            fi
        :: else
        fi;
        l++
    :: else -> break
    od;
    l = 0
}

/* W may go on, or fail. */
inline finish(w, over)
{
    if
    :: waits[w] && ((!UNDER_WAY(w) && (failed[w] || !LEFT(w))) || (BUG == 1 && over == w && own[w] == LEASES) ||
                    (BUG == 4 && failed[w])) ->
        assert(!UNDER_WAY(w));
        assert(failed[w] || !LEFT(w));
        waits[w] = false;
        done[w] = true
    :: else
    fi
}

inline go_on(over)
{
    w = 0;
    do
    :: w < WAITS ->
        if
        :: waits[w] && (w == over || (!UNDER_WAY(w) && (BUG != 2 || over == NOBODY))) ->
            if
            :: !failed[w] && BUG != 7 -> begin(w)
            :: else
            fi;
            finish(w, over)
        :: else
        fi;
        w++
    :: else -> break
    od;
    w = 0
}

proctype waiter(byte me)
{
    byte l;

    if
    :: atomic { LEFT(me) -> waits[me] = true; begin(me) }
    :: atomic { !LEFT(me) -> done[me] = true }
    fi;
    done[me]
}

/* Sends what has begun, after the critical section. */
proctype sender()
{
end:
    do
    :: recall[0] != NOBODY && !sent[0] -> sent[0] = true
    :: recall[1] != NOBODY && !sent[1] -> sent[1] = true
    :: recall[2] != NOBODY && !sent[2] -> sent[2] = true
    od
}

inline answer(x)
{
    over = recall[x];
    recall[x] = NOBODY;
    sent[x] = false;
    asked[over * 3 + HOLDER(x)] = false;
    if
    :: own[over] == x -> own[over] = LEASES
    :: else
    fi;
    if
    :: leased[x] = false
    :: tries > 0 -> /* no memory */
        tries--;
        failed[0] = failed[0] || FAILS(0, x);
        failed[1] = failed[1] || FAILS(1, x)
    fi;
    go_on(over);
    over = 0
}

proctype holders()
{
    byte w, l, over, tries = 1;

end:
    do
    :: atomic { sent[0] -> answer(0) }
    :: atomic { sent[1] -> answer(1) }
    :: atomic { sent[2] -> answer(2) }
    od
}

proctype fork()
{
    byte w, l;

    atomic { !waits[0] && !waits[1] -> held = true }
    atomic { held = false;
        if
        :: BUG != 5 -> go_on(NOBODY)
        :: else
        fi }
}

/* Nobody waits for what is not under way. */
proctype watcher()
{
end:
    atomic { (waits[0] || waits[1]) && !held && !ANY -> assert(false) }
}

init {
    atomic {
        run waiter(0);
        run waiter(1);
        run sender();
        run holders();
        run fork();
        run watcher()
    }
}
