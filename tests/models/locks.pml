/* Locks of files, which are with the node on kernel 0; kernel/fs/node/content.md has the tables. Processes on other kernels ask
 * (set() is node_lock()), are told to wait until the node has counted more events than when they were told, and ask
 * again. file_event() comes when the node's lock has been given back. The waiting itself is tasks/remote/watch.md's, here one
 * guard.
 *
 * Asserted: locks exclude each other; EDEADLK is told only to who would close a circle of processes that all wait; when
 * nothing happens any more nobody waits for what it could have, or in a circle; no lock is left by way of a descriptor
 * that is closed.
 *
 * -DCIRCLE: three processes, locks of processes on two nodes. -DCLOSE: two threads of a process, whose home is neither's
 * kernel, lock by a descriptor and close it; another process has the same open file, or has not. Else flock of three open
 * files, which change between sharing and having alone.
 *
 * -DSHORT: of the open files, two change their lock no more.
 *
 * Seeded bugs: 1 events are counted after looking; 2 who waits is wanted only after the node's lock was given back; 3 an
 * event wakes one; 4 a flock that changes keeps what it has while it waits; 5 a lock that becomes one for reading is no event; 6 who
 * waited for who lets go is noted until it has looked again; 7 who is interrupted does not say so; 8 the circle is looked
 * for before the wait is noted, in two steps; 9 a close forgets what its process's other threads wait for; 10 an end is no
 * event; 11 who locks does not look whether the descriptor is still there; 12 a close lets go only before; 13 only
 * after; 14 kernel 0 does not look whether the file was closed meanwhile; 15 who locks reads the count of closes, which says
 * that the descriptor is still there, before it has the lock. */
#ifndef BUG
#define BUG 0
#endif
#ifdef CIRCLE
#define NODES 2
#else
#define NODES 1
#endif
#define OWNERS 3
#ifdef SHORT
#define TURNS(opener) (opener == 0 -> 2 : 1)
#else
#define TURNS(opener) 2
#endif
#define READ 1
#define WRITE 2
#define NONE 255

mtype = { DONE, AGAIN, DEADLOCK, GONE };

byte have[NODES * OWNERS]; /* READ, WRITE, 0 */
byte events[NODES];
bool wanted[NODES];     /* lock_wanted */
bool told[OWNERS];      /* of a wait: an event has come */
byte blocker[OWNERS];   /* struct lock_wait: of each process, NONE: none */
byte where[OWNERS];
byte waits[OWNERS];     /* the node that it waits for in truth, or NONE, */
byte want[OWNERS];      /* and what */
byte interrupts = 1;
bool over;              /* nothing happened any more: who waits stops */

#define HAVE(n, p) have[(n) * OWNERS + (p)]
#define IN_WAY(n, p, type, q) ((q) != (p) && HAVE(n, q) != 0 && ((type) == WRITE || HAVE(n, q) == WRITE))

/* Some owner in the way of P, which wants TYPE at N: Q, or NONE. */
inline find_conflict(n, p, type, q)
{
    q = (IN_WAY(n, p, type, 0) -> 0 : (IN_WAY(n, p, type, 1) -> 1 : (IN_WAY(n, p, type, 2) -> 2 : NONE)))
}

#define STOPPED_BY(p) (waits[p] == NONE -> NONE : \
                       (IN_WAY(waits[p], p, want[p], 0) -> 0 : (IN_WAY(waits[p], p, want[p], 1) -> 1 : \
                        (IN_WAY(waits[p], p, want[p], 2) -> 2 : NONE))))

/* closes_circle_locked(): C is P if Q waits, perhaps by way of another, for it. */
inline follow(p)
{
    c = q;
    c = (c != p && c != NONE -> blocker[c] : c);
    c = (c != p && c != NONE -> blocker[c] : c)
}

/* The same in truth. */
inline follow_truth(p)
{
    c = q;
    c = (c != p && c != NONE -> STOPPED_BY(c) : c);
    c = (c != p && c != NONE -> STOPPED_BY(c) : c)
}

/* waits_over_locked(): P lets go at N. */
inline waits_over(n, p)
{
    q = 0;
    do
    :: q < OWNERS ->
        if
        :: blocker[q] == p && where[q] == n && BUG != 6 -> blocker[q] = NONE
        :: else
        fi;
        q++
    :: else -> break
    od
}

/* file_event(), when the node's lock has been given back */
inline event(n)
{
    atomic {
        if
        :: counts ->
            counts = false;
            events[n]++;
            told[0] = true;
            told[1] = told[1] || BUG != 3;
            told[2] = told[2] || BUG != 3
        :: else
        fi
    }
}

/* node_lock() of P with LOCK_SET_WAIT: TYPE at N, 0: nothing. */
inline set(n, p, type)
{
    atomic {
        told[p] = false;
        seen = events[n];
        find_conflict(n, p, type, q);
        if
        :: type != 0 && q != NONE ->
            result = AGAIN;
#ifdef CIRCLE
            blocker[p] = NONE;
            follow(p);
            if
            :: c == p ->
                follow_truth(p);
                assert(c == p);
                result = DEADLOCK
            :: BUG != 8 && c != p -> blocker[p] = q; where[p] = n
            :: else
            fi;
            first = q;
#else
            if
            :: HAVE(n, p) != 0 && BUG != 4 -> /* set_locked() of a LOCK_WHOLE */
                HAVE(n, p) = 0;
                counts = wanted[n];
                wanted[n] = wanted[n] && !counts
            :: else
            fi;
#endif
            if
            :: result == AGAIN -> wanted[n] = wanted[n] || BUG != 2; waits[p] = n; want[p] = type
            :: else
            fi
        :: else ->
            result = DONE;
            if
            :: HAVE(n, p) > type && (BUG != 5 || type == 0) ->
                counts = wanted[n];
                wanted[n] = false;
                waits_over(n, p)
            :: else
            fi;
            HAVE(n, p) = type;
            blocker[p] = NONE;
            assert(type == 0 || !(IN_WAY(n, p, type, 0) || IN_WAY(n, p, type, 1) || IN_WAY(n, p, type, 2)))
        fi;
        q = 0;
        c = 0
    }
#ifdef CIRCLE
    atomic {
        if
        :: BUG == 8 && result == AGAIN -> blocker[p] = first; where[p] = n
        :: else
        fi;
        first = 0
    }
#endif
    if
    :: BUG == 2 && result == AGAIN -> wanted[n] = true
    :: else
    fi;
    if
    :: BUG == 1 -> seen = events[n]; told[p] = false
    :: else
    fi;
    event(n)
}

/* ask() of calls/lock.c: until it has it, is told that there is a circle, or is interrupted. */
inline lock(n, p, type)
{
    do
    :: set(n, p, type);
        if
        :: result == AGAIN ->
            if
            :: atomic { events[n] > seen && told[p] -> waits[p] = NONE }
            :: atomic { over -> waits[p] = NONE; result = GONE }
            :: atomic { interrupts > 0 && !over && !told[p] -> interrupts--; result = GONE }
            fi
        :: else
        fi;
        if
        :: atomic { /* wait_over() */
            result == GONE ->
                waits[p] = NONE;
                blocker[p] = (BUG != 7 -> NONE : blocker[p])
           }
        :: result != GONE
        fi;
        if
        :: result == AGAIN
        :: else -> break
        fi
    od
}

inline begin()
{
    blocker[0] = NONE;
    blocker[1] = NONE;
    blocker[2] = NONE;
    waits[0] = NONE;
    waits[1] = NONE;
    waits[2] = NONE
}

#ifdef CIRCLE
/* Locks one node and the other, the third process one only, and may let go of the first in between. */
proctype process(byte me)
{
    byte q, c, seen, first, n, turns;
    bool counts;
    mtype result = DONE;

    atomic { n = me & 1; turns = (me == 2 -> 1 : 0) }
    do
    :: turns < 2 && result != DEADLOCK ->
        lock(n, me, WRITE);
        if
        :: turns == 0 && HAVE(n, me) != 0 -> set(n, me, 0)
        :: true
        fi;
        atomic { n = 1 - n; turns++ }
    :: else -> break
    od;
    n = 0;
    do
    :: n < NODES ->
        if
        :: HAVE(n, me) != 0 -> set(n, me, 0)
        :: else
        fi;
        n++
    :: else -> break
    od;
    assert(blocker[me] == NONE || BUG == 7 || BUG == 8 || over)
}

/* Another thread of process 0 closes another file. */
proctype closer()
{
    blocker[0] = NONE
}

init {
    atomic {
        begin();
        run process(0);
        run process(1);
        run process(2);
        if
        :: BUG == 9 -> run closer()
        :: else
        fi
    }
    timeout;
    assert(waits[0] == NONE && waits[1] == NONE && waits[2] == NONE);
    over = true
}
#endif

#ifdef CLOSE
/* Process 0 has two threads and a descriptor of an open file of the node, which another process may have open too; it may
 * have the lock already, by way of another open file. Process 1 wants it then. The home of process 0 knows the
 * descriptor. */
#define WANTS 1
bool open = true;      /* the descriptor, at home */
byte opens;            /* of the open file, at kernel 0 */
bool other_way;        /* the lock came by way of another open file of the node */
byte threads = 2;

/* node_lock_release() */
inline release()
{
    atomic {
        counts = HAVE(0, 0) != 0 && !other_way && wanted[0];
        wanted[0] = wanted[0] && !counts;
        HAVE(0, 0) = (other_way -> HAVE(0, 0) : 0)
    }
    event(0)
}

/* file_unlock(): by the file's id, which is not found once it is closed for good */
inline unlock()
{
    if
    :: opens > 0 -> set(0, 0, 0)
    :: else
    fi
}

proctype locker()
{
    byte q, c, seen;
    bool counts, found, there;
    mtype result = AGAIN;

    do
    :: result == AGAIN ->
        if
        :: !open -> result = GONE             /* EBADF, of the home */
        :: else ->
            there = true;
            found = opens > 0;                /* file_find() pins it, or ESRCH: the home is asked again */
            if
            :: found ->
                atomic { set(0, 0, WRITE); other_way = false }
                if
                :: opens == 0 && BUG != 14 -> release()
                :: else
                fi;
                assert(result == DONE)
            :: else
            fi
        fi
    :: else -> break
    od;
    if
    :: result == DONE && BUG != 15 -> there = open /* file_locate(): the home's table, or its count, which a close changes */
    :: else
    fi;
    if
    :: result == DONE && !there && BUG != 11 -> unlock()
    :: else
    fi;
    threads--
}

proctype closer()
{
    byte q, c, seen;
    bool counts;
    mtype result;

    if
    :: BUG != 13 -> unlock()
    :: else
    fi;
    open = false;
    atomic { opens-- } /* FILE_DROP, or here */
    if
    :: opens == 0 -> release()
    :: else
    fi;
    if
    :: BUG != 12 -> unlock()
    :: else
    fi;
    threads--
}

/* Process 0 ends: file_table_unlock() goes over its descriptors, of which there is none any more. */
proctype other()
{
    byte q, c, seen;
    bool counts;
    mtype result;

    do
    :: set(0, WANTS, WRITE);
        if
        :: result == AGAIN -> events[0] > seen && told[WANTS]
        :: else -> break
        fi
    od;
    set(0, WANTS, 0)
}

init {
    atomic {
        begin();
        if
        :: opens = 1
        :: opens = 2
        fi;
        if
        :: HAVE(0, 0) = WRITE; other_way = true
        :: true
        fi;
        run locker();
        run closer()
    }
    atomic { threads == 0 -> assert(HAVE(0, 0) == 0); run other() }
}
#endif

#ifndef CIRCLE
#ifndef CLOSE
proctype opener(byte me)
{
    byte q, c, seen, turns;
    bool counts;
    mtype result;

    do
    :: turns < TURNS(me) ->
        turns++;
        if
        :: lock(0, me, READ)
        :: lock(0, me, WRITE)
        fi
    :: else -> break
    od;
    if
    :: BUG != 10 -> set(0, me, 0)
    :: BUG == 10 -> HAVE(0, me) = 0
    :: true
    fi
}

init {
    atomic {
        begin();
        run opener(0);
        run opener(1);
        run opener(2)
    }
    timeout;
    assert(waits[0] == NONE || (HAVE(0, 0) == 0 && STOPPED_BY(0) != NONE));
    assert(waits[1] == NONE || (HAVE(0, 1) == 0 && STOPPED_BY(1) != NONE));
    assert(waits[2] == NONE || (HAVE(0, 2) == 0 && STOPPED_BY(2) != NONE));
    over = true
}
#endif
#endif
