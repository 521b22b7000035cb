/* One thread of one group moves between three kernels while the group may be killed at any time, or while one signal is
 * sent to it; tasks/migrate/migration.md, tasks/exit/exit.md and tasks/signal/signal.md have the tables. Kernel 0 is the home, and where the
 * thread begins; the others ask it before they host the group (JOIN).
 *
 * Each kernel is two processes, as on an instance with several CPUs: HANDLER takes messages one by one, TASK is the
 * thread's incarnation there. An atomic step is a critical section of group->lock. One FIFO channel per ordered pair.
 * SENDER is a task that follows the shadows, one look for each step. With SIGNAL it runs, without the group may be
 * killed: both at once are too many states.
 *
 * Checked: no two kernels run the thread at once; it is never lost (a lost one leaves a process that waits for ever, an
 * invalid end state); a kernel frees only when no thread is left in the machine, and nothing arrives after that; the
 * signal is taken once at most, and is nowhere but in the thread's queue until then.
 *
 * With EARLY, kernels other than the home may have no memory of the group; such a kernel frees and forgets when it answers KILL.
 *
 * -DSHORT: the thread moves twice, not three times.
 *
 * Seeded bugs: 1 an answer is not matched with its departure; 2 KILL is answered while threads are left; 3 the home lets
 * a kernel join while the group ends; 4 an answer that comes after KILL leaves a shadow that nobody wakes; 5 an exiting
 * kernel takes an arrival; 6 a return adds to the signals that the shadow kept; 7 the first arrival runs before the home
 * has answered; 8 a shadow takes the signal; 9 a kill overtakes a return, and the state that
 * came back is forgotten with what it holds; with EARLY also 10 a kernel with memory frees when it answers KILL, too; 11 the home
 * sends FREE to a kernel that has ended. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define HOME 0
#ifdef SHORT
#define HOPS 2
#else
#define HOPS 3
#endif
#define ROUTE (direct -> (hops == 1 -> 0 : hops / 2 + 1) : (hops + 1) % KERNELS) /* 0 1 0 2, or 0 1 2 0 */

#define CHANNEL(from, to) wire[(from) * KERNELS + (to)]

mtype = { MIGRATE, MIGRATED, REFUSED, JOIN, JOINED, BARRED, GONE, EXITED, KILL, KILLED, ENDED, FREE, FREED };
mtype:presence = { ABSENT, PRESENT, LEAVING, SHADOW };
mtype:disposition = { NONE, RETURN, EXIT, FAIL };

/* MIGRATE and its answer: the departure's number at its sender; MIGRATE: whether the signal travels with it */
chan wire[9] = [4] of { mtype, byte, bool };

mtype:presence presence[KERNELS];
mtype:disposition disposition[KERNELS];
byte move[KERNELS];
byte count[KERNELS];
bool exiting[KERNELS];
bool kill_waits[KERNELS];
bool freed[KERNELS];
bool empty_here[KERNELS]; /* it has no memory of the group */
bool ended[KERNELS];    /* it has ended its part when it answered KILL */
bool started[KERNELS];  /* the thread there may run: not while its kernel waits for the home's answer */
bool hosts[KERNELS];    /* the home's answer has come */
bool joining[KERNELS];
byte kept_from[KERNELS]; /* the MIGRATE that is answered after JOIN */
byte kept_number[KERNELS];
bool member[KERNELS];   /* known to the home */
byte went_to[KERNELS];
bool queue[KERNELS];    /* the signal is in the thread's queue there */
bool sent;
byte taken;
byte running;  /* kernels that run the thread now */
byte hops;     /* moves so far: travels with the thread */
bool direct;   /* which of the two routes */
bool brought[KERNELS]; /* the shadow has been given its state again, and has not run yet */
bool refused;  /* one arrival may find no memory */
bool ending;   /* the home's worker has work */
byte killed;   /* answers to KILL and FREE that are still to come */

/* Under the lock of kernel K: the thread there, if any, is told of the end. */
inline kick(k)
{
    if
    :: presence[k] == SHADOW && (disposition[k] == NONE || BUG == 9) -> disposition[k] = EXIT
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

/* K, which has no thread left, answers KILL. */
inline answer_kill(k, what)
{
    if
    :: empty_here[k] || BUG == 10 ->
        assert(empty_here[k] || running == 0);
        ended[k] = true;
        exiting[k] = false;
        hosts[k] = false;
        what = ENDED
    :: else -> what = KILLED
    fi
}

/* The thread's last CPU at K has left its stack: exit_reap. */
inline reap(k)
{
    presence[k] = ABSENT;
    disposition[k] = NONE;
    started[k] = false;
    queue[k] = false;
    count[k]--;
    if
    :: exiting[k] && count[k] == 0 && kill_waits[k] -> kill_waits[k] = false; answer_kill(k, word); CHANNEL(k, HOME)!word, 0, false; word = 0
    :: else
    fi
}

proctype task(byte k)
{
    byte to;
    mtype word;

absent:
    if
    :: atomic { presence[k] == PRESENT && started[k] -> assert(!freed[k]); running++; assert(running == 1) }
    :: freed[HOME] -> goto done
    fi;

user: /* thread_before_user, and what the program does next */
    if
    :: atomic { exiting[k] -> running--; reap(k) } goto absent
    :: atomic { !exiting[k] && queue[k] -> queue[k] = false; taken++; assert(taken == 1) } goto user
    :: !exiting[k] && hops < HOPS
    :: atomic { !exiting[k] && hops == HOPS -> running-- } goto exit
    fi;

    /* migrate_thread: the group may be told of its end since the look above */
    atomic {
        to = ROUTE;
        running--;
        presence[k] = LEAVING;
        move[k]++;
        went_to[k] = to;
        CHANNEL(k, to)!MIGRATE, move[k], queue[k]; /* the shadow keeps it too, in case the thread cannot leave */
        to = 0
    }
    /* sleep_as_shadow */
    if
    :: atomic { disposition[k] == EXIT -> assert(!brought[k]); reap(k) } goto absent
    :: atomic {
        disposition[k] == RETURN || disposition[k] == FAIL ->
            disposition[k] = NONE;
            brought[k] = false;
            presence[k] = PRESENT;
            running++;
            assert(running == 1)
       }
       goto user
    fi;

exit: /* exit_thread: the shadows elsewhere first, then the home */
    atomic {
        assert(!sent || taken == 1 || queue[k]);
        CHANNEL(k, (k + 1) % KERNELS)!GONE, 0, false;
        CHANNEL(k, (k + 2) % KERNELS)!GONE, 0, false;
        if
        :: k == HOME -> begin_end()
        :: else -> CHANNEL(k, HOME)!EXITED, 0, false
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
    bool signal;
    mtype type;
    mtype answer;

    do
    :: atomic {
        if
        :: CHANNEL(0, k)?type, number, signal -> from = 0
        :: CHANNEL(1, k)?type, number, signal -> from = 1
        :: CHANNEL(2, k)?type, number, signal -> from = 2
        fi;
        answer = 0;
        if
        :: type == MIGRATE ->
            assert(!freed[HOME]);
            if
            :: exiting[k] && BUG != 5 -> answer = REFUSED
            :: !(exiting[k] && BUG != 5) && presence[k] == ABSENT ->
                if
                :: hops++;
                    presence[k] = PRESENT;
                    queue[k] = signal;
                    count[k]++;
                    started[k] = hosts[k] || BUG == 7;
                    if
                    :: hosts[k] -> answer = MIGRATED
                    :: !hosts[k] ->
                        assert(!joining[k]);
                        joining[k] = true;
                        kept_from[k] = from;
                        kept_number[k] = number;
                        CHANNEL(k, HOME)!JOIN, 0, false
                    fi
                :: direct && !refused -> refused = true; answer = REFUSED
                fi
            :: else -> /* a shadow, or one whose own answer is still on its way */
                assert(presence[k] != PRESENT && disposition[k] == NONE);
                hops++;
                queue[k] = signal || (BUG == 6 && queue[k]);
                disposition[k] = RETURN;
                brought[k] = true;
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
        :: type == JOIN ->
            if
            :: exiting[HOME] && BUG != 3 -> answer = BARRED
            :: else -> member[from] = true; answer = JOINED
            fi
        :: type == JOINED -> /* KILL may have come before it */
            joining[k] = false;
            hosts[k] = true;
            started[k] = true;
            from = kept_from[k];
            number = kept_number[k];
            answer = MIGRATED
        :: type == BARRED ->
            joining[k] = false;
            presence[k] = ABSENT;
            queue[k] = false;
            count[k]--;
            from = kept_from[k];
            number = kept_number[k];
            answer = REFUSED
        :: type == GONE ->
            if
            :: presence[k] == SHADOW || presence[k] == LEAVING -> disposition[k] = EXIT
            :: else
            fi
        :: type == EXITED -> begin_end()
        :: type == KILL ->
            exiting[k] = true;
            if
            :: count[k] == 0 || BUG == 2 -> answer_kill(k, answer)
            :: else -> kill_waits[k] = true
            fi;
            kick(k)
        :: type == KILLED || type == FREED -> killed--
        :: type == ENDED -> killed--; member[from] = BUG == 11
        :: type == FREE ->
            assert(count[k] == 0 && !ended[k]);
            freed[k] = true;
            answer = FREED
        fi;
        if
        :: answer != 0 && answer != MIGRATED && answer != JOINED -> CHANNEL(k, from)!answer, number, false; answer = 0
        :: else
        fi;
        if
        :: answer == 0 -> from = 0; number = 0
        :: else
        fi;
        type = 0;
        signal = false
       }
       if
       :: atomic { answer != 0 -> CHANNEL(k, from)!answer, number, false; answer = 0; from = 0; number = 0 }
       :: answer == 0
       fi
    :: atomic { freed[HOME] && empty(CHANNEL(0, k)) && empty(CHANNEL(1, k)) && empty(CHANNEL(2, k)) -> break }
    od
}

inline to_members(what)
{
    if
    :: member[1] -> killed++; CHANNEL(HOME, 1)!what, 0, false
    :: else
    fi;
    if
    :: member[2] -> killed++; CHANNEL(HOME, 2)!what, 0, false
    :: else
    fi
}

/* The home's worker: run_end. */
proctype worker()
{
    atomic { ending; to_members(KILL) }
    atomic {
        killed == 0 && count[HOME] == 0;
        assert(running == 0);
        assert((!member[1] || count[1] == 0) && (!member[2] || count[2] == 0));
        to_members(FREE)
    }
    atomic {
        killed == 0;
        assert(running == 0);
        freed[HOME] = true
    }
}

/* thread_call with THREAD_SIGNAL: once, or never. */
proctype sender()
{
    byte at = HOME;

    do
    :: atomic {
        exiting[at] || freed[HOME] -> break /* ESRCH */
       }
    :: atomic {
        !exiting[at] && (presence[at] == PRESENT || (BUG == 8 && presence[at] != ABSENT)) ->
            queue[at] = true;
            sent = true;
            break
       }
    :: atomic { !exiting[at] && presence[at] == ABSENT && at == HOME -> break } /* it is over: ESRCH */
    :: atomic { !exiting[at] && presence[at] == ABSENT && at != HOME -> at = HOME }
    :: atomic { !exiting[at] && (presence[at] == LEAVING || presence[at] == SHADOW) && disposition[at] == NONE ->
        at = went_to[at] }
    :: break
    od
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
#ifdef EARLY
        if
        :: empty_here[1] = true
        :: empty_here[2] = true
        :: empty_here[1] = true; empty_here[2] = true
        fi;
#endif
        presence[HOME] = PRESENT;
        count[HOME] = 1;
        started[HOME] = true;
        hosts[HOME] = true;
        for (k : 0 .. KERNELS - 1) {
            run task(k);
            run handler(k)
        }
        run worker();
#ifdef SIGNAL
        run sender();
#else
        run killer();
#endif
        k = 0
    }
}
