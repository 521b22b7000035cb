/* The locking strategy `lamport`; mm/lock/lamport.md has the rules and the tables. Three kernels, kernel 0 is the home of the space: each
 * has a task that takes a range of pages, a bit each, by asking every kernel that its own reaches, and frees it. Kernel 2 joins at any
 * time: first its space is published, then the home makes it a member, then its task begins. As -DSTART it cannot even be reached at
 * first; as -DCREW kernel 1 has the second task, and kernel 2 none; as -DALONE kernel 1 has neither a task nor the space, so the home
 * is alone until kernel 2 joins, and its task takes locks twice. A fault of kernel 2 may also be answered by the home without a lock,
 * when no request for the page is in the home's queues.
 *
 * Requests and words of freeing are in order per pair of kernels; answers arrive at any time, so one may pass requests that were
 * made before it. A handler's step is a critical section of space->lock. A kernel's clock is moved ahead by the times of requests it
 * takes, by the home's leave to join and by its start.
 *
 * Checked: no two tasks have ranges that overlap; every kernel that has mapped a page of the range is known as a member to whoever
 * enters; no deadlock, so everybody enters; when all is over no queue has an entry. As -DLIVE: every request is granted (ltl granted,
 * under weak fairness).
 *
 * -DSHORT: kernel 2's short way is in -DSTART and -DALONE only; in -DSTART the home's task takes no lock, in -DCREW
 * kernel 2 does not join, in -DLIVE it has no task.
 *
 * Seeded bugs: 1 a task enters without the last answer; 2 of equal times neither is older; 3 a page's request does not look at the
 * heavy queue; 4 the end of a request is told to members only; 5 a host answers before it has queued the request; 6 a host answers
 * although an older request of its own may not be queued by the asker; 7 it holds its answer back for younger ones, too; 8 what is heard
 * does not move the clock; 9 whom to ask is noted before the time is drawn; 10 a held answer is not looked at when the request that
 * held it is over; 11 a kernel without the space says that it has queued the request; 12 a kernel that is not a member yet answers
 * that it has not the space, but queues the request; 13 whoever enters takes for members those that have queued its request, not
 * those that the home named when it did. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define TASKS 4

#define PAGE_A 1
#define PAGE_B 2
#define BOTH 3 /* a range: heavy */
#define HEAVY 7

mtype = { REQUEST, FREED };

chan to[9] = [4] of { mtype, byte, byte, byte }; /* from * 3 + to: task, time, range */
byte answer[12];       /* task * 3 + from: 0 none on its way, 1 queued, 2 not here */

byte clock[KERNELS];
bool reached[KERNELS]; /* by all */
bool hosts[KERNELS];   /* its space is published */
bool member[KERNELS];  /* for the home */
byte mapped[KERNELS];  /* pages */

byte own_time[TASKS];  /* of the task's request; 0: none */
byte own_range[TASKS];
byte own_told[TASKS];  /* kernels, a bit each, that have queued it */
byte own_members[TASKS]; /* as the home said */
byte own_missing[TASKS];
bool inside[TASKS];
bool waits[TASKS];

byte queue_time[12];   /* kernel * 4 + task; 0: no entry */
byte queue_range[12];
bool held[12];         /* its answer is held back */

#define KERNEL(task) (task == 0 -> 0 : (task == 3 -> 2 : 1))
#define AT(kernel, task) ((kernel) * TASKS + (task))
#define BIT(kernel) (1 << (kernel))
#define EXCLUDES(a, b) ((a) == (b) || (BUG != 3 && ((a) & (b)) != 0))
#define OLDER(time, kernel, other_time, other_kernel) \
    ((time) < (other_time) || (BUG != 2 && (time) == (other_time) && (kernel) < (other_kernel)))

/* Entry OTHER of KERNEL's queues is older than TASK's, and excludes it. */
#define BEFORE(kernel, task, other) \
    (other != task && queue_time[AT(kernel, other)] != 0 && EXCLUDES(queue_range[AT(kernel, other)], own_range[task]) && \
     OLDER(queue_time[AT(kernel, other)], KERNEL(other), own_time[task], kernel))
#define FIRST(kernel, task) \
    !(BEFORE(kernel, task, 0) || BEFORE(kernel, task, 1) || BEFORE(kernel, task, 2) || BEFORE(kernel, task, 3))
/* Rule 3: the request of task OTHER of KERNEL holds back the answer to TASK's entry. */
#define HOLDS(kernel, task, other) \
    (KERNEL(other) == kernel && own_time[other] != 0 && BUG != 6 && (own_told[other] & BIT(KERNEL(task))) == 0 && \
     EXCLUDES(own_range[other], queue_range[AT(kernel, task)]) && \
     (BUG == 7 || OLDER(own_time[other], kernel, queue_time[AT(kernel, task)], KERNEL(task))))
#define HELD(kernel, task) \
    (HOLDS(kernel, task, 0) || HOLDS(kernel, task, 1) || HOLDS(kernel, task, 2) || HOLDS(kernel, task, 3))
#define KNOWS(kernel, task, other) \
    (other == kernel || (mapped[other] & own_range[task]) == 0 || \
     (kernel == 0 -> member[other] : ((BUG == 13 -> own_told[task] : own_members[task]) & BIT(other)) != 0))
#define MEMBERS (BIT(0) | (member[1] -> BIT(1) : 0) | (member[2] -> BIT(2) : 0))
#define HOME_HAS(task) ((queue_range[AT(0, task)] & PAGE_A) != 0)

inline answer_held_of(kernel, task)
{
    if
    :: held[AT(kernel, task)] && !HELD(kernel, task) -> held[AT(kernel, task)] = false; answer[task * 3 + kernel] = 1
    :: else
    fi
}

inline answer_held(kernel)
{
    answer_held_of(kernel, 0);
    answer_held_of(kernel, 1);
    answer_held_of(kernel, 2);
    answer_held_of(kernel, 3)
}

inline note_asked(kernel)
{
    asked = 0;
    if
    :: kernel == 0 && !member[1] && !member[2] /* alone */
    :: else -> asked = ((BIT(0) | BIT(1) | (reached[2] -> BIT(2) : 0)) & ~BIT(kernel))
    fi
}

/* To each kernel of SET. Until it is handled it may as well not have been sent. */
inline tell(kernel, type, set)
{
    if
    :: set & BIT(0) -> to[kernel * 3]!type, task, own_time[task], own_range[task]
    :: else
    fi;
    if
    :: set & BIT(1) -> to[kernel * 3 + 1]!type, task, own_time[task], own_range[task]
    :: else
    fi;
    if
    :: set & BIT(2) -> to[kernel * 3 + 2]!type, task, own_time[task], own_range[task]
    :: else
    fi
}

proctype locker(byte task; byte kernel; byte rounds)
{
    byte asked;

    do
    :: rounds > 0 ->
        member[kernel]; /* before it has joined nobody runs there */
#if BUG == 9
        note_asked(kernel);
#endif
        atomic {
            if
            :: own_range[task] = PAGE_A
            :: task == 1 -> own_range[task] = PAGE_B
            :: task == 2 -> own_range[task] = BOTH
            :: task == 0 -> own_range[task] = HEAVY
            fi;
            clock[kernel]++;
            own_time[task] = clock[kernel];
#if BUG != 9
            note_asked(kernel);
#endif
            own_missing[task] = (asked & 1) + ((asked >> 1) & 1) + ((asked >> 2) & 1);
            queue_time[AT(kernel, task)] = own_time[task];
            queue_range[AT(kernel, task)] = own_range[task];
            waits[task] = true;
            tell(kernel, REQUEST, asked);
            asked = 0
        }
        atomic {
            (own_missing[task] == 0 || (BUG == 1 && own_missing[task] == 1)) && FIRST(kernel, task);
            waits[task] = false;
            inside[task] = true;
            assert(!inside[0] || task == 0 || (own_range[0] & own_range[task]) == 0);
            assert(!inside[1] || task == 1 || (own_range[1] & own_range[task]) == 0);
            assert(!inside[2] || task == 2 || (own_range[2] & own_range[task]) == 0);
            assert(!inside[3] || task == 3 || (own_range[3] & own_range[task]) == 0);
            assert(KNOWS(kernel, task, 0) && KNOWS(kernel, task, 1) && KNOWS(kernel, task, 2));
            mapped[kernel] = mapped[kernel] | own_range[task]
        }
        atomic {
            inside[task] = false;
            own_time[task] = 0;
            queue_time[AT(kernel, task)] = 0;
            queue_range[AT(kernel, task)] = 0;
            if
            :: BUG != 10 -> answer_held(kernel)
            :: else
            fi;
            if
            :: BUG == 4 -> own_told[task] = own_told[task] & MEMBERS
            :: else
            fi;
            tell(kernel, FREED, own_told[task]);
            own_told[task] = 0;
            own_members[task] = 0;
            own_range[task] = 0;
            rounds--
        }
    :: else -> break
    od
}

/* What comes from kernel FROM. */
proctype handler(byte kernel; byte from)
{
    byte task, time, range;
    mtype type;

end:
    do
    :: atomic {
        to[from * 3 + kernel]?type, task, time, range;
        if
        :: type == FREED -> queue_time[AT(kernel, task)] = 0; queue_range[AT(kernel, task)] = 0
        :: type == REQUEST ->
            if
            :: BUG != 8 && clock[kernel] < time -> clock[kernel] = time
            :: else
            fi;
            if
            :: !hosts[kernel] -> answer[task * 3 + kernel] = (BUG == 11 -> 1 : 2)
            :: hosts[kernel] ->
#if BUG == 5
                if
                :: kernel == 0 -> own_members[task] = MEMBERS
                :: else
                fi;
                answer[task * 3 + kernel] = 1
#else
                queue_time[AT(kernel, task)] = time;
                queue_range[AT(kernel, task)] = range;
                if
                :: kernel == 0 -> own_members[task] = MEMBERS
                :: else
                fi;
                if
                :: HELD(kernel, task) -> held[AT(kernel, task)] = true
                :: else -> answer[task * 3 + kernel] = (BUG == 12 && !member[kernel] -> 2 : 1)
                fi
#endif
            fi
        fi
       }
#if BUG == 5
       atomic {
        if
        :: type == REQUEST && hosts[kernel] -> queue_time[AT(kernel, task)] = time; queue_range[AT(kernel, task)] = range
        :: else
        fi
       }
#endif
       atomic { task = 0; time = 0; range = 0; type = 0 }
    od
}

inline take_answer(kernel, task, from)
{
    if
    :: answer[task * 3 + from] == 1 -> own_told[task] = own_told[task] | BIT(from)
    :: else
    fi;
    answer[task * 3 + from] = 0;
    own_missing[task]--;
    answer_held(kernel)
}

#define TAKE(task, from) :: atomic { answer[task * 3 + from] != 0 -> take_answer(KERNEL(task), task, from) }

proctype answers()
{
end:
    do
    TAKE(0, 1)
    TAKE(0, 2)
    TAKE(1, 0)
    TAKE(1, 2)
    TAKE(2, 0)
    TAKE(2, 2)
    TAKE(3, 0)
    TAKE(3, 1)
    od
}

/* A fault of kernel 2 that the home answers without a lock: the fast path of mm/retrieve/retrieval.md. */
proctype short_way()
{
    atomic {
        member[2];
        if
        :: !HOME_HAS(0) && !HOME_HAS(1) && !HOME_HAS(2) && !HOME_HAS(3) -> mapped[2] = mapped[2] | PAGE_A
        :: skip
        fi
    }
}

proctype joins()
{
#ifdef START
    atomic { reached[2] = true; clock[2] = (clock[0] > clock[1] -> clock[0] : clock[1]) }
#endif
    hosts[2] = true;
    atomic {
        member[2] = true;
        if
        :: clock[2] < clock[0] -> clock[2] = clock[0]
        :: else
        fi
    }
}

init {
    atomic {
        reached[0] = true;
        reached[1] = true;
        hosts[0] = true;
        member[0] = true;
#ifndef START
        reached[2] = true;
#endif
#ifndef ALONE
        hosts[1] = true;
        member[1] = true;
#if !defined(START) || !defined(SHORT)
        run locker(0, 0, 1);
#endif
        run locker(1, 1, 1);
#ifdef CREW
        run locker(2, 1, 1);
#endif
#else
        run locker(0, 0, 2);
#endif
#if !defined(CREW) && !(defined(LIVE) && defined(SHORT))
        run locker(3, 2, 1);
#endif
#if !defined(CREW) || !defined(SHORT)
        run joins();
#endif
#if !defined(SHORT) || defined(START) || defined(ALONE)
        run short_way();
#endif
        run answers();
        run handler(0, 1);
        run handler(0, 2);
        run handler(1, 0);
        run handler(1, 2);
        run handler(2, 0);
        run handler(2, 1)
    }
    /* all is over: what has come has been handled */
    timeout;
    assert(!waits[0] && !waits[1] && !waits[2] && !waits[3]);
    byte i;
    for (i : 0 .. 11) {
        assert(queue_time[i] == 0 && !held[i])
    }
}

#ifdef LIVE
ltl granted { []((waits[0] -> <>!waits[0]) && (waits[1] -> <>!waits[1]) && (waits[3] -> <>!waits[3])) }
#endif
