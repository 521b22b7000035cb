/* One thread of one group moves between three kernels while the group may be killed at any time; tasks/migration.md and
 * tasks/exit.md have the tables. Kernel 0 is the home, and where the thread begins.
 *
 * Each kernel is two processes, as on an instance with several CPUs: HANDLER takes messages one by one, TASK is the
 * thread's incarnation there. An atomic step is a critical section of group->lock. One FIFO channel per ordered pair.
 *
 * Checked: no two kernels run the thread at once; it is never lost (a lost one leaves a process that waits for ever, an
 * invalid end state); a kernel frees only when no thread is left in the machine, and nothing arrives after that.
 *
 * Seeded bugs: 1 an answer is not matched with its departure; 2 KILL is answered while threads are left; 3 a kernel that
 * does not know the group forgets a KILL (no tombstone); 4 an answer that comes after KILL leaves a shadow that nobody wakes;
 * 5 an exiting kernel takes an arrival. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define HOME 0
#define HOPS 3
#define ROUTE (direct -> (hops == 1 -> 0 : hops / 2 + 1) : (hops + 1) % KERNELS) /* 0 1 0 2, or 0 1 2 0 */

#define CHANNEL(from, to) wire[(from) * KERNELS + (to)]

mtype = { MIGRATE, MIGRATED, REFUSED, GONE, EXITED, KILL, KILLED, FREE, FREED };
mtype:presence = { ABSENT, PRESENT, LEAVING, SHADOW };
mtype:disposition = { NONE, RETURN, EXIT, FAIL };

chan wire[9] = [4] of { mtype, byte }; /* the byte: MIGRATE and its answer, the departure's number at its sender */

mtype:presence presence[KERNELS];
mtype:disposition disposition[KERNELS];
byte move[KERNELS];
byte count[KERNELS];
bool exiting[KERNELS];
bool kill_waits[KERNELS];
bool freed[KERNELS];
byte running;  /* kernels that run the thread now */
byte hops;     /* moves so far: travels with the thread */
bool direct;   /* which of the two routes */
bool refused;  /* one arrival may find no memory */
bool ending;   /* the home's worker has work */
byte killed;   /* answers to KILL */
byte answered; /* answers to FREE */

/* Under the lock of kernel K: the thread there, if any, is told of the end. */
inline kick(k)
{
    if
    :: presence[k] == SHADOW -> disposition[k] = EXIT
    :: else
    fi
}

inline begin_end()
{
    if
    :: !exiting[HOME] ->
        exiting[HOME] = true;
        kick(HOME);
        ending = true
    :: else
    fi
}

/* The thread's last CPU at K has left its stack: exit_reap. */
inline reap(k)
{
    presence[k] = ABSENT;
    disposition[k] = NONE;
    count[k]--;
    if
    :: exiting[k] && count[k] == 0 && kill_waits[k] -> kill_waits[k] = false; CHANNEL(k, HOME)!KILLED, 0
    :: else
    fi
}

proctype task(byte k)
{
    byte to;

absent:
    if
    :: atomic { presence[k] == PRESENT -> assert(!freed[k]); running++; assert(running == 1) }
    :: freed[k] -> goto done
    fi;

user: /* thread_before_user, and what the program does next */
    if
    :: atomic { exiting[k] -> running--; reap(k) } goto absent
    :: !exiting[k] && hops < HOPS
    :: atomic { !exiting[k] && hops == HOPS -> running-- } goto exit
    fi;

    /* migrate_thread: the group may be told of its end since the look above */
    atomic {
        to = ROUTE;
        running--;
        presence[k] = LEAVING;
        move[k]++;
        CHANNEL(k, to)!MIGRATE, move[k];
        to = 0
    }
    /* sleep_as_shadow */
    if
    :: atomic { disposition[k] == EXIT -> reap(k) } goto absent
    :: atomic {
        disposition[k] == RETURN || disposition[k] == FAIL ->
            disposition[k] = NONE;
            presence[k] = PRESENT;
            running++;
            assert(running == 1)
       }
       goto user
    fi;

exit: /* exit_thread: the shadows elsewhere first, then the home */
    atomic {
        CHANNEL(k, (k + 1) % KERNELS)!GONE, 0;
        CHANNEL(k, (k + 2) % KERNELS)!GONE, 0;
        if
        :: k == HOME -> begin_end()
        :: else -> CHANNEL(k, HOME)!EXITED, 0
        fi
    }
    atomic { reap(k) }
    goto absent;

done:
    skip
}

proctype handler(byte k)
{
    byte from;
    byte number;
    mtype type;
    mtype answer;

    do
    :: atomic {
        if
        :: CHANNEL(0, k)?type, number -> from = 0
        :: CHANNEL(1, k)?type, number -> from = 1
        :: CHANNEL(2, k)?type, number -> from = 2
        fi;
        answer = 0;
        if
        :: type == MIGRATE ->
            assert(!freed[k]);
            if
            :: exiting[k] && BUG != 5 -> answer = REFUSED
            :: !(exiting[k] && BUG != 5) && presence[k] == ABSENT ->
                if
                :: hops++; presence[k] = PRESENT; count[k]++; answer = MIGRATED
                :: direct && !refused -> refused = true; answer = REFUSED
                fi
            :: else -> /* a shadow, or one whose own answer is still on its way */
                assert(presence[k] != PRESENT && disposition[k] == NONE);
                hops++;
                disposition[k] = RETURN;
                answer = MIGRATED
            fi
        :: type == MIGRATED || type == REFUSED ->
            if
            :: presence[k] == LEAVING && disposition[k] == NONE && (move[k] == number || BUG == 1) ->
                if
                :: type == REFUSED -> disposition[k] = FAIL
                :: type == MIGRATED ->
                    presence[k] = SHADOW;
                    if
                    :: exiting[k] && BUG != 4 -> disposition[k] = EXIT
                    :: else
                    fi
                fi
            :: else /* late */
            fi
        :: type == GONE ->
            if
            :: presence[k] == SHADOW || presence[k] == LEAVING -> disposition[k] = EXIT
            :: else
            fi
        :: type == EXITED -> begin_end()
        :: type == KILL ->
            exiting[k] = !(BUG == 3 && count[k] == 0);
            if
            :: count[k] == 0 || BUG == 2 -> answer = KILLED
            :: else -> kill_waits[k] = true
            fi;
            kick(k)
        :: type == KILLED -> killed++
        :: type == FREE ->
            assert(count[k] == 0);
            freed[k] = true;
            answer = FREED
        :: type == FREED -> answered++
        fi;
        if
        :: answer != 0 && answer != MIGRATED -> CHANNEL(k, from)!answer, number; answer = 0
        :: else
        fi;
        if
        :: answer == 0 -> from = 0; number = 0
        :: else
        fi;
        type = 0
       }
       if
       :: atomic { answer != 0 -> CHANNEL(k, from)!answer, number; answer = 0; from = 0; number = 0 }
       :: answer == 0
       fi
    :: atomic { freed[k] && empty(CHANNEL(0, k)) && empty(CHANNEL(1, k)) && empty(CHANNEL(2, k)) &&
                freed[0] && freed[1] && freed[2] -> break }
    od
}

/* The home's worker: run_end. */
proctype worker()
{
    atomic {
        ending;
        CHANNEL(HOME, 1)!KILL, 0;
        CHANNEL(HOME, 2)!KILL, 0
    }
    atomic {
        killed == 2 && count[HOME] == 0;
        assert(running == 0 && count[1] == 0 && count[2] == 0);
        CHANNEL(HOME, 1)!FREE, 0;
        CHANNEL(HOME, 2)!FREE, 0
    }
    atomic {
        answered == 2;
        freed[HOME] = true
    }
}

/* Somebody ends the group, at any time or never. */
proctype killer()
{
    if
    :: atomic { begin_end() }
    :: true
    fi
}

init {
    byte k;

    atomic {
        for (k : 0 .. KERNELS - 1) {
            presence[k] = ABSENT;
            disposition[k] = NONE
        }
        if
        :: direct = true
        :: direct = false
        fi;
        presence[HOME] = PRESENT;
        count[HOME] = 1;
        for (k : 0 .. KERNELS - 1) {
            run task(k);
            run handler(k)
        }
        run worker();
        run killer();
        k = 0
    }
}
