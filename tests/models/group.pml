/* NUMA groups of threads (mm/seen/group.md): one group of a process on three kernels, each on its own node; 0 is the home. A
 * thread moves or ends at any time. The driver of each kernel counts the group's threads there, tells the home if there are any
 * or were any before, and waits for the answer. A kernel that sends may have no memory, and the home, once each.
 *
 * Checked: the home node changes only to one with more threads; memory moves only when all have told, and if no thread has moved
 * since, to where most threads are; when threads rest and each kernel has looked once more, the home knows what each kernel has,
 * and the home node has as many threads as any other; nothing is noted of a space that has ended, nor at another kernel than the
 * home; a driver is answered, and no deadlock.
 *
 * -DSTOP: kernel 2 stops, and its threads go to kernel 1. -DHOME: the home stops; kernel 1 succeeds it, and gets its threads.
 * -DEND: the process ends, as when one of its kernels dies.
 *
 * Seeded bugs: 1 a kernel without threads tells nothing, although it had some; 2 what the home did not take is not told again; 3
 * what a kernel that has stopped had is not dropped; 4 of several nodes with most threads the lowest is the home node; 5 memory
 * moves before all have told; 6 a kernel tells only what has changed; 7 a kernel counts shadows, too; 8 the home notes what it is
 * told of a space that has ended; 9 what a kernel has told is added to what it told before. */
#ifndef BUG
#define BUG 0
#endif
/* looks of all kernels, before threads rest */
#if defined(STOP) || defined(HOME) || defined(END)
#ifdef SHORT
#define LOOKS 1
#else
#define LOOKS 2
#endif
#elif defined(SHORT)
#define LOOKS 2
#else
#define LOOKS 3
#endif
#ifdef END
#define MOVES 0
#else
#define MOVES 1
#endif
#define N 3
#define THREADS 3
#define GONE 9

byte at[THREADS];
byte shadows[N];   /* threads that have left a kernel */
bool moved;        /* a thread has moved or ended */
byte rest;         /* threads that move and end no more */
byte leaving;      /* threads that are between two kernels */
bool up[N], busy[N], held, over, calm, ended;
bool before[N];    /* numa_told: threads that the home may believe in */
byte last[N];      /* of BUG 6 */
byte home;
byte told[N], node, heard; /* the home's: threads of each kernel; 1 + the home node; kernels that have told */
chan in[N] = [N] of { byte, byte };
chan answers[N] = [1] of { bool };
byte looks = LOOKS;
bool sender_fails = true, home_fails = true;
byte looked;

inline count(k, many, i)
{
    many = 0;
    i = 0;
    do
    :: i < THREADS && at[i] == k -> many++; i++
    :: i < THREADS && at[i] != k -> i++
    :: i == THREADS -> break
    od
}

/* The home node, from what the home has been told. */
inline settle(best, i)
{
    best = 0;
    i = 1;
    do
    :: i < N && told[i] > told[best] -> best = i; i++
    :: i < N && told[i] <= told[best] -> i++
    :: i == N -> break
    od;
    if
    :: told[best] == 0
    :: told[best] != 0 && node != 0 && told[node - 1] == told[best] && BUG != 4
    :: told[best] != 0 && (node == 0 || told[node - 1] != told[best] || BUG == 4) ->
        assert(node == 0 || best == node - 1 || told[best] > told[node - 1]);
        node = best + 1
    fi
}

inline note(k, from, many, best, i)
{
    assert(k == home && !ended);
    if
    :: BUG == 9 -> told[from] = told[from] + many
    :: else -> told[from] = many
    fi;
    heard = heard | 1 << from;
    i = 0;
    do
    :: i < N && !up[i] && BUG != 3 -> told[i] = 0; i++
    :: i < N && (up[i] || BUG == 3) -> i++
    :: i == N -> break
    od;
    settle(best, i);
    /* memory of the group is reported */
    best = 0;
    i = 0;
    do
    :: i < THREADS && at[i] != GONE -> best = best | 1 << at[i]; i++
    :: i < THREADS && at[i] == GONE -> i++
    :: i == THREADS -> break
    od;
    assert(moved || node == 0 || ((heard & best) != best && BUG != 5) || told[node - 1] == 2)
}

proctype handler(byte k)
{
    byte from, many, best, i;
end:
    do
    :: atomic { in[k]?from, many ->
           if
           :: k != home || (ended && BUG != 8) -> answers[from]!false /* EPROTO, ESRCH */
           :: k == home && (!ended || BUG == 8) && home_fails && heard == 0 && many != 0 && !calm ->
               home_fails = false; answers[from]!true /* it is told with the next look, as there are threads */
           :: k == home && (!ended || BUG == 8) -> note(k, from, many, best, i); answers[from]!true
           fi;
           best = 0; i = 0; from = 0; many = 0
       }
    od
}

/* One look of the driver of K. */
inline look(k, many, tells, good, i)
{
    count(k, many, i);
    if
    :: BUG == 7 -> many = many + shadows[k]
    :: else
    fi;
    tells = many != 0 || (before[k] && BUG != 1);
    if
    :: BUG == 6 -> tells = many != last[k]; last[k] = many
    :: else
    fi;
    if
    :: tells -> in[home]!k, many
    :: tells && sender_fails && !calm -> sender_fails = false; answers[k]!false
    :: !tells
    fi
}

inline looks_end(k, many, tells, good)
{
    if
    :: tells -> answers[k]?good; before[k] = many != 0 || (!good && BUG != 2)
    :: !tells
    fi;
    busy[k] = false;
    many = 0; tells = false; good = false
}

proctype driver(byte k)
{
    byte many, i;
    bool tells, good;

    do
    :: atomic { looks > 0 && !calm && up[k] && !held && !ended -> looks--; busy[k] = true; look(k, many, tells, good, i) };
       looks_end(k, many, tells, good)
    :: calm || !up[k] || ended -> break
    od;
    if
    :: atomic { up[k] && !ended && !held -> busy[k] = true; look(k, many, tells, good, i) };
       looks_end(k, many, tells, good);
       looked = looked | 1 << k
    :: !up[k] || ended
    fi
}

proctype thread(byte t; byte moves)
{
    byte from, to;

    do
    :: moves == 0 || ended -> break
    :: atomic { moves > 0 && !held && !ended ->
           moves--;
           moved = true;
           from = at[t];
           if
           :: from != 0 && up[0] -> to = 0
           :: from != 1 && up[1] -> to = 1
           :: from != 2 && up[2] -> to = 2
           :: to = GONE
           fi;
           at[t] = GONE;
           if
           :: to != GONE -> shadows[from]++; leaving++
           :: else
           fi
       };
       if
       :: atomic { to != GONE -> at[t] = to; leaving-- }
       :: else -> break
       fi
    od;
    rest++
}

/* The threads of kernel K go to kernel TO, while nobody looks or moves. */
inline stop(k, to, i)
{
    atomic { held = true; moved = true };
    (!busy[0] && !busy[1] && !busy[2] && leaving == 0);
    atomic {
        i = 0;
        do
        :: i < THREADS && at[i] == k -> at[i] = to; shadows[k]++; i++
        :: i < THREADS && at[i] != k -> i++
        :: i == THREADS -> break
        od;
        up[k] = false;
        if
        :: k == home ->
            home = to;
            heard = 0;
            told[0] = 0; told[1] = 0; told[2] = 0;
            node = 0
        :: else
        fi;
        held = false
    }
}

#if defined(STOP) || defined(HOME) || defined(END)
proctype event()
{
    byte i;

#ifdef STOP
    stop(2, 1, i);
#elif defined(HOME)
    stop(0, 1, i);
#else
    ended = true;
#endif
    over = true
}
#endif

/* Threads rest, and each kernel has looked once more. */
proctype check()
{
    byte k, many, i, most, here;

    (ended || (rest == THREADS && over));
    calm = true;
    if
    :: ended -> goto done
    :: ((looked & 1) != 0 || !up[0]) && ((looked & 2) != 0 || !up[1]) && ((looked & 4) != 0 || !up[2])
    fi;
    atomic {
        k = 0;
        do
        :: k < N ->
            count(k, many, i);
            assert(told[k] == many);
            if
            :: many > most -> most = many
            :: else
            fi;
            if
            :: node == k + 1 -> here = many
            :: else
            fi;
            k++
        :: k == N -> break
        od;
        assert(here == most)
    }
done:
    skip
}

init {
    atomic {
        up[0] = true; up[1] = true; up[2] = true;
        at[0] = 0; at[1] = 2; at[2] = 2; /* most are on kernel 2 */
        run handler(0); run handler(1); run handler(2);
        run driver(0); run driver(1); run driver(2);
        run thread(0, MOVES); run thread(1, MOVES); run thread(2, 0);
        run check();
#if defined(STOP) || defined(HOME) || defined(END)
        run event()
#else
        over = true
#endif
    }
}
