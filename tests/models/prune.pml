/* Exec at the home of a group against a kill, against a second exec, and against threads that are made and that move; tasks/exit/exit.md
 * has the tables. HOME has the thread X that execs and L, which on another CPU makes a thread or execs, too. T begins on MEMBER
 * and makes a thread there, ends the group, or goes HOME or to THIRD, which does not host the group yet.
 *
 * An atomic step is a critical section of group->lock, or a handler. One FIFO channel per ordered pair of kernels.
 *
 * The threads at home are doomed one after the other (group_each_thread goes in slices): between two of them L runs on,
 * wants an exec of its own, makes a thread, or ends the group.
 *
 * Checked: behind exec X is the only thread, on one kernel; behind the end there is none; no other kernel has threads or
 * memory of the group left; the end runs once; KILL and FREE reach kernels that know the group; what a thread of the
 * old program said does not end the new one, nor exec; a thread that is refused because of exec does not go on in its
 * program; nobody waits for ever (an invalid end state).
 *
 * Seeded bugs: 1 a thread is put into a group that is pruned; 2 a kernel may join one; 3 a kill that comes while exec prunes is
 * forgotten; 4 a kill while exec prunes starts the end at once; 5 KILL is answered while threads are
 * left; 6 the end of the group is sent and not waited for; 7 exec leaves the members as they were; 8 a doomed
 * thread's exit_group ends the group; 9 the group counts as pruned only when all threads have been doomed; 10 a second exec is
 * refused, and its thread not doomed at once. */
#ifndef BUG
#define BUG 0
#endif
#define HOME 0
#define MEMBER 1
#define THIRD 2
#define CHANNEL(from, to) wire[(from) * 3 + (to)]
#define X 0
#define L 1
#define MADE 2
#define ARRIVED 3

mtype = { NEW, COUNTED, JOIN, JOINED, MIGRATE, TAKEN, REFUSED, EXIT, HEARD, KILL, KILLED, FREE, FREED };

chan wire[9] = [4] of { mtype };

/* at home */
bool here[4];
bool doomed[4];
byte count = 2;
bool exiting, pruning, ended, executed, quiet;
bool outside; /* somebody else wants the end */
byte quiet_count;
bool member[3];
byte ends;
byte killed, freed;

/* elsewhere */
bool has[3];     /* the group is there, with memory */
bool dying[3];
byte threads[3];
bool kill_waits[3];
bool joining;

/* what T waits for */
mtype answer = FREED;
mtype new_answer = FREED;

inline start_end()
{
    exiting = true;
    if
    :: pruning && BUG != 4
    :: else ->
        if
        :: !pruning ->
            quiet_count = 0;
            quiet = (count == 0)
        :: else
        fi;
        run worker()
    fi
}

inline begin_end()
{
    if
    :: !exiting -> start_end()
    :: else
    fi
}

inline count_down(id)
{
    here[id] = false;
    count--;
    if
    :: (exiting || pruning) && count == quiet_count -> quiet = true
    :: else
    fi
}

inline gone_from(k)
{
    threads[k]--;
    if
    :: threads[k] == 0 && kill_waits[k] -> kill_waits[k] = false; CHANNEL(k, HOME)!KILLED
    :: else
    fi
}

/* end_elsewhere: N kernels besides the home are asked */
inline two_rounds(n)
{
    d_step {
        killed = 0;
        freed = 0;
        n = (member[MEMBER] -> 1 : 0) + (member[THIRD] -> 1 : 0)
    }
    if
    :: member[MEMBER] -> CHANNEL(HOME, MEMBER)!KILL
    :: else
    fi;
    if
    :: member[THIRD] -> CHANNEL(HOME, THIRD)!KILL
    :: else
    fi;
    killed == n;
    quiet;
    if
    :: member[MEMBER] -> CHANNEL(HOME, MEMBER)!FREE
    :: else
    fi;
    if
    :: member[THIRD] -> CHANNEL(HOME, THIRD)!FREE
    :: else
    fi;
    freed == n
}

proctype worker()
{
    byte n;

    atomic { ends++; assert(ends == 1) }
    two_rounds(n);
    atomic { n = 0; ended = true }
}

/* A thread at home that only dies when it is told. */
proctype home_thread(byte id)
{
    atomic { exiting || doomed[id] -> count_down(id) }
}

/* X and, as it may, L: exit_others */
proctype execs(byte id)
{
    byte n;

    if
    :: atomic {
        exiting || pruning || doomed[id] -> /* refused: who the walk has not met is doomed here */
            if
            :: pruning && BUG != 10 -> doomed[id] = true
            :: else
            fi;
            assert(exiting || doomed[id])
       }
       atomic { exiting || doomed[id] -> count_down(id) }
    :: atomic {
        !exiting && !pruning && !doomed[id] ->
            pruning = (BUG != 9);
            quiet_count = 1;
            quiet = (count == 1)
       }
       do
       :: atomic {
            n < 4 ->
                doomed[n] = doomed[n] || (here[n] && n != id);
                n++
          }
       :: n == 4 -> break
       od;
       atomic {
            n = 0;
            pruning = true
       }
       two_rounds(n);
       atomic {
            n = 0;
            pruning = false;
            quiet = false;
            quiet_count = 0;
            if
            :: BUG != 7 -> member[MEMBER] = false; member[THIRD] = false
            :: else
            fi;
            if
            :: exiting && BUG != 3 && BUG != 4 -> assert(outside); run worker()
            :: exiting && (BUG == 3 || BUG == 4)
            :: !exiting ->
                executed = true;
                assert(count == 1 && threads[MEMBER] == 0 && threads[THIRD] == 0);
                assert(!has[MEMBER] && !has[THIRD])
            fi
       }
end_alone:
       atomic { exiting -> count_down(id) }
    :: id == L -> /* clone: counted and put in under one lock each */
       if
       :: atomic { exiting || pruning -> skip }
       :: atomic { !exiting && !pruning -> skip }
          atomic {
            if
            :: !exiting && (!pruning || BUG == 1) ->
                here[MADE] = true;
                count++;
                run home_thread(MADE)
            :: else
            fi
          }
       fi;
       atomic { exiting || doomed[id] -> count_down(id) }
    :: id == L -> /* exit_group */
       atomic {
            if
            :: !pruning || BUG == 8 -> begin_end()
            :: else
            fi
       }
       atomic { exiting || doomed[id] -> count_down(id) }
    fi
}

proctype killer()
{
    if
    :: atomic { outside = true; begin_end() }
    :: skip
    fi
}

proctype home_handler()
{
end:
    do
    :: atomic {
        CHANNEL(MEMBER, HOME)?NEW ->
            if
            :: exiting || pruning -> CHANNEL(HOME, MEMBER)!REFUSED
            :: else -> CHANNEL(HOME, MEMBER)!COUNTED
            fi
       }
    :: atomic {
        CHANNEL(MEMBER, HOME)?MIGRATE ->
            if
            :: exiting || (pruning && BUG != 1) -> CHANNEL(HOME, MEMBER)!REFUSED
            :: else ->
                here[ARRIVED] = true;
                count++;
                run home_thread(ARRIVED);
                CHANNEL(HOME, MEMBER)!TAKEN
            fi
       }
    :: atomic { CHANNEL(MEMBER, HOME)?EXIT ->
            assert(!executed);
            if
            :: !pruning || BUG == 8 -> begin_end()
            :: else
            fi;
            CHANNEL(HOME, MEMBER)!HEARD
       }
    :: atomic {
        CHANNEL(THIRD, HOME)?JOIN ->
            if
            :: exiting || (pruning && BUG != 2) -> CHANNEL(HOME, THIRD)!REFUSED
            :: else -> member[THIRD] = true; CHANNEL(HOME, THIRD)!JOINED
            fi
       }
    :: atomic { CHANNEL(MEMBER, HOME)?KILLED -> killed++ }
    :: atomic { CHANNEL(THIRD, HOME)?KILLED -> killed++ }
    :: atomic { CHANNEL(MEMBER, HOME)?FREED -> freed++ }
    :: atomic { CHANNEL(THIRD, HOME)?FREED -> freed++ }
    od
}

inline take_kill(k)
{
    assert(has[k]);
    dying[k] = true;
    if
    :: threads[k] > 0 && BUG != 5 -> kill_waits[k] = true
    :: else -> CHANNEL(k, HOME)!KILLED
    fi
}

inline take_free(k)
{
    assert(has[k] && dying[k] && threads[k] == 0);
    has[k] = false;
    dying[k] = false;
    CHANNEL(k, HOME)!FREED
}

proctype member_handler()
{
end:
    do
    :: atomic { CHANNEL(HOME, MEMBER)?COUNTED -> new_answer = COUNTED }
    :: atomic { CHANNEL(HOME, MEMBER)?HEARD -> new_answer = HEARD }
    :: atomic { CHANNEL(HOME, MEMBER)?TAKEN -> answer = TAKEN }
    :: atomic { CHANNEL(HOME, MEMBER)?REFUSED -> new_answer = REFUSED; answer = REFUSED }
    :: atomic { CHANNEL(THIRD, MEMBER)?TAKEN -> answer = TAKEN }
    :: atomic { CHANNEL(THIRD, MEMBER)?REFUSED -> answer = REFUSED }
    :: atomic { CHANNEL(HOME, MEMBER)?KILL -> take_kill(MEMBER) }
    :: atomic { CHANNEL(HOME, MEMBER)?FREE -> take_free(MEMBER) }
    od
}

proctype third_handler()
{
end:
    do
    :: atomic {
        CHANNEL(MEMBER, THIRD)?MIGRATE -> /* the first arrival: it waits for the home's answer */
            has[THIRD] = true;
            threads[THIRD]++;
            joining = true;
            CHANNEL(THIRD, HOME)!JOIN
       }
    :: atomic { CHANNEL(HOME, THIRD)?JOINED -> joining = false; run far_thread(THIRD); CHANNEL(THIRD, MEMBER)!TAKEN }
    :: atomic {
        CHANNEL(HOME, THIRD)?REFUSED ->
            joining = false;
            threads[THIRD]--;
            has[THIRD] = false;
            CHANNEL(THIRD, MEMBER)!REFUSED
       }
    :: atomic { CHANNEL(HOME, THIRD)?KILL -> take_kill(THIRD) }
    :: atomic { CHANNEL(HOME, THIRD)?FREE -> take_free(THIRD) }
    od
}

/* A thread on K that dies when it is told, running or a shadow. */
proctype far_thread(byte k)
{
    atomic { dying[k] -> gone_from(k) }
}

/* Its thread dies before the home has what it said. */
proctype late_exit()
{
    CHANNEL(MEMBER, HOME)!EXIT
}

proctype thread_t()
{
    if
    :: skip /* runs on */
    :: atomic { !dying[MEMBER] -> CHANNEL(MEMBER, HOME)!MIGRATE }
       answer != FREED /* a shadow, or back: either way it dies when it is told */
    :: atomic { !dying[MEMBER] -> CHANNEL(MEMBER, THIRD)!MIGRATE }
       answer != FREED
    :: atomic { !dying[MEMBER] && BUG != 6 -> CHANNEL(MEMBER, HOME)!EXIT }
       new_answer != FREED
    :: atomic { !dying[MEMBER] && BUG == 6 -> run late_exit() }
    :: atomic { !dying[MEMBER] -> CHANNEL(MEMBER, HOME)!NEW }
       new_answer != FREED;
       atomic {
            if
            :: new_answer == COUNTED && !dying[MEMBER] -> threads[MEMBER]++; run far_thread(MEMBER)
            :: else
            fi
       }
    fi;
    atomic { dying[MEMBER] -> gone_from(MEMBER) }
}

init
{
    atomic {
        here[X] = true;
        here[L] = true;
        member[MEMBER] = true;
        has[MEMBER] = true;
        threads[MEMBER] = 1;
        run home_handler();
        run member_handler();
        run third_handler();
        run thread_t();
        run execs(X);
        run execs(L);
        run killer()
    }
    timeout ->
        assert(threads[MEMBER] == 0 && threads[THIRD] == 0 && !has[MEMBER] && !has[THIRD]);
        assert(ended && count == 0 || executed && !exiting && count == 1)
}
