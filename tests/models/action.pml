/* Signal actions that a kernel which is not the home of the process remembers; tasks/signal/signal.md has the tables,
 * tasks/signal/action_cache.c the code. Kernel 0 is the home, whose lock is an atomic step; TAKER takes signals on another
 * kernel, and SETTER, on a third one, sets actions; RESETTER takes a signal at home, which resets the action.
 *
 * An action is a number that grows; ONCE says that it has SA_RESETHAND, so that it becomes DEFAULT when it is taken.
 *
 * Asserted: an action that is taken is not older than the last one whose sigaction had returned when the taking began; an
 * action with SA_RESETHAND is taken once.
 *
 * Seeded bugs: 1 the count does not grow when an action is set; 2 the stamp is read after the lock is released; 3 the count
 * grows before the action changes, without the lock; 4 an action with SA_RESETHAND is remembered; 5 an answer that is older
 * than another is remembered under the later stamp. */
#ifndef BUG
#define BUG 0
#endif
#define DEFAULT 100
#define TAKES 3
#define SETS 2

byte action = 1, count = 1; /* the home's; count is on its board */
bool once;
byte returned = 1; /* the last action whose sigaction has returned */
byte resets;       /* times that the action that is reset was taken */
byte known, stamp; /* what the taker's kernel remembers; stamp 0: nothing */
byte over;

inline home_take(what, when, reset)
{
    atomic {
        what = action;
        when = count;
        reset = once;
        if
        :: once ->
            action = DEFAULT;
            once = false;
            resets++ /* nobody remembers it, so the count may stay */
        :: else
        fi
    };
#if BUG == 2
    when = count
#endif
}

proctype taker()
{
    byte takes, what, when, least;
    bool reset;

    do
    :: takes < TAKES ->
        atomic { takes++; least = returned };
        if
        :: atomic { stamp == count -> what = known; resets = resets + (what == 9 -> 1 : 0) }
        :: true -> /* TAKE_ACTION; or SIGNAL_TAKE, which was asked although an answer to another has come since */
            home_take(what, when, reset);
            if
            :: !reset || BUG == 4 ->
                atomic { known = what; stamp = (BUG == 4 && reset -> count : when) }
            :: else
            fi
        fi;
        assert(what == DEFAULT || what >= least);
        atomic { what = 0; when = 0; reset = false }
    :: takes == TAKES -> break
    od;
    over++
}

/* A second thread of the taker's kernel, whose question is under way at the same time. */
proctype other()
{
    byte what, when;
    bool reset;

    home_take(what, when, reset);
#if BUG == 5
    atomic { !reset -> known = what; stamp = count } /* whatever it was then */
#else
    if
    :: !reset -> atomic { known = what; stamp = when }
    :: reset
    fi;
#endif
    over++
}

proctype setter()
{
    byte next = 2;

    do
    :: next < 2 + SETS ->
#if BUG == 3
        count++;
        action = next;
#else
        atomic { action = next; once = false; count = (BUG != 1 -> count + 1 : count) };
#endif
        returned = next;
        next++
    :: next == 2 + SETS -> break
    od;
    atomic { action = 9; once = true; count++ }; /* with SA_RESETHAND */
    returned = 9;
    over++
}

init {
    atomic { run taker(); run other(); run setter() };
    over == 3;
    assert(resets <= 1)
}
