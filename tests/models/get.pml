/* The fast path of a fault (mm/fault/get.c; mm/retrieve/retrieval.md has the tables) against unmaps, for one page of a space on three kernels, kernel
 * 0 its home. On kernels 1 and 2 one task each faults, a bounded number of times, kernel 1 a second one at the same time; the
 * home's task faults as one that decides alone. A task of kernel 0 or 2 unmaps the page everywhere, under its lock, and maps it
 * again. An answer of several
 * slots may be lost, and is asked for again; one that takes the asker's frame has one slot. Answers to faults have one FIFO channel per ordered pair, changes others, for they may go by way of a third kernel.
 *
 * Checked: a frame is freed once, by its owner, when no kernel's entry names it; at most one frame is the page's; none is left
 * behind; no deadlock.
 *
 * -DSHORT: three operations, not four.
 *
 * Seeded bugs: 1 a change is not put off for an answer under way; 2 the home answers although the page is locked; 3 what was put
 * off for two answers is done at the first; 4 the unmapping kernel does not wait for its own answers under way; 5 an asker whose frame is
 * taken does not hold it; 6 an answer that takes the asker's frame may be lost, too. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 3
#ifndef ROUNDS
#ifdef SHORT
#define ROUNDS 3
#else
#define ROUNDS 4
#endif
#endif
#define FRAMES 4

#define CHANNEL(from, to) wire[(from) * KERNELS + (to)]
#define CHANGES(from, to) changes[(from) * KERNELS + (to)]

mtype = { GET, FRAME, TAKEN, BUSY, LOST, CHANGE, CHANGED, SETTLE, SETTLED };

chan wire[9] = [2] of { mtype, byte, byte }; /* frame, task */
chan changes[9] = [1] of { mtype };

bool locked;           /* the home's queue has a request for the page */
byte entry[KERNELS];   /* frame, 0: none */
bool held[KERNELS];
bool pending_free[KERNELS];
bool freed[FRAMES + 1];
byte owner[FRAMES + 1];
byte frames;           /* allocated so far */
byte left;             /* operations to come */
byte asks[KERNELS];    /* answers under way: space->gets */
bool put_off[KERNELS]; /* a change waits for them */
byte changer;          /* who waits for that change to be done */
byte answers;          /* that the unmapping task has */
bool again[4];         /* by task: its answer was lost, and that to the second question has one slot */
bool answered[4];      /* by task: 1 and 3 are of kernel 1, 2 of kernel 2 */

#define MAPS(k, f) (entry[k] == (f) && !pending_free[k])
#define KERNEL(task) (task == 3 -> 1 : task)

inline free(f, k)
{
    assert(!freed[f] && owner[f] == k);
    assert(!MAPS(0, f) && !MAPS(1, f) && !MAPS(2, f));
    freed[f] = true
}

#define ONE_FRAME                                                                                                  \
    ((entry[0] == 0 || entry[1] == 0 || pending_free[0] || pending_free[1] || entry[0] == entry[1]) &&                           \
     (entry[0] == 0 || entry[2] == 0 || pending_free[0] || pending_free[2] || entry[0] == entry[2]) &&                           \
     (entry[1] == 0 || entry[2] == 0 || pending_free[1] || pending_free[2] || entry[1] == entry[2]))

inline allocate(k)
{
    frames++;
    assert(frames <= FRAMES);
    owner[frames] = k
}

inline let_go(k)
{
    if
    :: entry[k] != 0 && !pending_free[k] ->
        if
        :: held[k] -> pending_free[k] = true
        :: else -> entry[k] = 0
        fi
    :: else
    fi
}

inline settle(k)
{
    if
    :: pending_free[k] -> free(entry[k], k); entry[k] = 0; pending_free[k] = false; held[k] = false
    :: else
    fi
}

/* A fault of a task that is not at the home. */
proctype faulter(byte task)
{
    do
    :: left == 0 -> break
    :: atomic {
        left > 0 && entry[KERNEL(task)] == 0 && frames < FRAMES ->
        left--;
        allocate(KERNEL(task));
        asks[KERNEL(task)]++;
        CHANNEL(KERNEL(task), 0)!GET, frames, task
       }
       atomic { answered[task]; answered[task] = false; again[task] = false }
    od
}

proctype home_faulter()
{
    do
    :: left == 0 -> break
    :: atomic {
        left > 0 && !locked && entry[0] == 0 && frames < FRAMES ->
        left--;
        allocate(0);
        entry[0] = frames;
        held[0] = true;
        assert(ONE_FRAME)
       }
    od
}

/* Unmaps, and maps again, from kernel K: 0 or 2. */
proctype changing(byte k)
{
    do
    :: left == 0 -> break
    :: atomic { left > 0 && !locked -> left--; locked = true; changer = k }
       atomic {
        answers = 0;
        if
        :: k == 0 -> CHANGES(0, 1)!CHANGE; CHANGES(0, 2)!CHANGE
        :: else -> CHANGES(k, 0)!CHANGE; CHANGES(k, 1)!CHANGE
        fi
       }
       answers == 2;
       atomic {
        (asks[k] == 0 || BUG == 4) -> let_go(k) }
       atomic {
        answers = 0;
        if
        :: k == 0 -> CHANGES(0, 1)!SETTLE; CHANGES(0, 2)!SETTLE
        :: else -> CHANGES(k, 0)!SETTLE; CHANGES(k, 1)!SETTLE
        fi
       }
       answers == 2;
       atomic { settle(k); locked = false } /* the map that follows is a step of the home */
    od
}

inline take_answer(k, type, frame, task)
{
    if
    :: type == FRAME ->
        assert(!freed[frame]);
        free(task_frame[task], k); /* the spare one goes back */
        if
        :: entry[k] == 0 -> entry[k] = frame
        :: else -> assert(entry[k] == frame)
        fi
    :: type == TAKEN ->
        assert(entry[k] == 0 || entry[k] == frame);
        entry[k] = frame;
        held[k] = BUG != 5
    :: type == BUSY -> free(task_frame[task], k)
    :: type == LOST -> skip
    fi;
    assert(ONE_FRAME);
    asks[k]--;
    if
    :: put_off[k] && (asks[k] == 0 || BUG == 3) ->
        put_off[k] = false;
        let_go(k);
        CHANGES(k, changer)!CHANGED
    :: else
    fi;
    if
    :: type == LOST -> asks[k]++; CHANNEL(k, 0)!GET, task_frame[task], task
    :: else -> answered[task] = true
    fi
}

byte task_frame[4];

proctype handler(byte from; byte k)
{
    byte frame, task;
    mtype type;

end:
    do
    :: atomic {
        CHANNEL(from, k)?type, frame, task;
        if
        :: type == GET ->
            task_frame[task] = frame;
            if
            :: locked && BUG != 2 -> CHANNEL(k, from)!BUSY, 0, task
            :: !(locked && BUG != 2) && entry[0] != 0 -> CHANNEL(k, from)!FRAME, entry[0], task
            :: !(locked && BUG != 2) && entry[0] != 0 && !again[task] -> again[task] = true; CHANNEL(k, from)!LOST, 0, task
            :: !(locked && BUG != 2) && entry[0] == 0 ->
                entry[0] = frame;
                assert(ONE_FRAME || BUG == 0);
                if
                :: CHANNEL(k, from)!TAKEN, frame, task
                :: BUG == 6 && !again[task] -> again[task] = true; CHANNEL(k, from)!LOST, 0, task
                fi
            fi
        :: else -> take_answer(k, type, frame, task)
        fi;
        frame = 0;
        task = 0
       }
    :: atomic {
        CHANGES(from, k)?type;
        if
        :: type == CHANGE ->
            if
            :: asks[k] != 0 && BUG != 1 -> put_off[k] = true
            :: else -> let_go(k); CHANGES(k, from)!CHANGED
            fi
        :: type == CHANGED || type == SETTLED -> answers++
        :: type == SETTLE -> settle(k); CHANGES(k, from)!SETTLED
        fi
       }
    od
}

/* When all is at rest every frame is free, or is the page's and held by one kernel. */
proctype watcher()
{
    byte f, holders;

    atomic {
        left == 0 && !locked && asks[1] == 0 && asks[2] == 0 ->
        f = 1;
        do
        :: f <= frames ->
            holders = (entry[0] == f && held[0]) + (entry[1] == f && held[1]) + (entry[2] == f && held[2]);
            assert(freed[f] -> holders == 0 : holders == 1);
            f++
        :: else -> break
        od
    }
}

init {
    atomic {
        left = ROUNDS;
        run faulter(1);
        run faulter(2);
        run faulter(3);
        run home_faulter();
        run changing(0);
        run changing(2);
        run handler(0, 1);
        run handler(0, 2);
        run handler(1, 0);
        run handler(1, 2);
        run handler(2, 0);
        run handler(2, 1);
        run watcher()
    }
}
