/* Locks that lend priority; tasks/futex/pi/pi.md has the tables. A step is what the home, or the owner's kernel, does with one
 * request, or one access to the word; whatever may come between request and answer comes between steps. The notice
 * (NOTIFY) is delivered by a process of its own.
 *
 * Without -DCYCLE: THREADS threads take one lock, the first of them twice; each may be interrupted while it waits, and
 * the first moves while it has the lock. Thread t has priority t + 1. Asserted: one has the lock; when nothing else can
 * happen the owner is lent what the most urgent waiter has; in the end nobody is lent anything, the lock is not known,
 * and everybody has had it (else an invalid end state).
 *
 * -DCYCLE: three threads, each with a lock of its own, take the next one's. Asserted: just one is refused.
 *
 * -DSHORT: the first takes the lock once, as the others do.
 *
 * Seeded bugs: 1 who has queued does not look whether the owner still is (its donation stays after the unlock); 2 what is
 * lent while the owner moves is written where it was; 3 a thread looks for a cycle before it queues; 4 an owner that has
 * freed the word does not say so, and who queues late does not either; 5 stamps are not looked at; 6 who leaves does
 * not ask whose the lock is; 7 who sees another look gives up, too; 8 a look says no more that it looks before it has
 * left; 9 who has queued looks only for the owner, which may have taken the lock again, without FUTEX_WAITERS; 10 it takes
 * back what it has lent to one that was granted the lock, and has not written the word. */
#ifndef BUG
#define BUG 0
#endif

#ifndef CYCLE
#define THREADS 3
#define INTERRUPTS 1
#ifdef SHORT
#define ROUNDS 1
#else
#define ROUNDS 2
#endif
#define NONE 255

byte word;           /* owner + 1 */
bool others;         /* FUTEX_WAITERS */
bool known, granted; /* at the home */
byte howner;
byte stamp;
bool waiting[THREADS];
byte told[THREADS]; /* 1 granted, 2 again */
bool has[THREADS];  /* a donation */
byte lent[THREADS]; /* what */
byte since[THREADS]; /* its stamp */
bool away;          /* thread 0 is on its way */
byte inside, interrupts, moves, ended, takes;
bool looked;
chan post = [THREADS] of { byte, byte, byte, byte }; /* thread, told, stamp, what is lent */

inline top_of(p)
{
    p = (waiting[2] -> 3 : (waiting[1] -> 2 : (waiting[0] -> 1 : 0)))
}

/* the donation of WHO is what state S says, with its stamp */
inline set_donation(who, s, p)
{
    if
    :: !has[who] || s > since[who] || BUG == 5 -> has[who] = true; lent[who] = p; since[who] = s
    :: else
    fi
}

inline lend(who, s, p)
{
    atomic {
        (who != 0 || !away || BUG == 2) ->
        if
        :: who == 0 && away /* bug: into the replica that is left, which the return overwrites */
        :: else -> set_donation(who, s, p)
        fi
    }
}

inline retract(who, s)
{
    atomic {
        (who != 0 || !away) ->
        if
        :: has[who] && since[who] <= s -> has[who] = false; lent[who] = 0; since[who] = 0
        :: else
        fi
    }
}

inline freed(who)
{
    atomic {
        if
        :: known && howner == who && !granted ->
            n = 0;
            do
            :: n < THREADS ->
                if
                :: waiting[n] -> waiting[n] = false; post!n, 2, 0, 0
                :: else
                fi;
                n++
            :: else -> break
            od;
            n = 0;
            known = false;
            s = stamp
        :: known && howner == who && granted -> still = true /* the word is late */
        :: else -> s = stamp
        fi
    }
}

proctype deliverer()
{
    byte w, t, s, p;
end:
    do
    :: atomic {
           post?w, t, s, p ->
           if
           :: t == 1 -> set_donation(w, s, p)
           :: else
           fi;
           told[w] = t;
           w = 0; t = 0; s = 0; p = 0
       }
    od
}

proctype thread(byte me)
{
    byte o, s, p, n, next, first, firsts;
    bool late, gone, still;
    byte rounds = (me == 0 -> ROUNDS : 1);

again:
    atomic {
        o = 0; s = 0; p = 0; next = 0; first = 0; firsts = 0; late = false; gone = false; still = false;
        if
        :: word == 0 -> word = me + 1; goto held
        :: else -> o = word
        fi
    }
    atomic { /* FUTEX_WAITERS */
        if
        :: word == o -> others = true; o--
        :: else -> goto again
        fi
    }
    atomic { /* JOIN */
        if
        :: !known -> known = true; granted = false; howner = o
        :: else
        fi;
        waiting[me] = true;
        stamp++;
        top_of(p);
        o = howner; s = stamp;
        first = o; firsts = s
    }
    lend(o, s, p);
    if
    :: BUG == 1
    :: atomic { BUG != 1 && word == o + 1 && (others || BUG == 9) }
    :: atomic { BUG != 1 && !(word == o + 1 && (others || BUG == 9)) };
#if BUG != 4
       freed(o);
#endif
       if
       :: !still || BUG == 10 -> retract(o, s); still = false
       :: still && BUG != 10 -> still = false
       fi
    fi;
    if
    :: told[me] != 0
    :: atomic { told[me] == 0 && interrupts < INTERRUPTS && !(me == 0) -> interrupts++ };
       atomic { /* LEAVE */
           if
           :: waiting[me] ->
               waiting[me] = false;
               stamp++;
               top_of(p);
               o = howner; s = stamp;
               if
               :: p == 0 && !granted -> known = false; gone = true
               :: else
               fi
           :: else -> late = true
           fi
       };
       if
       :: late -> told[me] != 0
       :: !late ->
           if
           :: gone -> retract(o, s)
           :: !gone ->
               lend(o, s, p);
#if BUG != 6
               atomic { late = known && howner == o }; /* HELD */
               if
               :: late
               :: !late -> retract(o, s)
               fi
#endif
           fi;
           goto again
       fi
    fi;
    if
    :: atomic { told[me] == 2 -> told[me] = 0 };
       retract(first, firsts);
       goto again
    :: atomic { told[me] == 1 -> told[me] = 0; word = me + 1; others = true }
    fi;
held:
    atomic { assert(inside == 0); inside++; takes++; o = 0; s = 0; p = 0; first = 0; firsts = 0; late = false };
    if
    :: me == 0 && moves == 0 ->
        atomic { moves++; away = true; p = lent[0]; s = since[0]; late = has[0] };
        atomic { away = false; lent[0] = p; since[0] = s; has[0] = late; p = 0; s = 0; late = false }
    :: true
    fi;
    if
    :: me == 0 && !looked ->
        atomic {
            timeout -> /* all others sleep, or are done */
            top_of(p);
            assert(p == 0 || (has[me] && lent[me] == p));
            looked = true;
            p = 0
        }
    :: true
    fi;
    inside--;
    if
    :: atomic { !others -> word = 0 } /* the program alone */
    :: others ->
        atomic { /* UNLOCK */
            if
            :: known && howner == me ->
                top_of(p);
                if
                :: p != 0 ->
                    next = p;
                    waiting[p - 1] = false;
                    howner = p - 1;
                    granted = true;
                    stamp++;
                    top_of(p);
                    post!next - 1, 1, stamp, p
                :: else -> known = false
                fi
            :: else
            fi
        };
        atomic {
            if
            :: word == me + 1 -> word = next; others = (next != 0)
            :: else
            fi
        };
#if BUG != 4
        if
        :: next == 0 -> freed(me); still = false; s = 0
        :: else
        fi;
#endif
        atomic { has[me] = false; lent[me] = 0; since[me] = 0 }
    fi;
    atomic {
        rounds--;
        if
        :: rounds > 0 -> goto again
        :: else -> ended++
        fi
    }
}

init {
    byte i;

    atomic {
        run deliverer();
        for (i : 0 .. THREADS - 1) {
            run thread(i)
        }
    };
    ended == THREADS && empty(post);
    assert(word == 0 && !known && takes == THREADS - 1 + ROUNDS);
    for (i : 0 .. THREADS - 1) {
        assert(!has[i])
    }
}

#else

#define THREADS 3

bool queued[THREADS];  /* for the lock of the next thread */
bool looking[THREADS]; /* it has not seen yet whether it waits for itself */
bool released[THREADS]; /* it has given back its own */
byte refused, ended;

#define NEXT(t) ((t + 1) % THREADS)
/* thread t waits for its next one */
#define WAITS(t) (queued[t] && !released[NEXT(t)])

proctype thread(byte me)
{
    byte at;
    bool other, cycle;

    looking[me] = true;
#if BUG != 3
    queued[me] = true;
#endif
look:
    atomic { at = NEXT(me); other = false; cycle = false };
    do
    :: at == me -> cycle = true; break
    :: at != me -> /* LOOK, then OWNER */
        atomic {
            if
            :: queued[at] -> other = other || (looking[at] && at > me)
            :: else -> break
            fi
        };
        atomic {
            if
            :: WAITS(at) -> at = NEXT(at)
            :: else -> break
            fi
        }
    od;
#if BUG == 3
    queued[me] = true;
#endif
    if
    :: cycle && other && BUG != 7 -> goto look
    :: cycle && (!other || BUG == 7) ->
#if BUG == 8
        looking[me] = false;
#endif
        refused++;
        queued[me] = false;
        looking[me] = false;
        released[me] = true /* who is refused gives back what it has */
    :: !cycle ->
        looking[me] = false;
        released[NEXT(me)]; /* has it */
        atomic { queued[me] = false; released[me] = true }
    fi;
    ended++
}

init {
    byte i;

    atomic {
        for (i : 0 .. THREADS - 1) {
            run thread(i)
        }
    };
    ended == THREADS;
    assert(refused == 1)
}
#endif
