/* Leases (mm/lease/lease.md), for one page of a space on three kernels, kernel 0 its home. The tasks of kernels 1 and 2 ask for a lease, map,
 * touch and unmap the page by themselves while they have one, and else ask the home with a question or with the page's lock, as the home's
 * task does. What is done with the lock to all kernels is one step, when no answer to a question is under way: get.pml and space_lock.pml are about that. Questions, locks and leases have
 * one FIFO channel per ordered pair, recalls another, for they are of another class.
 *
 * Checked: the page has one frame; who has a lease is the only one that knows of the page; nobody is told that there is nothing when there is; a lock is granted when nobody has one;
 * no frame is lost; no deadlock.
 *
 * Seeded bugs: 1 the holder goes on after a recall; 2 a lock is granted before the recall is over; 3 a lease is granted while the page is locked; 4 a question
 * is answered although the page is leased; 5 a lease that was recalled on its way is used; 6 the home does not note what the holder had. */
#ifndef BUG
#define BUG 0
#endif
#ifndef ROUNDS
#define ROUNDS 5
#endif
#define FRAMES 3

#define URGENT(from, to) urgent[(from) * 3 + (to)]
#define ORDINARY(from, to) ordinary[(from) * 3 + (to)]

mtype = { LEASE, LEASED, REFUSED, GET, TAKEN, FRAME, NONE, BUSY, LOCK, GRANTED, FREE, RECALL, RECALLED };

chan urgent[9] = [2] of { mtype, byte };        /* frame */
chan ordinary[9] = [1] of { mtype, byte, bool }; /* frame, and whether there is an area */

byte lease;         /* the home: kernel, 0: none */
bool recalling;
bool locked;        /* granted to somebody */
bool waits[3];      /* requests in the queue */
bool granted[3];
bool busy[3];       /* a task waits for an answer */
bool holds[3];      /* a kernel: it has a lease */
bool asking[3];
bool recalled[3];
bool area[3];       /* it knows of an area; area[0]: the directory's */
byte entry[3];      /* frame, 0: none */
bool used[FRAMES + 1];
byte left;

#define TAKEN_HERE (locked || waits[0] || waits[1] || waits[2])
#define SAME(a, b) (entry[a] == 0 || entry[b] == 0 || entry[a] == entry[b])
#define ALONE(k, a, b) (!holds[k] || (!holds[a] && !holds[b] && entry[a] == 0 && entry[b] == 0 && !area[0]))
#define SOUND (SAME(0, 1) && SAME(1, 2) && SAME(0, 2) && ALONE(1, 0, 2) && ALONE(2, 0, 1))

inline allocate(frame)
{
    frame = 1;
    do
    :: frame <= FRAMES && used[frame] -> frame++
    :: else -> break
    od;
    assert(frame <= FRAMES);
    used[frame] = true
}

inline unmap_here(k)
{
    if
    :: entry[k] != 0 -> used[entry[k]] = false; entry[k] = 0
    :: else
    fi;
    area[k] = false
}

/* With the lock: everybody does the same at once. */
inline change_everywhere(k, frame)
{
    assert(!holds[1] && !holds[2]);
    if
    :: area[0] -> /* unmap */
        if
        :: entry[0] != 0 -> used[entry[0]] = false
        :: else
        fi;
        area[0] = false; area[1] = false; area[2] = false;
        entry[0] = 0; entry[1] = 0; entry[2] = 0
    :: area[0] -> /* fault */
        if
        :: entry[0] == 0 -> allocate(frame); entry[0] = frame; frame = 0
        :: else
        fi;
        area[k] = true;
        entry[k] = entry[0]
    :: else -> assert(entry[0] == 0 && entry[1] == 0 && entry[2] == 0); area[0] = true /* map */
    fi;
    assert(SOUND)
}

proctype task(byte k)
{
    byte frame;

    do
    :: left == 0 -> break
    :: atomic { left > 0 && k != 0 && !holds[k] -> left--; busy[k] = true; asking[k] = true; recalled[k] = false;
        URGENT(k, 0)!LEASE, 0 }
       !busy[k]
    :: atomic { left > 0 && holds[k] ->
        left--;
        if
        :: !area[k] -> area[k] = true
        :: area[k] && entry[k] == 0 -> allocate(frame); entry[k] = frame; frame = 0
        :: area[k] -> unmap_here(k)
        fi;
        assert(SOUND) }
    :: atomic { left > 0 && k != 0 && !holds[k] && entry[k] == 0 -> left--; busy[k] = true; allocate(frame);
        URGENT(k, 0)!GET, frame; frame = 0 }
       !busy[k]
    :: atomic { left > 0 && !holds[k] -> left--;
        if
        :: k == 0 -> waits[0] = true
        :: else -> URGENT(k, 0)!LOCK, 0
        fi }
       atomic { granted[k] && len(URGENT(0, 1)) == 0 && len(URGENT(0, 2)) == 0 -> /* answers under way are waited for */
        granted[k] = false; change_everywhere(k, frame) }
       atomic {
        if
        :: k == 0 -> locked = false
        :: else -> URGENT(k, 0)!FREE, 0
        fi }
    :: atomic { k == 0 && left > 0 && lease == 0 && !TAKEN_HERE && !area[0] && entry[1] == 0 && entry[2] == 0 ->
        left--; area[0] = true; assert(SOUND) }
    od
}

/* The queue of locks at the home. */
proctype queue()
{
end:
    do
    :: atomic { (waits[0] || waits[1] || waits[2]) && lease != 0 && !recalling ->
        recalling = true; ORDINARY(0, lease)!RECALL, 0, false }
    :: atomic { !locked && waits[0] && (lease == 0 || BUG == 2) -> waits[0] = false; locked = true; granted[0] = true }
    :: atomic { !locked && waits[1] && (lease == 0 || BUG == 2) -> waits[1] = false; locked = true; URGENT(0, 1)!GRANTED, 0 }
    :: atomic { !locked && waits[2] && (lease == 0 || BUG == 2) -> waits[2] = false; locked = true; URGENT(0, 2)!GRANTED, 0 }
    od
}

proctype home(byte from)
{
    mtype type;
    byte frame;
    bool there;

end:
    do
    :: atomic { URGENT(from, 0)?type, frame ->
        if
        :: type == LEASE && lease == 0 && !area[0] && (!TAKEN_HERE || BUG == 3) -> lease = from; URGENT(0, from)!LEASED, 0
        :: type == LEASE && !(lease == 0 && !area[0] && (!TAKEN_HERE || BUG == 3)) -> URGENT(0, from)!REFUSED, 0
        :: type == GET && (TAKEN_HERE || (lease != 0 && BUG != 4)) -> URGENT(0, from)!BUSY, frame
        :: type == GET && !(TAKEN_HERE || (lease != 0 && BUG != 4)) ->
            if
            :: !area[0] -> assert(!area[1] && !area[2]); URGENT(0, from)!NONE, frame
            :: area[0] && entry[0] == 0 -> entry[0] = frame; URGENT(0, from)!TAKEN, frame
            :: area[0] && entry[0] != 0 -> used[frame] = false; URGENT(0, from)!FRAME, entry[0]
            fi
        :: type == LOCK -> waits[from] = true
        :: type == FREE -> locked = false
        fi;
        frame = 0 }
    :: atomic { ORDINARY(from, 0)?type, frame, there ->
        assert(type == RECALLED);
        if
        :: BUG != 6 -> area[0] = there; entry[0] = frame
        :: else
        fi;
        lease = 0;
        recalling = false;
        assert(SOUND);
        frame = 0; there = false }
    od
}

proctype member(byte k)
{
    mtype type;
    byte frame;
    bool there;

end:
    do
    :: atomic { URGENT(0, k)?type, frame ->
        if
        :: type == LEASED -> asking[k] = false; busy[k] = false;
            if
            :: !recalled[k] || BUG == 5 -> holds[k] = true
            :: else
            fi
        :: type == REFUSED -> asking[k] = false; busy[k] = false
        :: type == GRANTED -> granted[k] = true
        :: type == BUSY || type == NONE -> used[frame] = false; busy[k] = false
        :: type == TAKEN || type == FRAME -> area[k] = true; entry[k] = frame; busy[k] = false
        fi;
        assert(SOUND);
        frame = 0 }
    :: atomic { ORDINARY(0, k)?type, frame, there ->
        if
        :: asking[k] -> recalled[k] = true
        :: else
        fi;
        if
        :: BUG != 1 -> holds[k] = false
        :: else
        fi;
        ORDINARY(k, 0)!RECALLED, entry[k], area[k] }
    od
}

/* At rest every frame is some kernel's, and who has none of his own knows of it from the home. */
proctype watcher()
{
    byte f;

    atomic {
        left == 0 && !busy[1] && !busy[2] && !TAKEN_HERE && !recalling && !granted[0] && !granted[1] && !granted[2] &&
            len(urgent[1]) == 0 && len(urgent[2]) == 0 && len(urgent[3]) == 0 && len(urgent[6]) == 0 ->
        f = 1;
        do
        :: f <= FRAMES -> assert(used[f] == (entry[0] == f || entry[1] == f || entry[2] == f)); f++
        :: else -> break
        od;
        assert(entry[1] == 0 || entry[1] == entry[0] || lease == 1);
        assert(entry[2] == 0 || entry[2] == entry[0] || lease == 2)
    }
}

init {
    atomic {
        left = ROUNDS;
        run task(0);
        run task(1);
        run task(2);
        run queue();
        run home(1);
        run home(2);
        run member(1);
        run member(2);
        run watcher()
    }
}
