/* The end of a group, or with EXEC exec at its home, while other groups use its memory (guests, vfork); tasks/exit/exit.md has
 * the tables. HOME has a thread and a guest, MEMBER a thread and a guest, which may make one more guest, and whose last pin may go
 * at any moment. With DEATH, MEMBER dies. With STOP, the home stops while the group is pinned and nothing is under way, and
 * MEMBER is its successor. With EXEC, a thread at the home execs, and may be killed.
 *
 * An atomic step is a critical section of group->lock, or a handler. One FIFO channel for each direction; what a member sends
 * after it has left the lock may be overtaken.
 *
 * Checked: memory that a guest or a thread uses is not freed, and afterwards nobody pins it; each round runs once; the group
 * ends, or exec is done, when the last pin is gone (an invalid end state), and a kill ends the wait of exec.
 *
 * Seeded bugs: 1 KILL's answer sets the member's bit and UNPINNED clears it; 2 the home looks at its own pins only; 3 the look for
 * pins and is_pinned are two steps; 4 who removes the last pin does not clear is_pinned; 5 a member answers KILL and notes that it
 * has told of pins in two steps; 6 who is no guest may pin memory of a group that ends; 7 a dead member keeps its bit; 8 a killed exec
 * forgets that KILL is answered; 9 the successor keeps its own bit. */
#ifndef BUG
#define BUG 0
#endif
#define HOME 0
#define MEMBER 1

mtype = { KILL, KILLED, KILLED_PINNED, UNPINNED, FREE, FREED };

chan to_home = [4] of { mtype };
chan to_member = [2] of { mtype };

/* at the home, wherever that is */
byte home = HOME;
bool exiting, pruning, is_pinned, is_quiet, away, executed, ended, over;
bool killed, freed; /* answered, by MEMBER or by its death */
bool asked;         /* MEMBER has KILL, or FREE, without an answer */
bool exec_woken;
byte second;        /* rounds begun */

/* on each kernel */
byte threads[2] = 1;
byte pins[2] = 1;
bool gone[2];  /* what it had of the memory is freed */
bool has_part = true; /* MEMBER is one */
bool exiting_there, kill_kept, told;
bool dead;

#define STANDS(k) ((k) == HOME || !dead)
#define no_pins (pins[home] == 0 && (BUG == 2 || !away))

/* unpinned_locked; an atomic step's part */
inline perhaps_unpinned()
{
    if
    :: is_pinned && no_pins ->
        if
        :: BUG != 4 -> is_pinned = false
        :: else
        fi;
        if
        :: pruning -> exec_woken = true
        :: else -> run rest()
        fi
    :: else
    fi
}

inline change(set)
{
    if
    :: BUG == 1 -> away = set
    :: else -> away = !away
    fi;
    perhaps_unpinned()
}

inline free_round()
{
    atomic {
        second++;
        assert(second == 1);
        freed = !has_part;
        asked = has_part;
        if
        :: has_part -> to_member!FREE
        :: else
        fi
    }
    freed;
    atomic {
        assert(pins[home] == 0);
        gone[home] = true
    }
}

proctype rest()
{
    free_round();
    ended = true;
    over = true
}

/* kill_round, but for the wait for the threads here */
inline kill_member()
{
    atomic {
        if
        :: is_quiet
        :: else ->
            killed = !has_part;
            asked = has_part;
            if
            :: has_part -> to_member!KILL
            :: else
            fi
        fi
    }
    killed;
    is_quiet = true
}

/* exit_run */
proctype ender()
{
    kill_member();
    threads[home] == 0;
    if
    :: BUG == 3 ->
        if
        :: no_pins -> run rest()
        :: else -> is_pinned = true
        fi
    :: else ->
        atomic {
            if
            :: no_pins -> run rest()
            :: else -> is_pinned = true
            fi
        }
    fi
}

/* exit_others, in the thread at the home */
proctype execs()
{
    bool pinned;

    kill_member();
    atomic {
        pinned = !no_pins;
        is_pinned = pinned
    }
    if
    :: !pinned
    :: pinned ->
        (exec_woken || exiting);
        atomic {
            pinned = is_pinned;
            is_pinned = false
        }
    fi;
    if
    :: !pinned -> free_round()
    :: else
    fi;
    atomic {
        pruning = false;
        is_quiet = pinned && BUG != 8;
        if
        :: !pinned -> has_part = false
        :: else
        fi;
        if
        :: exiting -> threads[HOME]--; second = 0; run ender()
        :: else -> assert(second == 1); executed = true; over = true
        fi
    }
}

proctype killer()
{
    if
    :: atomic { !executed -> exiting = true }
    :: skip
    fi
}

inline unpin(k)
{
    bool tells;

    atomic {
        if
        :: !STANDS(k) -> goto died
        :: else -> pins[k]--
        fi;
        tells = (k == MEMBER && home == HOME && pins[k] == 0 && told);
        if
        :: tells -> told = false
        :: else
        fi;
        if
        :: k == home -> perhaps_unpinned()
        :: else
        fi
    }
    atomic {
        if
        :: tells && STANDS(k) -> to_home!UNPINNED
        :: else
        fi;
        tells = false
    }
}

proctype guest(byte k; bool clones)
{
    do
    :: atomic { clones && STANDS(k) -> assert(pins[k] > 0); clones = false; pins[k]++; run guest(k, false) }
    :: break
    od;
    assert(!STANDS(k) || !gone[HOME] && !gone[MEMBER]);
    unpin(k);
died:
    skip
}

/* One who uses the memory for a moment, an audit perhaps. */
proctype user()
{
    atomic {
        if
        :: !exiting && !pruning && !executed || BUG == 6 -> pins[HOME]++
        :: else -> goto died
        fi
    }
    assert(!gone[HOME] && !gone[MEMBER]);
    unpin(HOME);
died:
    skip
}

proctype home_handler()
{
end:
    do
    :: atomic { to_home?KILLED -> killed = true; asked = false }
    :: atomic { to_home?KILLED_PINNED -> change(true); killed = true; asked = false }
    :: atomic { to_home?UNPINNED -> change(false) }
    :: atomic { to_home?FREED -> freed = true; asked = false }
    od
}

/* What answers a kept KILL, after the lock. */
proctype answers(bool pinned)
{
    if
    :: BUG == 5 -> told = pinned
    :: else
    fi;
    atomic {
        if
        :: !STANDS(MEMBER)
        :: STANDS(MEMBER) && pinned -> to_home!KILLED_PINNED
        :: STANDS(MEMBER) && !pinned -> to_home!KILLED
        fi
    }
}

inline answer()
{
    kill_kept = false;
    if
    :: BUG != 5 -> told = pins[MEMBER] > 0
    :: else
    fi;
    run answers(pins[MEMBER] > 0)
}

proctype member_handler()
{
end:
    do
    :: atomic { to_member?KILL ->
            if
            :: dead
            :: else ->
                assert(!exiting_there);
                exiting_there = true;
                kill_kept = true;
                if
                :: threads[MEMBER] == 0 -> answer()
                :: else
                fi
            fi
       }
    :: atomic { to_member?FREE ->
            if
            :: dead
            :: else ->
                assert(threads[MEMBER] == 0 && pins[MEMBER] == 0 && pins[HOME] == 0);
                gone[MEMBER] = true;
                to_home!FREED
            fi
       }
    od
}

proctype member_thread()
{
    atomic {
        exiting_there || dead ->
            threads[MEMBER]--;
            if
            :: kill_kept && !dead -> answer()
            :: else
            fi
    }
}

proctype home_thread()
{
    atomic { exiting -> threads[HOME]-- }
}

#ifdef DEATH
/* The fence, and STEP_LOST_END at the home: what is under way is dropped, and requests are completed. */
proctype death()
{
    if
    :: skip
    :: atomic {
            dead = true;
            do
            :: nempty(to_home) -> to_home?_
            :: empty(to_home) -> break
            od;
            has_part = false;
            pins[MEMBER] = 0;
            killed = killed || asked;
            freed = freed || asked;
            asked = false;
            if
            :: BUG != 7 -> away = false; perhaps_unpinned()
            :: else
            fi
       }
    fi
}
#endif

#ifdef STOP
/* Programs are quiesced: the group is pinned, and nothing is under way. HOME's guest has left. */
proctype stop()
{
    if
    :: skip
    :: atomic {
            is_pinned && pins[HOME] == 0 && empty(to_home) && empty(to_member) && told == away ->
                home = MEMBER;
                has_part = false;
                told = false;
                if
                :: BUG != 9 -> away = false
                :: else
                fi
       }
    :: timeout
    fi
}
#endif

init
{
    atomic {
#ifdef EXEC
        pruning = true;
        run execs();
        run killer();
#else
        exiting = true;
        run home_thread();
        run ender();
#endif
        run home_handler();
        run member_handler();
        run member_thread();
        run guest(HOME, false);
        run guest(MEMBER, true);
        run user();
#ifdef DEATH
        run death();
#endif
#ifdef STOP
        run stop()
#endif
    }
    over;
    assert(pins[HOME] == 0 && (dead || pins[MEMBER] == 0) && !away)
}
