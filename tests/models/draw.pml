/* Threads that move to their memory (mm/seen/draw.md): a process with two threads, at first on kernels 1 and 2, that write the
 * same memory, which is on the node of kernel 0, the home. Each kernel is a node. A clock counts periods. In each, every kernel
 * takes its accessed bit and reports it; the home notes who has used the memory in this period and in that of the report before,
 * and what of it a kernel would leave elsewhere (its tally); once in it the home's driver reads the tallies, may ask a kernel to
 * let a thread go, and waits for the answer. A thread that has been ordered to move does so before the next period is over. A
 * free CPU is on every node, and moving costs nothing: what those would prevent is tried.
 *
 * Checked: no thread is drawn to where no other one is, nor two at once, so that threads never pass each other; a thread goes
 * only where it was ordered to by an order that holds, and to a kernel that runs; who has refused is not asked again at once; the
 * driver is answered, it touches no space that has ended, and no deadlock.
 *
 * In these, whatever tallies may say is tried, and nobody looks: -DUSER: a thread gets another affinity, or ends, at any time. -DSTOP: kernel 2 stops, and its threads go to kernel 1; timers,
 * one of which the driver is, are held. -DEND: the process ends.
 *
 * Seeded bugs: 1 tallies of the period after a move are used; 2 and those of the last one in which the kernel that was left may
 * count; 3 tallies do not begin anew when they are read; 4 a thread that goes does not look whether its order still holds; 5 nor
 * whether the kernel runs; 6 the member orders a thread that has chosen its kernel; 7 a kernel stops without waiting for the
 * driver; 8 the driver writes its result into a space that has ended; 9 the member does not answer when there is no process; 10
 * who has refused is asked in the next period. */
#ifndef BUG
#define BUG 0
#endif
#if BUG == 1
#define QUIET 1
#elif BUG == 2
#define QUIET 4
#else
#define QUIET 5
#endif
#if defined(USER) || defined(STOP) || defined(END)
#define ANY
#define PERIODS 4
#elif defined(SHORT)
#define PERIODS 6
#else
#define PERIODS 8
#endif
#define REFUSED 12
#define N 3
#define NOBODY 9
#define BIT(k) (1 << (k))
#ifdef ANY
#define LEAVES(k) true
#define LOOKED(k) true
#else
#define LEAVES(k) (left[k] != 0)
#define LOOKED(k) (looked[k] || !up[k])
#endif

byte age;                        /* the period */
byte at[2], target[2] = NOBODY;  /* of each thread: its kernel, and that to which it has been ordered to move */
byte since[2];                   /* the period of the order */
bool fixed[2];                   /* it has chosen its kernel */
bool accessed[N], looked[N];     /* bits of each kernel's tables; whether it has looked in this period */
byte users, before, told;        /* of the memory: kernels in the last period with a report, TOLD, and the one before */
byte left[N];                    /* the tallies: who would have it without this kernel */
bool read;                       /* the driver has read them in this period */
byte draw_age, refused[N];       /* refused: 1 + the period */
bool up[N], held, driving, ended;
chan ask[N] = [1] of { byte };
chan answer = [1] of { bool };
bool strange;                    /* who draws may be wrong, or something else moves threads */

#define GONE(t) (at[t] == NOBODY)

/* Somebody else than thread T is on kernel K. */
#define OTHER(t, k) (at[1 - (t)] == (k))

/* Periods go by. */
proctype clock()
{
    do
    :: atomic { age < PERIODS && !held && read && LOOKED(0) && LOOKED(1) && LOOKED(2) &&
                (target[0] == NOBODY || since[0] == age) && (target[1] == NOBODY || since[1] == age) ->
           age++;
           read = false;
           looked[0] = false; looked[1] = false; looked[2] = false
       }
    :: ended || age == PERIODS -> break
    od
}

/* Looks, and the reports that the home notes at once. */
proctype looker(byte k)
{
    byte others;

    do
    :: atomic { !looked[k] && up[k] && !held && !ended ->
           looked[k] = true;
           if
           :: accessed[k] ->
               accessed[k] = at[0] == k || at[1] == k;
               if
               :: told != age -> before = users; users = 0; told = age
               :: else
               fi;
               users = users | BIT(k);
               others = (users | before) & ~BIT(k);
               left[k] = left[k] | others;
               others = 0
           :: else
           fi
       }
    :: ended || age == PERIODS || !up[k] -> break
    od
}

/* A thread that uses the memory all the time, and goes when it is ordered to. */
proctype thread(byte t)
{
    byte to = NOBODY;

    do
    :: atomic { target[t] != NOBODY && !held && !GONE(t) -> to = target[t] };
       atomic {
           if
           :: held || GONE(t) || (target[t] != to && BUG != 4)       /* the order is another one, or none */
           :: !held && !GONE(t) && (target[t] == to || BUG == 4) ->
               assert(target[t] == to);
               if
               :: up[to] || BUG == 5 -> assert(up[to]); at[t] = to; accessed[to] = true
               :: else /* -EAGAIN: it stays */
               fi;
               target[t] = NOBODY
           fi;
           to = NOBODY
       }
    :: ended || GONE(t) || (age == PERIODS && target[t] == NOBODY) -> break
    od
}

/* The member K: which of its threads may go to kernel TO. */
proctype member(byte k)
{
    byte to, t;
end:
    do
    :: atomic { ask[k]?to ->
           assert(up[k]);
           t = 0;
           do
           :: t < 2 && at[t] == k && target[t] == NOBODY && (!fixed[t] || BUG == 6) && !ended -> break
           :: t < 2 -> t++ /* it has run less than another one, or waits */
           :: t == 2 -> break
           od;
           if
           :: ended && BUG == 9
           :: ended && BUG != 9 -> answer!false
           :: !ended && t == 2 -> answer!false
           :: !ended && t < 2 ->
               assert(!fixed[t]);
               assert(strange || (OTHER(t, to) && target[1 - t] == NOBODY));
               target[t] = to;
               since[t] = age;
               answer!true
           fi;
           to = 0; t = 0
       }
    od
}

/* The home's driver. */
proctype driver()
{
    byte k, to, asked;
    bool ordered;

    do
    :: atomic { !read && !held && !ended && up[0] ->
           read = true;
           asked = NOBODY;
           k = 1;
           do
           :: k < N && up[k] && LEAVES(k) && age >= draw_age &&
              (refused[k] == 0 || age + 1 - refused[k] >= REFUSED || BUG == 10) ->
               asked = k;
               break
           :: k < N -> k++ /* the other one gains more, or this one has none */
           :: k == N -> break
           od;
           if
           :: asked != NOBODY ->
#ifdef ANY
               to = 3 - k;
#else
               to = (left[k] & BIT(1) -> 1 : (left[k] & BIT(2) -> 2 : 0));
#endif
               assert(refused[k] == 0 || age + 1 - refused[k] >= REFUSED);
               driving = true;
               ask[k]!to
           :: else
           fi;
           if
           :: BUG != 3 -> left[0] = 0; left[1] = 0; left[2] = 0
           :: else
           fi
       };
       if
       :: asked != NOBODY ->
           answer?ordered;
           atomic {
               if
               :: ended && BUG != 8
               :: !ended || BUG == 8 ->
                   assert(!ended);
                   if
                   :: ordered -> draw_age = age + QUIET
                   :: !ordered -> refused[asked] = age + 1
                   fi
               fi;
               driving = false
           }
       :: asked == NOBODY
       fi
    :: ended || age == PERIODS -> break
    od
}

#ifdef USER
/* sched_setaffinity, kettle_migrate, or the end of a thread, at any time: T's. */
proctype user(byte t)
{
    atomic {
        if
        :: GONE(t)
        :: !GONE(t) -> target[t] = NOBODY; fixed[t] = true                    /* it stays where it wants to be */
        :: !GONE(t) -> target[t] = 0; since[t] = age                          /* it is to go elsewhere */
        :: !GONE(t) -> at[t] = NOBODY; target[t] = NOBODY                     /* it ends */
        fi
    }
}
#endif

#ifdef STOP
proctype stop()
{
    byte t;

    held = true;
    (!driving || BUG == 7);
    atomic {
        do
        :: t < 2 && at[t] == 2 -> at[t] = 1; accessed[1] = true; t++
        :: t < 2 && at[t] != 2 -> t++
        :: t == 2 -> break
        od;
        up[2] = false;
        held = false
    }
}
#endif

init {
    atomic {
        up[0] = true; up[1] = true; up[2] = true;
        at[0] = 1; at[1] = 2;
        accessed[1] = true; accessed[2] = true;
        age = 1;
        run clock();
#ifdef ANY
        strange = true;
#else
        run looker(0); run looker(1); run looker(2);
#endif
        run thread(0); run thread(1);
        run member(1); run member(2);
        run driver();
#ifdef USER
        run user(0)
#elif defined(STOP)
        run stop()
#endif
    }
#ifdef END
    ended = true
#endif
}
