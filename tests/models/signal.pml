/* Two signals are sent to a process whose threads, one for each of three kernels at first, block and unblock signals,
 * move and exit meanwhile; tasks/signal/signal.md has the tables. Kernel 0 is the home.
 *
 * Each kernel is a HANDLER, which takes messages one by one; each thread is a process. An atomic step is a critical
 * section of group->lock. One FIFO channel per ordered pair.
 *
 * Checked: a signal is taken once at most, and by a thread that does not block it; and when nothing happens any more, no
 * signal waits that some living thread does not block.
 *
 * -DAWAY: the sender is on kernel 1, which gets the hint with the answer to PROCESS_SIGNAL.
 * -DMERGED: at first only thread 1 takes a signal, the second one, of which its kernel is told behind the first.
 * -DSHORT: with two signals thread 1, too, begins with both blocked.
 *
 * Seeded bugs: 1 a thread that blocks a signal it may have been chosen for tells nobody (signal_set_mask); 2 a thread
 * that arrives does not look; 3 what the kernel a thread leaves knows does not travel with it; 4 the hint is cleared
 * when the home has answered, not before it is asked; 5 a thread that exits tells nobody; 6 two threads are given one
 * signal; 7 the home tells the other kernels only when it has no thread at all; 8 a handler's mask tells nobody; 9 the
 * sender does not handle the hint of the answer;
 * 10 what a kernel is to learn while it has not answered is forgotten (hint.c). */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define THREADS 3
#define HOME 0
#define NOWHERE 9
#ifndef SIGNALS
#define SIGNALS 2
#endif
#define BOTH (SIGNALS == 2 -> 3 : 1)
#ifndef ACTIONS
#define ACTIONS 2 /* of all threads together */
#endif
#if defined(SHORT) && SIGNALS == 2
#define OPEN 1 /* threads that may begin without a blocked signal */
#else
#define OPEN 2
#endif

#define CHANNEL(from, to) wire[(from) * KERNELS + (to)]
#define WANTS(t, k, one) (at[t] == (k) && (mask[t] & (one)) == 0)

mtype = { HINT, HINTED, RETARGET, TAKE, TAKEN, MOVE };

chan wire[9] = [4] of { mtype, byte, byte, byte };

byte pending;       /* at the home */
byte hint[KERNELS]; /* signal_hint */
bool unanswered[KERNELS]; /* at the home: a HINT is under way to this kernel, or its answer from it */
byte merged[KERNELS];     /* at the home: what it is to learn then */
byte at[THREADS];   /* kernel, or NOWHERE: between kernels, or over */
bool alive[THREADS];
byte mask[THREADS];
bool due[THREADS];
byte got[THREADS]; /* the home's answer to a thread away from it */
bool answered[THREADS];
byte taken[3];
byte actions;

/* Under the lock of K: for each of SIGNALS a thread here shall look; REST: those that none here takes. */
inline choose(k, signals, rest)
{
    rest = signals;
    if
    :: (signals & 1) && WANTS(0, k, 1) -> due[0] = true; rest = rest & 2
    :: (signals & 1) && !WANTS(0, k, 1) && WANTS(1, k, 1) -> due[1] = true; rest = rest & 2
    :: (signals & 1) && !WANTS(0, k, 1) && !WANTS(1, k, 1) && WANTS(2, k, 1) -> due[2] = true; rest = rest & 2
    :: else
    fi;
    if
    :: (signals & 2) && WANTS(0, k, 2) -> due[0] = true; rest = rest & 1
    :: (signals & 2) && !WANTS(0, k, 2) && WANTS(1, k, 2) -> due[1] = true; rest = rest & 1
    :: (signals & 2) && !WANTS(0, k, 2) && !WANTS(1, k, 2) && WANTS(2, k, 2) -> due[2] = true; rest = rest & 1
    :: else
    fi
}

inline hint_one(k, signals)
{
    if
    :: unanswered[k] && BUG != 10 -> merged[k] = merged[k] | (signals)
    :: unanswered[k] && BUG == 10
    :: !unanswered[k] -> unanswered[k] = true; CHANNEL(HOME, k)!HINT, signals, 0, 0
    fi
}

inline hint_others(signals)
{
    hint_one(1, signals);
    hint_one(2, signals)
}

/* The home takes the answer of K: take_answer of hint.c. */
inline hinted(k)
{
    if
    :: (merged[k] & pending) != 0 -> CHANNEL(HOME, k)!HINT, (merged[k] & pending), 0, 0
    :: (merged[k] & pending) == 0 -> unanswered[k] = false
    fi;
    merged[k] = 0
}

inline look(t)
{
    if
    :: (hint[at[t]] & (BOTH - mask[t])) != 0 -> due[t] = true
    :: else
    fi
}

/* signal_set_mask of thread T; TELLS: not with one of the bugs. */
inline set_mask(t, new, tells)
{
    atomic {
        blocked = new & (BOTH - mask[t]) & hint[at[t]];
        mask[t] = new;
        look(t)
    }
    if
    :: atomic { blocked != 0 && tells ->
        choose(at[t], (blocked & hint[at[t]]), blocked) }
       if
       :: atomic { blocked != 0 && at[t] == HOME -> hint_others(blocked) }
       :: atomic { blocked != 0 && at[t] != HOME -> CHANNEL(at[t], HOME)!RETARGET, blocked, 0, 0 }
       :: blocked == 0
       fi
    :: blocked == 0 || !tells
    fi;
    blocked = 0
}

inline take_lowest(set, what)
{
    what = pending & (set);
    if
    :: what == BOTH -> what = 1
    :: else
    fi;
    if
    :: BUG != 6 -> pending = pending & (BOTH - what)
    :: else
    fi
}

proctype thread(byte t)
{
    byte blocked;
    byte set;
    byte to;

end:
user:
    if
    :: atomic { due[t] -> due[t] = false } goto deliver
    :: atomic { actions < ACTIONS && !due[t] -> actions++ }
       if
       :: to = mask[t] ^ 1; set_mask(t, to, (BUG != 1))
       :: SIGNALS == 2 -> to = mask[t] ^ 2; set_mask(t, to, (BUG != 1))
       :: atomic { /* migrate_thread */
            if
            :: to = (at[t] + 1) % KERNELS
            :: to = (at[t] + 2) % KERNELS
            fi;
            CHANNEL(at[t], to)!MOVE, t, (BUG == 3 -> 0 : hint[at[t]]), 0;
            at[t] = NOWHERE
          }
          at[t] != NOWHERE
       :: set_mask(t, BOTH, (BUG != 5)); /* exit_thread */
          atomic { at[t] = NOWHERE; alive[t] = false; due[t] = false; to = 0 }
          goto over
       fi;
       to = 0;
       goto user
    fi;

deliver: /* signal_deliver */
    if
    :: atomic {
        (hint[at[t]] & (BOTH - mask[t])) != 0 ->
            set = BOTH - mask[t];
            if
            :: BUG != 4 -> hint[at[t]] = hint[at[t]] & (BOTH - set)
            :: else
            fi
       }
    :: atomic { (hint[at[t]] & (BOTH - mask[t])) == 0 } goto user
    fi;
    if
    :: atomic { at[t] == HOME -> take_lowest(set, got[t]); to = pending }
       atomic { hint[HOME] = hint[HOME] | to; to = 0 }
    :: atomic { at[t] != HOME -> CHANNEL(at[t], HOME)!TAKE, t, set, 0 }
       atomic { answered[t] -> answered[t] = false }
    fi;
    if
    :: atomic { got[t] != 0 ->
        assert((got[t] & mask[t]) == 0);
        taken[got[t]]++;
        assert(taken[got[t]] == 1) }
       /* the handler masks its signal, and perhaps the other; it returns when the program lets it */
       if
       :: set_mask(t, (mask[t] | got[t]), (BUG != 8))
       :: set_mask(t, BOTH, (BUG != 8))
       fi;
       atomic { got[t] = 0; set = 0 }
       goto deliver
    :: atomic { got[t] == 0 -> set = 0 }
       goto user
    fi;

over:
    skip
}

proctype handler(byte k)
{
    byte from;
    byte a;
    byte b;
    byte left;
    mtype type;

end:
    do
    :: atomic {
        if
        :: CHANNEL(0, k)?type, a, b, left -> from = 0
        :: CHANNEL(1, k)?type, a, b, left -> from = 1
        :: CHANNEL(2, k)?type, a, b, left -> from = 2
        fi;
        if
        :: type == HINT ->
            hint[k] = hint[k] | a;
            choose(k, a, left);
            CHANNEL(k, HOME)!HINTED, 0, 0, 0
        :: type == HINTED -> hinted(from)
        :: type == RETARGET ->
            choose(k, (a & hint[HOME]), left);
            if
            :: left != 0 -> hint_others(left)
            :: else
            fi
        :: type == TAKEN ->
            if
            :: BUG == 4 -> hint[k] = hint[k] & mask[a]
            :: else
            fi;
            hint[k] = hint[k] | left;
            got[a] = b;
            answered[a] = true
        :: type == MOVE ->
            hint[k] = hint[k] | b;
            at[a] = k;
            if
            :: BUG != 2 -> look(a)
            :: else
            fi
        :: type == TAKE -> take_lowest(b, b); left = pending
        fi;
        if
        :: type != TAKE -> from = 0; a = 0; b = 0; left = 0
        :: else
        fi
       }
       if
       :: atomic { type == TAKE -> CHANNEL(HOME, from)!TAKEN, a, b, left; from = 0; a = 0; b = 0; left = 0; type = 0 }
       :: atomic { type != TAKE -> type = 0 }
       fi
    od
}

/* signal_send_group, twice; with AWAY for a thread of kernel 1, signal_send_process. */
proctype sender()
{
    byte one = 1;
    byte rest;
#ifdef AWAY
    byte told;
    byte late;
#endif

    do
    :: one <= SIGNALS ->
        atomic {
            pending = pending | one;
            hint[HOME] = hint[HOME] | pending;
            choose(HOME, one, rest);
            if
            :: BUG == 7 && (at[0] == HOME || at[1] == HOME || at[2] == HOME) -> rest = 0
            :: else
            fi
        }
        if
#ifdef AWAY
        :: atomic { rest != 0 -> hint_one(2, rest); told = rest; rest = 0 }
           atomic { /* the answer, when the sender handles it */
            if
            :: BUG != 9 -> hint[1] = hint[1] | told; choose(1, told, late)
            :: else
            fi;
            late = 0;
            told = 0
           }
#else
        :: atomic { rest != 0 -> hint_others(rest) }
#endif
        :: rest == 0
        fi;
        one = one * 2
    :: one > SIGNALS -> break
    od
}

init {
    byte k;

    atomic {
        for (k : 0 .. THREADS - 1) {
            at[k] = k;
            alive[k] = true;
#ifdef MERGED
            mask[k] = (k == 1 -> 1 : BOTH);
#else
            if
            :: k < OPEN -> mask[k] = 0
            :: k > 0 -> mask[k] = BOTH
            fi;
#endif
            run thread(k);
            run handler(k)
        }
        run sender();
        k = 0
    }
    timeout;
    assert((!alive[0] || (pending & (BOTH - mask[0])) == 0) && (!alive[1] || (pending & (BOTH - mask[1])) == 0) &&
           (!alive[2] || (pending & (BOTH - mask[2])) == 0))
}
