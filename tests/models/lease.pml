/* Leases (mm/lease/lease.md), for one page of a space on three kernels, kernel 0 its home. The tasks of kernels 1 and 2 ask for a lease, map,
 * touch and unmap the page by themselves while they have one, and else ask the home with a question or with the page's lock, as the home's
 * task does. What is done with the lock to all kernels is one step, when no answer to a question is under way: get.pml and space_lock.pml are about that. Questions, locks and leases have
 * one FIFO channel per ordered pair, recalls another, for they are of another class.
 * With FORK, some task may also fork once, and the child may end at any moment. If the home can grant the lock at once, it keeps the lease, and the fork goes to each kernel
 * in steps: it freezes the lease and write-protects, reads whether there is an area, and takes the page. A frame may be another kernel's memory (REMOTE): then the fork counts the
 * child's reference after the answer. With TORN, too, the home may once have no memory for what a holder has given up: the lease stays, and who waits for a lock is refused.
 *
 * With EMPTY, the home may answer a question about the page, which has no frame, with a lease.
 *
 * Checked: the page has one frame; who has a lease is the only one that knows of the page; nobody is told that there is nothing when there is; a lock is granted when nobody has one;
 * no frame is lost; no deadlock. With FORK: the child has the page as it was when all were write-protected; nobody can write to a frame that it has; a frame that it gets has not been freed.
 *
 * Seeded bugs: 1 the holder goes on after a recall; 2 a lock is granted before the recall is over; 3 a lease is granted while the page is locked; 4 a question
 * is answered although the page is leased; 5 a lease that was recalled on its way is used; 6 the home does not note what the holder had; with FORK also 7 the holder decides while it is frozen;
 * 8 leases are recalled during the fork; 9 the home does not note that a page is copy-on-write; 10 the holder thaws before the child's reference is counted; 11 a lease that was on its
 * way to a kernel when it was to freeze is used; 12 the areas are read before the leases are frozen; 13 the lease is kept although a recall of it is under way;
 * with EMPTY also 14 a recall is answered while a question is under way that may bring the lease; 15 the page is leased although another kernel knows of the area; 16 the home
 * keeps the area of what it leases; 17 the page is leased although it is locked, or somebody waits for its lock;
 * with FORK and TORN 19 a fork keeps a lease that is torn;
 * with both 18 a kernel write-protects its pages for a fork while a question is under way that may bring the lease. */
#ifdef FORK
#define FORKS true
#else
#define FORKS false
#endif
#ifndef BUG
#define BUG 0
#endif
#ifndef ROUNDS
#if defined(FORK) && defined(EMPTY) && defined(SHORT)
#define ROUNDS 3
#elif defined(FORK)
#define ROUNDS 4
#else
#define ROUNDS 5
#endif
#endif
#ifdef FORK
#define FRAMES 4
#else
#define FRAMES 3
#endif

#define URGENT(from, to) urgent[(from) * 3 + (to)]
#define ORDINARY(from, to) ordinary[(from) * 3 + (to)]

mtype = { LEASE, LEASED, REFUSED, GET, TAKEN, FILLED, KNOWN, FRAME, NONE, BUSY, LOCK, KEEP, GRANTED, FREE, RECALL, RECALLED };

chan urgent[9] = [2] of { mtype, byte };        /* frame */
chan ordinary[9] = [1] of { mtype, byte, bool, bool }; /* frame, and whether there is an area, and whether it is copy-on-write */

byte lease;         /* the home: kernel, 0: none */
bool recalling;
bool torn;          /* the home had no memory for what the holder has given up */
bool failed;        /* that has happened */
bool refused[3];    /* who waited for a lock then */
bool locked;        /* granted to somebody */
bool waits[3];      /* requests in the queue */
bool granted[3];
bool busy[3];       /* a task waits for an answer */
bool holds[3];      /* a kernel: it has a lease */
bool asking[3];
bool recalled[3];
bool area[3];       /* it knows of an area; area[0]: the directory's */
bool known[3];      /* at the home: the directory's marks */
byte entry[3];      /* frame, 0: none */
bool used[FRAMES + 1];
byte left;

bool keeps;         /* a fork has the lock and leaves the lease as it is */
bool getting[3];    /* a question is under way */
bool frozen[3];
bool cow[3];
bool remote[FRAMES + 1]; /* not the memory of the kernel that has it leased */
bool child;         /* there is one, or has been, or a fork is making it */
bool ended;
bool child_area;
byte child_entry;
byte listed;        /* what the fork has been told of, and not counted */

#define DECIDES(k) (holds[k] && (!frozen[k] || BUG == 7))
#define WRITES(k) (entry[k] != 0 && !cow[k] && entry[k] == child_entry)
#define TAKEN_HERE (locked || waits[0] || waits[1] || waits[2])
#define LEASES(k) (lease == 0 && area[0] && entry[0] == 0 && (!TAKEN_HERE || BUG == 17) && (!known[3 - (k)] || BUG == 15))
#define CAN_KEEP (((!TAKEN_HERE && !recalling) || (!locked && BUG == 13)) && (!torn || BUG == 19))
#define SAME(a, b) (entry[a] == 0 || entry[b] == 0 || entry[a] == entry[b])
#define ALONE(k, a, b) (!holds[k] || (!holds[a] && !holds[b] && entry[a] == 0 && entry[b] == 0 && !area[0] && !area[b]))
#define SOUND (!WRITES(0) && !WRITES(1) && !WRITES(2) && SAME(0, 1) && SAME(1, 2) && SAME(0, 2) && ALONE(1, 0, 2) && ALONE(2, 0, 1))

inline allocate(frame)
{
    frame = 1;
    do
    :: frame <= FRAMES && (used[frame] || frame == child_entry) -> frame++
    :: else -> break
    od;
    assert(frame <= FRAMES);
    used[frame] = true;
    if
    :: FORKS -> remote[frame] = true
    :: remote[frame] = false
    fi
}

/* The frame of the parent goes; the child may have it, too. */
inline let_go(f)
{
    used[f] = false
}

inline unmap_here(k)
{
    if
    :: entry[k] != 0 -> let_go(entry[k]); entry[k] = 0; cow[k] = false
    :: else
    fi;
    area[k] = false
}

/* A write to a page that was copy-on-write: FRAME is new, or 0 if the child has let go. */
inline copy(k, frame)
{
    if
    :: entry[k] == child_entry -> allocate(frame); let_go(entry[k]); entry[k] = frame; frame = 0
    :: else
    fi;
    cow[k] = false
}

/* With the lock: everybody does the same at once. */
inline change_everywhere(k, frame)
{
    assert(!holds[1] && !holds[2]);
    if
    :: area[0] -> /* unmap */
        if
        :: entry[0] != 0 -> let_go(entry[0])
        :: else
        fi;
        area[0] = false; area[1] = false; area[2] = false;
        known[1] = false; known[2] = false;
        entry[0] = 0; entry[1] = 0; entry[2] = 0;
        cow[0] = false; cow[1] = false; cow[2] = false
    :: area[0] -> /* fault */
        if
        :: entry[0] == 0 -> allocate(frame); entry[0] = frame; frame = 0
        :: entry[0] != 0 && cow[0] -> entry[1] = 0; entry[2] = 0; cow[1] = false; cow[2] = false; copy(0, frame)
        :: else
        fi;
        area[k] = true;
        known[k] = true;
        entry[k] = entry[0];
        cow[k] = cow[0]
    :: else -> assert(entry[0] == 0 && entry[1] == 0 && entry[2] == 0); area[0] = true /* map */
    fi;
    assert(SOUND)
}

/* The steps of a fork by kernel K, which has the lock: what kernel M does. */
inline freeze(m)
{
    atomic { !getting[m] || BUG == 18 ->
        if
        :: m != 0 && holds[m] -> frozen[m] = true
        :: m != 0 && !holds[m] && asking[m] && BUG != 11 -> recalled[m] = true
        :: else
        fi;
        if
        :: entry[m] != 0 -> cow[m] = true
        :: else
        fi }
}

inline look(m)
{
    atomic {
        if
        :: m == 0 || holds[m] -> child_area = child_area || area[m]
        :: else
        fi }
}

inline take(m)
{
    atomic {
        if
        :: entry[m] != 0 && (m == 0 || lease == m) ->
            assert(child_area);
            if
            :: m != 0 && remote[entry[m]] -> listed = entry[m]
            :: else -> assert(child_entry == 0); child_entry = entry[m]
            fi
        :: else
        fi;
        if
        :: listed == 0 || BUG == 10 -> frozen[m] = false
        :: else
        fi;
        assert(SOUND) }
    atomic {
        if
        :: listed != 0 -> assert(used[listed] && child_entry == 0); child_entry = listed; listed = 0
        :: else
        fi;
        frozen[m] = false;
        assert(SOUND) }
}

proctype task(byte k)
{
    byte frame;

    do
    :: left == 0 -> break
    :: atomic { left > 0 && k != 0 && !holds[k] -> left--; busy[k] = true; asking[k] = true; recalled[k] = false;
        URGENT(k, 0)!LEASE, 0 }
       !busy[k]
    :: atomic { left > 0 && DECIDES(k) ->
        left--;
        if
        :: !area[k] -> area[k] = true
        :: area[k] && entry[k] != 0 && cow[k] -> copy(k, frame)
        :: area[k] && entry[k] == 0 -> allocate(frame); entry[k] = frame; frame = 0
        :: area[k] -> unmap_here(k)
        fi;
        assert(SOUND) }
    :: atomic { left > 0 && k != 0 && !holds[k] && entry[k] == 0 -> left--; busy[k] = true; getting[k] = true; allocate(frame);
        URGENT(k, 0)!GET, frame; frame = 0 }
       !busy[k]
    :: atomic { FORKS && left < ROUNDS && !child ->
        child = true;
        if
        :: k == 0 && CAN_KEEP -> locked = true; keeps = true; granted[0] = true
        :: k == 0 && !CAN_KEEP -> waits[0] = true
        :: k != 0 -> URGENT(k, 0)!KEEP, 0
        fi }
       atomic { granted[k] -> granted[k] = false }
       if
       :: BUG == 12 -> look(0); look(1); look(2)
       :: else
       fi;
       freeze(0);
       freeze(1);
       freeze(2);
       if
       :: BUG != 12 -> look(0); look(1); look(2)
       :: else
       fi;
       take(0);
       take(1);
       take(2);
       atomic {
        if
        :: k == 0 -> locked = false; keeps = false
        :: else -> URGENT(k, 0)!FREE, 0
        fi }
       run ending()
    :: atomic { left > 0 && !holds[k] -> left--;
        if
        :: k == 0 -> waits[0] = true
        :: else -> URGENT(k, 0)!LOCK, 0
        fi }
       if
       :: atomic { granted[k] && len(URGENT(0, 1)) == 0 && len(URGENT(0, 2)) == 0 -> /* answers under way are waited for */
          granted[k] = false; change_everywhere(k, frame) }
          atomic {
           if
           :: k == 0 -> locked = false
           :: else -> URGENT(k, 0)!FREE, 0
           fi }
       :: atomic { refused[k] -> refused[k] = false }
       fi
    :: atomic { k == 0 && left > 0 && lease == 0 && !TAKEN_HERE && !area[0] && entry[1] == 0 && entry[2] == 0 ->
        left--; area[0] = true; assert(SOUND) }
    od
}

/* The child ends. */
proctype ending()
{
    atomic { child_area = false; child_entry = 0; ended = true }
}

/* The queue of locks at the home. */
proctype queue()
{
end:
    do
    :: atomic { (waits[0] || waits[1] || waits[2]) && lease != 0 && !recalling && (!keeps || BUG == 8) ->
        recalling = true; ORDINARY(0, lease)!RECALL, 0, false, false }
    :: atomic { !locked && waits[0] && (lease == 0 || BUG == 2) -> waits[0] = false; locked = true; granted[0] = true }
    :: atomic { !locked && waits[1] && (lease == 0 || BUG == 2) -> waits[1] = false; locked = true; URGENT(0, 1)!GRANTED, 0 }
    :: atomic { !locked && waits[2] && (lease == 0 || BUG == 2) -> waits[2] = false; locked = true; URGENT(0, 2)!GRANTED, 0 }
    od
}

proctype home(byte from)
{
    mtype type;
    byte frame;
    bool there, written;

end:
    do
    :: atomic { URGENT(from, 0)?type, frame ->
        if
        :: type == LEASE && lease == 0 && !area[0] && (!TAKEN_HERE || BUG == 3) -> lease = from; URGENT(0, from)!LEASED, 0
        :: type == LEASE && !(lease == 0 && !area[0] && (!TAKEN_HERE || BUG == 3)) -> URGENT(0, from)!REFUSED, 0
#ifdef EMPTY
        :: type == GET && LEASES(from) -> lease = from; area[0] = BUG == 16; URGENT(0, from)!FILLED, frame
#endif
        :: type == GET && (TAKEN_HERE || (lease != 0 && BUG != 4)) -> URGENT(0, from)!BUSY, frame
        :: type == GET && !(TAKEN_HERE || (lease != 0 && BUG != 4)) ->
            if
            :: !area[0] -> assert(!area[1] && !area[2]); URGENT(0, from)!NONE, frame
            :: area[0] && entry[0] == 0 -> entry[0] = frame; cow[0] = false; known[from] = true; URGENT(0, from)!TAKEN, frame
#ifdef EMPTY
            :: area[0] && entry[0] == 0 -> known[from] = true; URGENT(0, from)!KNOWN, frame /* of the neighbouring pages */
#endif
            :: area[0] && entry[0] != 0 -> used[frame] = false; known[from] = true; URGENT(0, from)!FRAME, entry[0]
            fi
        :: type == LOCK -> waits[from] = true
        :: type == KEEP && CAN_KEEP -> locked = true; keeps = true; URGENT(0, from)!GRANTED, 0
        :: type == KEEP && !CAN_KEEP -> waits[from] = true
        :: type == FREE -> locked = false; keeps = false
        fi;
        frame = 0 }
    :: atomic { ORDINARY(from, 0)?type, frame, there, written ->
        assert(type == RECALLED);
        if
#ifdef TORN
        :: !failed && !child -> failed = true; torn = true;
            refused[0] = waits[0]; refused[1] = waits[1]; refused[2] = waits[2];
            waits[0] = false; waits[1] = false; waits[2] = false
        :: true ->
#else
        :: true ->
#endif
        if
        :: BUG != 6 -> area[0] = there; known[from] = known[from] || there; entry[0] = frame; cow[0] = !written && BUG != 9
        :: else
        fi;
        lease = 0;
        torn = false
        fi;
        recalling = false;
        assert(SOUND);
        frame = 0; there = false; written = false }
    od
}

proctype member(byte k)
{
    mtype type;
    byte frame;
    bool there, written;

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
        :: type == BUSY || type == NONE -> used[frame] = false; busy[k] = false; getting[k] = false
        :: type == KNOWN -> used[frame] = false; area[k] = true; busy[k] = false; getting[k] = false
        :: type == FILLED -> holds[k] = true; area[k] = true; entry[k] = frame; busy[k] = false; getting[k] = false
        :: type == TAKEN || type == FRAME -> area[k] = true; entry[k] = frame; cow[k] = type == FRAME && cow[0]; busy[k] = false; getting[k] = false
        fi;
        assert(SOUND);
        frame = 0 }
    :: atomic { len(ORDINARY(0, k)) > 0 && (!getting[k] || BUG == 14) ->
        ORDINARY(0, k)?type, frame, there, written;
        if
        :: asking[k] -> recalled[k] = true
        :: else
        fi;
        if
        :: BUG != 1 -> holds[k] = false
        :: else
        fi;
        ORDINARY(k, 0)!RECALLED, entry[k], area[k], entry[k] == 0 || !cow[k] }
    od
}

/* At rest every frame is some kernel's, and who has none of his own knows of it from the home. */
proctype watcher()
{
    byte f;

    atomic {
        left == 0 && child == ended && !locked && !busy[1] && !busy[2] && !TAKEN_HERE && !recalling && !granted[0] && !granted[1] && !granted[2] &&
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
