/* The locking strategy `home`; mm/lock/home.md has the tables. Three kernels, kernel 0 is the home of the space: it has one
 * task that takes locks, kernel 1 three, kernel 2 one. Every task for ever takes a range of pages, a bit each, asks the home one thing
 * while it holds the lock (as a fetch or a change does), and releases. A kernel has RESERVE credits for requests to the home
 * (in the code 1 to 16); a lock request that has to wait is kept, which gives its credit back. FIFO channels from and to the
 * home; the home's handler is a process, an atomic step a critical section of space->lock.
 *
 * Checked: no two tasks hold ranges that overlap; no deadlock; and, as -DLIVE, that whoever asks is granted
 * (ltl granted, under weak fairness).
 *
 * -DSHORT: kernel 1 has a task less, as -DLIVE two.
 *
 * Seeded bugs: 1 only equal ranges exclude each other; 2 a release looks at requests for its own range only; 3 a range passes another
 * that waits; 4 a lock request that waits is not kept: its credit is out until it is granted. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#define TASKS 5
#define RESERVE 1
#define QUEUE TASKS

#define PAGE_A 1
#define PAGE_B 2
#define BOTH 3 /* a range */
#define HEAVY 7

mtype = { LOCK, ASK, UNLOCK, GRANT, KEPT, ANSWER };

typedef request { byte key; byte task; bool granted };

chan to_home[KERNELS] = [6] of { mtype, byte, byte };    /* key, task (in the code: the request id) */
chan to_member[KERNELS] = [4] of { mtype, byte };        /* task */

request queue[QUEUE]; /* space->locks in order of arrival */
byte length;
byte holds[TASKS];    /* key, or 0 */
bool waits[TASKS];
bool granted[TASKS];  /* completion of a wait for the lock */
bool answered[TASKS]; /* completion of a wait for an answer */
byte outstanding[KERNELS];
bool kept[TASKS];     /* the credit of its lock request has come back */
bool credit[TASKS];   /* it has got a credit that it has not used */
chan line[KERNELS] = [2] of { byte }; /* tasks that wait for a credit, first come first */

#define KERNEL(task) (task == 0 -> 0 : (task == TASKS - 1 -> 2 : 1))
#define EXCLUDES(a, b) (a == b || (BUG != 1 && (a & b) != 0))

/* grant_if_first_locked: the request at place AT */
inline grant_if_first(at)
{
    before = 0;
    do
    :: before < at && !(EXCLUDES(queue[before].key, queue[at].key) && (BUG != 3 || queue[before].granted)) -> before++
    :: else -> break
    od;
    if
    :: before == at ->
        queue[at].granted = true;
        if
        :: queue[at].task == 0 -> granted[0] = true
        :: else -> to_member[KERNEL(queue[at].task)]!GRANT, queue[at].task
        fi
    :: else
    fi;
    before = 0
}

inline request_add(k, t)
{
    queue[length].key = k;
    queue[length].task = t;
    queue[length].granted = false;
    length++;
    grant_if_first(length - 1)
}

/* The first granted request of KERNEL for key K goes; then those behind are looked at. */
inline request_remove(k, kernel)
{
    place = 0;
    do
    :: queue[place].granted && queue[place].key == k && KERNEL(queue[place].task) == kernel -> break
    :: else -> place++; assert(place < length)
    od;
    length--;
    do
    :: place < length ->
        queue[place].key = queue[place + 1].key;
        queue[place].task = queue[place + 1].task;
        queue[place].granted = queue[place + 1].granted;
        place++
    :: else -> break
    od;
    queue[length].key = 0;
    queue[length].task = 0;
    queue[length].granted = false;
    place = 0;
    do
    :: place < length ->
        if
        :: !queue[place].granted && (BUG != 2 || queue[place].key == k) -> grant_if_first(place)
        :: else
        fi;
        place++
    :: else -> break
    od;
    place = 0
}

inline credit_take(t, kernel)
{
    if
    :: outstanding[kernel] < RESERVE -> outstanding[kernel]++; credit[t] = true
    :: else -> line[kernel]!t
    fi
}

inline credit_back(kernel)
{
    if
    :: line[kernel]?next -> credit[next] = true; next = 0
    :: empty(line[kernel]) -> outstanding[kernel]--
    fi
}

inline check_alone(t)
{
    other = 0;
    do
    :: other < TASKS ->
        assert(other == t || holds[other] == 0 ||
               (holds[other] & holds[t]) == 0);
        other++
    :: else -> break
    od;
    other = 0
}

proctype home_task()
{
    byte key, before, place, other;

end:
    do
    :: atomic {
        if
        :: key = PAGE_A
        :: key = HEAVY
        fi;
        waits[0] = true;
        request_add(key, 0)
       }
       atomic { granted[0]; granted[0] = false; waits[0] = false; holds[0] = key; check_alone(0) }
       atomic { holds[0] = 0; request_remove(key, 0); key = 0 }
    od
}

proctype member_task(byte task; byte kernel)
{
    byte key, other;

end:
    do
    :: atomic {
        if
        :: key = PAGE_A
        :: kernel == 2 -> key = PAGE_B
        :: task == 1 -> key = BOTH
        :: task != 2 -> key = HEAVY
        fi;
        waits[task] = true
       }
       atomic { credit_take(task, kernel) }
       atomic { credit[task]; credit[task] = false; to_home[kernel]!LOCK, key, task }
       atomic { granted[task]; granted[task] = false; waits[task] = false; holds[task] = key; check_alone(task) }
       atomic { credit_take(task, kernel) } /* while it holds the lock */
       atomic { credit[task]; credit[task] = false; to_home[kernel]!ASK, 0, task }
       atomic { answered[task]; answered[task] = false; holds[task] = 0; to_home[kernel]!UNLOCK, key, task; key = 0 }
    od
}

/* Replies reach the tasks of a kernel. */
proctype member_handler(byte kernel)
{
    byte task, next;

end:
    do
    :: atomic {
        to_member[kernel]?GRANT, task;
        if
        :: kept[task] -> kept[task] = false
        :: else -> credit_back(kernel)
        fi;
        granted[task] = true;
        task = 0
       }
    :: atomic { to_member[kernel]?KEPT, task; credit_back(kernel); kept[task] = true; task = 0 }
    :: atomic { to_member[kernel]?ANSWER, task; credit_back(kernel); answered[task] = true; task = 0 }
    od
}

/* One process for each kernel that sends: the home takes from its rings in turn. */
proctype home_handler(byte kernel)
{
    byte key, task, before, place;
    mtype type;

end:
    do
    :: atomic {
        to_home[kernel]?type, key, task;
        if
        :: type == LOCK ->
            request_add(key, task);
            if
            :: !queue[length - 1].granted && BUG != 4 -> to_member[kernel]!KEPT, task
            :: else
            fi
        :: type == UNLOCK -> request_remove(key, kernel)
        :: type == ASK -> to_member[kernel]!ANSWER, task
        fi;
        key = 0;
        task = 0;
        type = 0
       }
    od
}

init {
    atomic {
        run home_task();
        run member_task(1, 1);
#if !defined(LIVE) || !defined(SHORT)
        run member_task(2, 1);
#endif
#if !defined(LIVE) && !defined(SHORT) /* a smaller machine is enough */
        run member_task(3, 1);
#endif
        run member_task(4, 2);
        run member_handler(1);
        run member_handler(2);
        run home_handler(1);
        run home_handler(2)
    }
}

#ifdef LIVE
ltl granted { []((waits[1] -> <>!waits[1]) && (waits[4] -> <>!waits[4])) }
#endif
