/* Waiting for a word over three kernels; tasks/futex/futex.md has the tables. Kernel 0 is the owner: the queue is there. The word
 * counts like a semaphore: a waiter takes one if there is one, else it waits while the word is 0; a poster adds one
 * and wakes one. A wait may be interrupted, after which its thread goes on at the next kernel. There are as many
 * posts as takes, so whoever sleeps for ever is a lost wakeup (an invalid end state).
 *
 * An atomic step is a critical section, or one access to the word. Requests of a kernel arrive in order; answers and
 * notices (NOTIFY) have no order among each other. The first look at the word, which only saves work, is left out.
 *
 * Asserted: a wake reaches a thread that waits, with the token it waits with; as many waits return 0 as wakes were
 * counted; nobody is left in the queue.
 *
 * -DHOMELY: one waiter and one poster are on the owner.
 *
 * -DSHORT: one wait is interrupted, not two.
 *
 * Seeded bugs: 1 the word is looked at before queueing, not after; 2 who leaves does not ask whether it was woken; 3 a wake
 * counted for one that should not have queued is not passed on; 4 a thread moves without leaving; 5 a waker looks at the
 * board before it stores; 6 the board is cleared outside of the critical section that has found the queue empty; 7 the
 * board is set after the answer to who has queued. */
#ifndef BUG
#define BUG 0
#endif
#define OWNER 0
#define KERNELS 3
#define WAITERS 2
#define POSTERS 2
#define THREADS 4 /* waiters first */
#ifdef SHORT
#define INTERRUPTS 1
#else
#define INTERRUPTS 2
#endif
#ifdef HOMELY
#define FIRST_WAITER 0
#define FIRST_POSTER 0
#else
#define FIRST_WAITER 1
#define FIRST_POSTER 2
#endif

mtype = { WAIT, WAKE, LEAVE };

chan request[KERNELS] = [THREADS] of { mtype, byte, byte }; /* by sender: thread, token */
chan answer[THREADS] = [1] of { byte };                     /* WAKE: how many; LEAVE: too late */
chan notice[KERNELS] = [4] of { byte, byte };               /* NOTIFY by receiver: thread, token */
chan queue = [4] of { byte, byte, byte };                   /* kernel, thread, token */

byte value;         /* the word */
byte token[WAITERS]; /* of the present wait, 0: none */
bool woken[WAITERS]; /* its completion */
bool board;          /* the owner's: somebody may be in the queue */
byte counted;       /* wakes that wakers are told of */
byte zeros;         /* waits that returned 0 */
byte interrupts;
byte ended;

inline queue_wake(n)
{
    if
    :: len(queue) > 0 ->
        queue?to, which, tag;
        counted++;
        n = 1;
        if
        :: to == OWNER -> assert(token[which] == tag); woken[which] = true
        :: else -> notice[to]!which, tag
        fi
    :: else ->
        n = 0;
#if BUG != 6
        board = board && self == OWNER /* its own threads leave it alone */
#endif
    fi;
    to = 0;
    which = 0;
    tag = 0
}

inline queue_leave(k, who, t, late)
{
    if
    :: queue??[eval(k), eval(who), eval(t)] -> queue??eval(k), eval(who), eval(t); late = 0
    :: else -> late = 1
    fi
}

#if BUG == 7
#define PUBLISH
#else
#define PUBLISH board = true;
#endif

proctype owner()
{
    byte self = OWNER + 1; /* it wakes for other kernels */
    byte who, t, n, from, to, which, tag;
    bool after;
end:
    do
    :: atomic {
           if
           :: request[1]?[WAIT, _, _] -> request[1]?WAIT, who, t; queue!1, who, t; PUBLISH answer[who]!0; after = (BUG == 7)
           :: request[2]?[WAIT, _, _] -> request[2]?WAIT, who, t; queue!2, who, t; PUBLISH answer[who]!0; after = (BUG == 7)
           :: request[1]?[WAKE, _, _] -> request[1]?WAKE, who, t; queue_wake(n); after = (BUG == 6 && n == 0); answer[who]!n
           :: request[2]?[WAKE, _, _] -> request[2]?WAKE, who, t; queue_wake(n); after = (BUG == 6 && n == 0); answer[who]!n
           :: request[1]?[LEAVE, _, _] -> request[1]?LEAVE, who, t; queue_leave(1, who, t, n); answer[who]!n
           :: request[2]?[LEAVE, _, _] -> request[2]?LEAVE, who, t; queue_leave(2, who, t, n); answer[who]!n
           fi;
           who = 0;
           t = 0;
           n = 0
       }
#if BUG == 6 || BUG == 7
       ;
       atomic { board = (after -> BUG == 7 : board); after = false }
#endif
    od
}

/* handle_woken() of a kernel that is not the owner */
proctype listener(byte self)
{
    byte who, t;
end:
    do
    :: atomic {
           notice[self]?who, t ->
           if
           :: token[who] == t -> assert(!woken[who]); woken[who] = true
           :: else -> assert(BUG == 2 || BUG == 4)
           fi;
           who = 0;
           t = 0
       }
    od
}

inline wake(n)
{
    if
    :: atomic { self == OWNER -> queue_wake(n) }
    :: self != OWNER ->
        if
        :: !board -> n = 0 /* read without a message */
        :: board -> request[self]!WAKE, me, 0; answer[me]?n
        fi
    fi
}

inline join()
{
    if
    :: atomic { self == OWNER -> queue!OWNER, me, tries; board = true }
    :: self != OWNER -> request[self]!WAIT, me, tries; answer[me]?_
    fi
}

inline leave(late)
{
    if
    :: atomic { self == OWNER -> queue_leave(OWNER, me, tries, late) }
    :: self != OWNER -> request[self]!LEAVE, me, tries; answer[me]?late
    fi;
    if
    :: late == 1 && BUG != 2 -> woken[me]
    :: else
    fi
}

proctype waiter(byte me; byte self)
{
    byte tries, n, late, to, which, tag;
    bool equal;

    do
    :: atomic { value > 0 -> value--; break }
    :: atomic { value == 0 -> tries++; token[me] = tries; woken[me] = false; equal = true };
#if BUG != 1
       join();
       equal = (value == 0);
#else
       join();
#endif
       if
       :: equal ->
           if
           :: atomic { woken[me] -> zeros++ }
           :: atomic { interrupts < INTERRUPTS && !woken[me] -> interrupts++ };
#if BUG != 4
               leave(late);
               atomic {
                   if
                   :: late == 1 && BUG != 2 -> zeros++
                   :: else
                   fi;
                   late = 0
               };
#endif
               self = (self + 1) % KERNELS
           fi
       :: else ->
           leave(late);
           if
           :: late == 1 && BUG != 3 ->
               wake(n);
               atomic {
                   if
                   :: n == 0 -> zeros++
                   :: else -> counted-- /* no waker is told of this one */
                   fi;
                   n = 0
               }
           :: else
           fi
       fi;
       atomic { token[me] = 0; late = 0; equal = false }
    od;
    ended++
}

proctype poster(byte me; byte self)
{
    byte n, to, which, tag;

#if BUG == 5
    bool look = board || self == OWNER;
    value++;
    if
    :: look -> if
               :: atomic { self == OWNER -> queue_wake(n) }
               :: self != OWNER -> request[self]!WAKE, me, 0; answer[me]?n
               fi
    :: !look
    fi;
#else
    value++;
    wake(n);
#endif
    ended++
}

init {
    atomic {
        run owner();
        run listener(1);
        run listener(2);
        run waiter(0, FIRST_WAITER);
        run waiter(1, 2);
        run poster(2, FIRST_POSTER);
        run poster(3, 1)
    };
    ended == THREADS;
    assert(counted == zeros);
    assert(len(queue) == 0)
}
