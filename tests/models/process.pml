/* A child that ends, its parent, which may be killed at any time, and two threads of the parent on other kernels that wait
 * for the child; tasks/process/process.md has the tables. PARENT is the parent's home, CHILD the child's. Init takes no step: what is
 * given to it vanishes when it has ended; a reaper that gets the child waits for it.
 *
 * An atomic step is a critical section of one group's lock, or a handler. One FIFO channel per ordered pair of kernels; a
 * task that asks sleeps until the handler of its kernel has the answer. Waiting for an event is taken as given (watch.md).
 *
 * Checked: the child's id is forgotten exactly once, and in the end it is (an id that stays is an assertion of the monitor); one
 * waiter at most gets the child, and nobody waits for ever (an invalid end state); what is said to a child reaches
 * no later process of the same id.
 *
 * Seeded bugs: 1 a parent that ends keeps a child's end, and gives the child to nobody; 2 a zombie that is given to init stays; 3 the child is a
 * zombie only after its parent was told; 4 a waiter is killed before it says REAPED; 5 the end does not look whether REAPED or
 * NEW_PARENT was there before; 6 news of a stop that comes late replaces the end; 7 a waiter waits for events after its wait
 * began, not after its look; 8 a parent that ends says that it does not keep a
 * child whose end it is told; 9 the end does not look whether a reaper has been told meanwhile; 10 a reaper is not told of the end of what it gets;
 * 11 the child is out of the list before it has another parent. */
#ifndef BUG
#define BUG 0
#endif
#define WAITERS 2

mtype = { EVENT, STOPPED, NEW_PARENT, WAIT, REAPED, ANSWER, DONE, TAKEN, NONE, NO_CHILD };
mtype:code = { NOTHING, STOP, END };

chan to_parent = [3] of { mtype };            /* child's home to parent's home */
chan to_child = [3] of { mtype, bool };       /* and back */
chan wait_call[WAITERS] = [1] of { mtype };   /* a waiter's kernel to the parent's home */
chan wait_answer[WAITERS] = [1] of { mtype, byte };
chan reap_call[WAITERS] = [1] of { mtype };   /* to the child's home */
chan reap_answer[WAITERS] = [1] of { mtype };

/* at the parent's home */
bool listed = true; /* the parent has an entry for the child */
mtype:code code = NOTHING;
byte events;
bool exiting;
bool gone;          /* the parent is not known any more */
byte waiting = WAITERS;

/* at the child's home */
bool known = true;
bool zombie;
bool orphan;
bool reborn; /* its id belongs to another process */
bool told, keep, adopted;
bool heir;      /* its parent is a reaper now, no init */
bool heir_told; /* which knows that it has ended */
bool exempt;    /* and has waited for it */
byte reaped;

inline forget()
{
    assert(known);
    known = false;
    zombie = false
}

proctype parent_handler()
{
    byte i;

end:
    do
    :: atomic {
        to_parent?EVENT ->
            if
            :: gone || !listed -> to_child!ANSWER, false
            :: !gone && listed && exiting -> /* whoever gets it is told */
                listed = (BUG != 1);
                to_child!ANSWER, BUG != 8
            :: else ->
                code = END;
                events++;
                if
                :: to_child!ANSWER, true
                :: !exiting -> listed = false; to_child!ANSWER, false /* SIGCHLD is ignored */
                fi
            fi
       }
    :: atomic {
        to_parent?STOPPED ->
            if
            :: listed && !exiting && (code != END || BUG == 6) -> code = STOP; events++
            :: else
            fi
       }
    :: atomic {
        nempty(wait_call[0]) || nempty(wait_call[1]) ->
            if
            :: nempty(wait_call[0]) -> i = 0
            :: nempty(wait_call[1]) -> i = 1
            fi;
            wait_call[i]?WAIT;
            assert(!gone);
            if
            :: !listed -> wait_answer[i]!NO_CHILD, 0
            :: listed && code == END -> listed = false; wait_answer[i]!TAKEN, 0
            :: else -> wait_answer[i]!NONE, events
            fi;
            i = 0
       }
    od
}

proctype child_handler()
{
    bool value;
    byte i;

end:
    do
    :: atomic { to_child?ANSWER, value -> told = true; keep = value; value = false }
    :: atomic {
        to_child?NEW_PARENT, value ->
            assert(!reborn);
            orphan = true;
            heir = value;
            if
            :: known && zombie && heir -> heir_told = (BUG != 10)
            :: known && zombie && !heir && BUG != 2 -> forget()
            :: else
            fi;
            adopted = true /* its answer */
       }
    :: atomic {
        nempty(reap_call[0]) || nempty(reap_call[1]) ->
            if
            :: nempty(reap_call[0]) -> i = 0
            :: nempty(reap_call[1]) -> i = 1
            fi;
            reap_call[i]?REAPED;
            if
            :: known && zombie -> forget()
            :: else
            fi;
            reap_answer[i]!DONE;
            i = 0
       }
    :: atomic { !known && told && !reborn -> reborn = true } /* the id is given out again */
    od
}

/* process_ended */
proctype child()
{
    bool asks, over, asks_heir;

    atomic {
        zombie = (BUG != 3);
        asks = !orphan;
        asks_heir = heir
    }
    if
    :: asks ->
        to_parent!EVENT;
        atomic { told -> over = !keep }
    :: !asks && asks_heir -> atomic { heir_told = true; told = true }
    :: !asks && !asks_heir -> atomic { told = true; over = true }
    fi;
    if
    :: BUG == 3 -> zombie = true
    :: else
    fi;
    atomic {
        if
        :: over && (zombie || BUG == 5) && (asks_heir == heir || BUG == 9) -> forget()
        :: else
        fi
    }
}

/* A stop that was reported before the end, by another CPU, at any time. */
proctype stopper()
{
    if
    :: to_parent!STOPPED
    :: skip
    fi
}

proctype waiter(byte i)
{
    byte seen;

look:
    wait_call[i]!WAIT;
    if
    :: wait_answer[i]?TAKEN, seen ->
        atomic { reaped++; assert(reaped == 1) }
        if
        :: BUG == 4 && exiting
        :: else ->
            reap_call[i]!REAPED;
            reap_answer[i]?DONE
        fi
    :: wait_answer[i]?NO_CHILD, seen
    :: wait_answer[i]?NONE, seen ->
        if
        :: BUG == 7 -> seen = events
        :: else
        fi;
        if
        :: atomic { events > seen -> seen = 0 } goto look
        :: exiting
        fi
    fi;
    atomic { seen = 0; waiting-- }
}

/* A reaper that has got the child: it hears of its end once, and waits for it. */
proctype reaper()
{
end:
    atomic {
        heir_told && !exempt ->
            assert(known && zombie && !reborn);
            exempt = true;
            forget()
    }
}

/* The parent is killed, or not. */
proctype killer()
{
    if
    :: atomic { exiting = true }
       waiting == 0;
       /* children_give_away: out of the list when the child knows */
       if
       :: atomic { listed -> listed = (BUG != 11) }
          if
          :: to_child!NEW_PARENT, false
          :: to_child!NEW_PARENT, true
          fi
       :: atomic { !listed -> adopted = true }
       fi;
       adopted;
       listed = false;
       gone = true
    :: skip
    fi
}

init
{
    atomic {
        run parent_handler();
        run child_handler();
        run child();
        run stopper();
        run waiter(0);
        run waiter(1);
        run killer();
        run reaper()
    }
    /* nothing can happen any more */
    timeout ->
        assert(!known && waiting == 0)
}
