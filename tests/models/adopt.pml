/* A process of kernel D ends, and gives its child, at home on H, to a reaper at home on S (tasks/process/process.md): ADOPT
 * makes the reaper's entry, NEW_PARENT tells the child, and if that has ended meanwhile its end is forwarded. D may die
 * after any step; what it has sent and nobody has taken is lost then. Kernel 0 has S and H fence it, end what was there,
 * and, when nothing is under way, look at what is left (STEP_LOST_DROP): H reports zombies once more, S asks H whose the
 * child is that was promised to it. The child ends at any time but then. The reaper waits for children that have ended.
 *
 * H lives here, and the reaper does not end: `test-death vfork-reaper` has a child at home on D and a reaper that ends.
 *
 * Promises, asserted: a child that has the reaper as its parent is never without an entry when it reports its end; when
 * nothing can happen any more, the child is forgotten, once, and the reaper has no entry.
 *
 * Seeded bugs: 1 S keeps what was promised; 2 S forgets it without asking; 3 H does not report zombies again; 4 S asks
 * before H has fenced D; 5 a child of a process there keeps it as its parent. */
#ifndef BUG
#define BUG 0
#endif

mtype = { ADOPT, NEW_PARENT, END, GIVER, REAPER, INIT };

chan d_to_s = [1] of { mtype };
chan d_to_h = [1] of { mtype };
chan s_to_d = [1] of { bool };
chan h_to_d = [1] of { bool };
chan h_to_s = [1] of { mtype };
chan s_to_h = [1] of { bool };

bool dead;                 /* D's CPUs stand */
bool fenced_s, fenced_h;   /* S and H drop what D sends */
bool lost_s, lost_h;       /* they have done STEP_LOST_END */
bool frozen, settled_s, settled_h, cleaned;

bool entry, entry_ended;   /* at S */
mtype parent = GIVER;      /* at H */
bool known = true, zombie;
bool reporting;            /* the child's end is not answered */

inline forget()
{
    assert(known);
    known = false;
    zombie = false
}

/* Each step of D is atomic with the look whether it has died. */
proctype giver()
{
    bool ended;

    if
    :: atomic { !dead -> d_to_s!ADOPT }
    :: dead -> goto out
    fi;
    if
    :: atomic { !dead && nempty(s_to_d) -> s_to_d?ended; d_to_h!NEW_PARENT }
    :: dead -> goto out
    fi;
    if
    :: atomic { !dead && nempty(h_to_d) -> h_to_d?ended }
    :: dead -> goto out
    fi;
    if
    :: atomic { !dead && ended -> d_to_s!END }
    :: !ended
    :: dead
    fi;
out:
    skip
}

proctype s_handler()
{
    mtype what;

end:
    do
    :: atomic {
        !fenced_s && nempty(d_to_s) -> d_to_s?what;
            if
            :: what == ADOPT -> entry = true; s_to_d!true
            :: what == END && entry -> entry_ended = true
            :: else
            fi
       }
    :: atomic {
        h_to_s?END ->
            assert(entry); /* it has been told that its parent is the reaper */
            if
            :: entry -> entry_ended = true; s_to_h!true
            :: else -> s_to_h!false
            fi
       }
    :: atomic { entry && entry_ended && (!frozen || cleaned) -> /* waitpid, and REAPED */
            entry = false;
            if
            :: known && zombie -> forget()
            :: else
            fi
       }
    od
}

proctype h_handler()
{
end:
    do
    :: atomic {
        !fenced_h && nempty(d_to_h) -> d_to_h?NEW_PARENT;
            if
            :: known -> parent = REAPER
            :: else
            fi;
            h_to_d!zombie
       }
    od
}

/* The child ends, when programs run. */
proctype child()
{
    mtype told;
    bool keep;

    atomic { !frozen || cleaned -> zombie = true; told = parent; reporting = true }
    if
    :: told == REAPER -> h_to_s!END; s_to_h?keep
    :: told == INIT -> keep = false
    :: told == GIVER && !fenced_h -> keep = true  /* it is ending: whoever gets the child is told */
    :: told == GIVER && fenced_h -> keep = false  /* EHOSTDOWN */
    fi;
    atomic {
        if
        :: !keep && known && zombie && parent == told -> forget()
        :: else
        fi;
        reporting = false
    }
}

proctype dying()
{
    if
    :: dead = true
    :: goto out
    fi;
    /* in any order, on two kernels */
    do
    :: atomic { !fenced_s -> fenced_s = true; do :: nempty(d_to_s) -> d_to_s?_ :: empty(d_to_s) -> break od }
    :: atomic { !fenced_h -> fenced_h = true; do :: nempty(d_to_h) -> d_to_h?_ :: empty(d_to_h) -> break od }
    :: atomic { fenced_h && !lost_h -> lost_h = true;
            if
            :: known && parent == GIVER && BUG != 5 -> parent = INIT;
                if
                :: zombie -> forget()
                :: else
                fi
            :: else
            fi
       }
    :: atomic { fenced_s && !lost_s -> lost_s = true;
            if
            :: BUG == 4 && entry && !entry_ended && parent != REAPER -> entry = false
            :: else
            fi
       }
    :: lost_s && lost_h -> break
    od;
    atomic { !reporting && empty(h_to_s) && empty(s_to_h) -> frozen = true }
    do
    :: atomic { !settled_s -> settled_s = true;
            if
            :: BUG != 1 && BUG != 4 && entry && !entry_ended && (!(known && parent == REAPER) || BUG == 2) -> entry = false
            :: else
            fi
       }
    :: atomic { !settled_h -> settled_h = true;
            if
            :: known && zombie && parent == REAPER && BUG != 3 ->
                if
                :: entry -> entry_ended = true
                :: else -> forget()
                fi
            :: else
            fi
       }
    :: settled_s && settled_h -> break
    od;
    cleaned = true;
out:
    skip
}

init
{
    atomic {
        run giver();
        run s_handler();
        run h_handler();
        run child();
        run dying()
    }
    /* nothing can happen any more */
    timeout ->
        assert(!known && !entry)
}
