/* An exclusive event of a file of one kernel, and sets of other kernels that wait for it; kernel/file/event/epoll.md has
 * the table, kernel/file/event/look.c and remote.c the functions that are named here. Each of the SETS is on a kernel of
 * its own, has the file with EPOLLEXCLUSIVE, level-triggered, and one WAITER, which takes one byte and goes. The WRITER
 * puts BYTES bytes into the file, one after the other: one; -DOTHER: two, and each set has an event of another file.
 *
 * An atomic step is a critical section of poll_lock at the file's kernel, or of what a handler or a waiter does at the
 * set's. The request (FILE_POLL) and the end of the arm before it are steps of the waiter; a message by which an event is
 * passed on may take longer than what is sent after it, as without memory. A notice goes on its own.
 *
 * Asserted: when nothing happens any more nobody waits while bytes lie in the file. -DGIVEUP: the first may give up: it
 * looks once more, and closes its set, or keeps it. -DDEATH: the kernel of the first set may die (one that dies after
 * it was told that the file is ready has had the event, as one that is killed then on one kernel). -DEXACT: all wait when the only byte
 * comes, and it stays: one wakes.
 *
 * Seeded bugs: 1 a set where no thread waits does not pass the event on; 2 nor does one that is closed; 3 nor does a set
 * that asks anew, whose last arm has taken the event after it was looked; 4 the arms of a dead kernel keep what they took;
 * 5 who gives up does not look once more; 6 the event is passed on although a thread has taken it; 7 a hook takes an event
 * that another has taken. */
#ifndef BUG
#define BUG 0
#endif
#ifdef EXACT
#define SETS 3
#else
#define SETS 2
#endif
#ifdef OTHER
#define BYTES 2
#else
#define BYTES 1
#endif
#define TOKENS 8

mtype = { NONE, ARMED, FIRED, PASS, END_PASS };

chan notice[SETS] = [3] of { byte };     /* NOTIFY: the token */
chan messages[SETS] = [3] of { mtype, byte }; /* FILE_POLL_END of a set: what, token */

byte bytes, written;
mtype arm[SETS * 2]; /* of the set's last two tokens */
byte arm_token[SETS * 2];
bool took[SETS * 2];

byte token[SETS];
bool news[SETS];    /* the set has had an event since its count was read */
bool chosen[SETS], waits[SETS], closed[SETS], dead[SETS], told[SETS], heard[SETS];
byte woken, waiting;

#define SLOT(i, t) ((i) * 2 + (t) % 2)

/* fire_hooks(): in the order of the list, here of the sets, the older arm first */
inline fire()
{
    one = false;
    for (n : 0 .. SETS * 2 - 1) {
        if
        :: arm[n] == ARMED && bytes > 0 && (!one || BUG == 7) ->
            arm[n] = FIRED;
            took[n] = true;
            one = true;
            notice[n / 2]!arm_token[n]
        :: else
        fi
    }
    n = 0
}

/* disarm() with POLL_END (what == NONE), POLL_PASS or POLL_END_PASS */
inline disarm(i, t, what)
{
    if
    :: arm[SLOT(i, t)] != NONE && arm_token[SLOT(i, t)] == t ->
        pass = took[SLOT(i, t)] && what != NONE;
        if
        :: pass || what != PASS -> took[SLOT(i, t)] = false
        :: else
        fi;
        if
        :: what != PASS -> arm[SLOT(i, t)] = NONE
        :: else
        fi;
        if
        :: pass -> fire()
        :: else
        fi;
        pass = false
    :: else
    fi
}

proctype writer()
{
    byte n;
    bool one;

#ifdef EXACT
    waiting == SETS;
#endif
    do
    :: written < BYTES -> atomic { bytes++; written++; fire() }
    :: else -> break
    od
}

/* handle_end() for set I, and notified() and notify_set() there */
proctype kernel(byte i)
{
    byte n, t;
    bool one, pass, takes, other;
    mtype what;

end:
    do
    :: atomic { messages[i]?what, t -> disarm(i, t, what) }
    :: atomic {
        notice[i]?t ->
        if
        :: !dead[i] && !closed[i] && t == token[i] ->
            takes = waits[i] && !chosen[i]; /* epoll_takes() */
            chosen[i] = chosen[i] || takes;
            if
            :: (!takes && BUG != 1) || BUG == 6 -> messages[i]!PASS, t
            :: else
            fi;
            heard[i] = true;
            news[i] = true
        :: else
        fi
       }
#ifdef OTHER
    :: atomic { !other -> other = true; news[i] = true }
#endif
    od
}

/* ask() */
inline ask(i)
{
    atomic {
        before = token[i];
        had = heard[i];
        heard[i] = false;
        token[i] = (token[i] + 1) % TOKENS; /* a notice with the last one finds nothing */
        chosen[i] = false;
        news[i] = false
    }
    atomic { /* look() at the file's kernel */
        ready = bytes > 0;
        told[i] = ready;
        if
        :: !ready ->
            assert(arm[SLOT(i, token[i])] == NONE);
            arm[SLOT(i, token[i])] = ARMED;
            arm_token[SLOT(i, token[i])] = token[i]
        :: else
        fi
    }
    atomic {
        if
        :: ready || had || BUG == 3 -> disarm(i, before, NONE)
        :: else -> disarm(i, before, END_PASS)
        fi
    }
}

proctype waiter(byte i)
{
    byte n, before;
    bool one, pass, ready, over, had;

    {
        do
        :: ask(i);
            if
            :: ready -> break
            :: over -> break
            :: else
            fi;
            atomic { waits[i] = true; waiting++ }
end:
            if
            :: atomic { news[i] -> waits[i] = false; waiting-- }
#ifdef GIVEUP
            :: atomic { i == 0 -> waits[i] = false; waiting--; over = true }
                if
                :: BUG == 5 -> break
                :: else
                fi
#endif
            fi
        od;
        atomic {
            if
            :: ready ->
                woken++;
#ifndef EXACT
                bytes = (bytes > 0 -> bytes - 1 : 0);
#endif
            :: else
            fi
        }
        if
        :: over && !ready -> skip /* the set stays open, and nobody waits */
        :: atomic {
            closed[i] = true;
            if
            :: BUG == 2 -> messages[i]!NONE, token[i]
            :: else -> messages[i]!END_PASS, token[i]
            fi
           }
        fi
    } unless { dead[i] }
}

#ifdef DEATH
/* poll_lost() */
proctype death()
{
    byte n;
    bool one, pass;

    atomic { dead[0] = true; waiting = (waits[0] -> waiting - 1 : waiting); waits[0] = false }
    atomic {
        if
        :: BUG == 4 -> disarm(0, 0, NONE); arm[0] = NONE; arm[1] = NONE; took[0] = false; took[1] = false
        :: else ->
            disarm(0, arm_token[0], END_PASS);
            disarm(0, arm_token[1], END_PASS)
        fi
    }
}
#endif

proctype settled()
{
    timeout;
#ifdef EXACT
    assert(woken == 1)
#else
    assert(bytes == 0 || waiting == 0 || (dead[0] && told[0]))
#endif
}

init
{
    byte i;

    atomic {
        for (i : 0 .. SETS * 2 - 1) {
            arm[i] = NONE
        }
        for (i : 0 .. SETS - 1) {
            run kernel(i);
            run waiter(i)
        }
        run writer();
#ifdef DEATH
        run death();
#endif
        run settled()
    }
}
