/* One page of a space A that lives on three kernels, kernel 0 its home, and of a space B that a fork of A makes on one of them;
 * mm/fork/fork.md has the tables. On every kernel one task of A reads, writes, forks or unmaps; B writes or ends; a bounded number
 * of times in all. Whatever is asked of another kernel is done there in one step while the asker waits, so a round
 * trip is a step of the asker's, and a multicast one step for each kernel, in any order. Only the return of a reference is
 * not waited for. The lock is taken as given (space_lock.pml).
 *
 * HOME chooses the retrieval strategy `home`; without it the model is that of `members`. With it, a kernel that writes may
 * also ask the home without the lock: it makes its entry not present, the home decides in one step, and the answer is a step
 * of its own, before which whatever the holder of the lock asks of this kernel is deferred.
 *
 * Checked: all kernels' entries of A name one frame; a page that two spaces have is writable in neither; a frame is
 * copied only while nobody can write to it; it is freed once, when no entry names it; in the end every frame is
 * freed or held by one entry; no deadlock.
 *
 * -DSHORT: four operations, not five.
 *
 * Seeded bugs: 1 the copy is mapped before the others have let go; 2 a fork does not write-protect at the other kernels; 3 whoever lets go
 * in a switch gives its reference back, and so does the one that copies; 4 the reference of a kernel that lets go is
 * forgotten; 5 a page that is fetched is writable, whatever the answer says; with HOME also 6 the home learns of the copy
 * before the others have let go; 7 the asker's entry stays present; 8 the home copies though a third kernel has an entry; 9 what
 * the holder of the lock asks of the asker is not deferred; 10 the home copies while the lock is held; 11 the
 * home believes the asker that no other space has a frame of the asker's, for itself, too; 12 the asker does not
 * mind a fork since. */
#ifndef BUG
#define BUG 0
#endif
#ifdef HOME
#define AT_HOME true
#else
#define AT_HOME false
#endif
#ifndef OPERATIONS
#ifdef SHORT
#define OPERATIONS 4
#else
#define OPERATIONS 5
#endif
#endif
#define FRAMES 5
#define OTHERS(k) (7 & ~(1 << (k)))
#define B 3 /* the index of B's only entry */

byte entry[4]; /* frame, 0: none */
bool held[4];
bool cow[4];
bool pending_free[4];
byte count[FRAMES + 1]; /* spaces, as the owner counts */
byte returning[FRAMES + 1];
bool freed[FRAMES + 1];
byte frames;
byte operations;
byte finished;
bool mapped = true;
bool locked;
bool b_runs;

bool asking[3]; /* a question without the lock is under way */
byte answer[3]; /* of the home: 1 busy, 2 the frame is sole, 3 a copy */
byte copy[3];   /* the frame that goes with it */
bool sole_here[3]; /* the asker has said that no other space has the frame that it holds */
bool taken[3];     /* a fork has taken the page of the asker since */

#define HIDDEN(k) ((k) < 3 && asking[(k) % 3] && BUG != 7)
#define NAMES(k, f) (entry[k] == (f) && !pending_free[k] && !HIDDEN(k))
#define WRITES(k, f) (NAMES(k, f) && !cow[k])
#define IN_A(f) (NAMES(0, f) || NAMES(1, f) || NAMES(2, f))
#define WRITTEN_IN_A(f) (WRITES(0, f) || WRITES(1, f) || WRITES(2, f))
#define SAME(i, j) (entry[i] == 0 || entry[j] == 0 || pending_free[i] || pending_free[j] || HIDDEN(i) || HIDDEN(j) || entry[i] == entry[j])
#define FREE(m) (!asking[m] || BUG == 9) /* what the holder of the lock asks of kernel M can be done */

inline check()
{
    assert(SAME(0, 1) && SAME(0, 2) && SAME(1, 2));
    assert(!(b_runs && entry[B] != 0 && IN_A(entry[B]) && (!cow[B] || WRITTEN_IN_A(entry[B]))))
}

inline drop(f)
{
    assert(count[f] > 0 && !freed[f]);
    count[f]--;
    if
    :: count[f] == 0 ->
        assert(!IN_A(f) && !(b_runs && entry[B] == f));
        freed[f] = true
    :: else
    fi
}

inline put(k, f, h, c)
{
    assert(!freed[f]);
    entry[k] = f;
    held[k] = h;
    cow[k] = c
}

inline clear(k)
{
    entry[k] = 0;
    held[k] = false;
    cow[k] = false;
    pending_free[k] = false
}

inline fresh(f)
{
    frames++;
    f = frames
}

/* One kernel of TODO, into M. */
inline next(todo, m)
{
    if
    :: (todo & 1) -> m = 0
    :: (todo & 2) -> m = 1
    :: (todo & 4) -> m = 2
    fi;
    todo = todo & ~(1 << m)
}

/* The home answers the question of kernel K. */
inline decide(k)
{
    if
    :: (locked && BUG != 10) || entry[0] == 0 || pending_free[0] || !cow[0] -> answer[k] = 1
    :: else ->
        if
        :: (held[k] -> sole_here[k] : count[entry[0]] == 1) -> cow[0] = held[k] && BUG != 11; copy[k] = entry[0]; answer[k] = 2
        :: else ->
            if
            :: (held[0] || held[k]) && frames < FRAMES && (BUG == 8 || (entry[3 - k] == 0 && answer[3 - k] < 2)) ->
                frames++;
                count[frames] = 1;
                assert(!WRITTEN_IN_A(entry[0]) && !(b_runs && WRITES(B, entry[0])));
                if
                :: held[0] -> drop_later = entry[0]
                :: else
                fi;
                put(0, frames, false, false);
                if
                :: drop_later != 0 -> drop(drop_later); drop_later = 0
                :: else
                fi;
                copy[k] = frames;
                answer[k] = 3
            :: else -> answer[k] = 1
            fi
        fi
    fi;
    check()
}

proctype task(byte k)
{
    byte f, g, m, todo;
    bool write, sole, holds;
    byte drop_later;

    do
    :: operations == OPERATIONS || !mapped -> break
    :: atomic { AT_HOME && k != 0 && operations < OPERATIONS && mapped && !pending_free[k] && (entry[k] == 0 || cow[k]) ->
            operations++;
            asking[k] = true;
            sole_here[k] = held[k] && count[entry[k]] == 1 }
        atomic { decide(k) }
        atomic { answer[k] != 0 ->
            asking[k] = false;
            if
            :: answer[k] == 2 ->
                if
                :: entry[k] == 0 -> put(k, copy[k], false, false)
                :: entry[k] != 0 && (!held[k] || !taken[k] || BUG == 12) -> cow[k] = false
                :: else
                fi
            :: answer[k] == 3 ->
                if
                :: held[k] -> returning[entry[k]]++
                :: else
                fi;
                put(k, copy[k], true, false)
            :: else
            fi;
            answer[k] = 0;
            copy[k] = 0;
            sole_here[k] = false;
            taken[k] = false;
            check() }
    :: atomic { operations < OPERATIONS && !locked && mapped && entry[k] == 0 -> operations++; locked = true; write = false }
        goto fault
    :: atomic { operations < OPERATIONS && !locked && mapped && (entry[k] == 0 || cow[k]) ->
            operations++; locked = true; write = true }
        goto fault
    :: atomic { operations < OPERATIONS && !locked && mapped && !b_runs -> operations++; locked = true } goto fork
    :: atomic { operations < OPERATIONS && !locked && mapped -> operations++; locked = true } goto unmap

fault: /* fault_shared */
        if
        :: atomic { entry[k] != 0 && write && cow[k] -> f = entry[k] } goto break_cow
        :: atomic { entry[k] != 0 && !(write && cow[k]) } goto release
        :: entry[k] == 0
        fi;
        if
        :: AT_HOME -> todo = 1 & OTHERS(k)
        :: else -> todo = OTHERS(k)
        fi;
        f = 0;
        do
        :: todo != 0 -> atomic {
            next(todo, m);
            if
            :: entry[m] != 0 && f == 0 -> f = entry[m]; holds = cow[m] /* the answer's flag */
            :: else
            fi }
        :: todo == 0 -> break
        od;
        if
        :: atomic { f != 0 && write && holds && BUG != 5 -> holds = false } goto break_cow
        :: atomic { f != 0 && !(write && holds && BUG != 5) -> put(k, f, false, holds && BUG != 5); check() } goto release
        :: f == 0
        fi;
        if
        :: frames == FRAMES -> goto release
        :: atomic { frames < FRAMES -> fresh(g); count[g] = 1 }
        fi;
        if
        :: AT_HOME && k != 0 -> atomic { put(0, g, false, false); check() }
        :: else
        fi;
        atomic { put(k, g, true, false); check() }
        goto release;

break_cow: /* space_cow_break */
        sole = (count[f] == 1);
        if
        :: atomic { sole -> put(k, f, held[k], false); check() } goto release
        :: !sole
        fi;
        if
        :: frames == FRAMES -> goto release
        :: atomic { frames < FRAMES -> fresh(g); count[g] = 1;
            assert(!WRITTEN_IN_A(f) && !(b_runs && WRITES(B, f))) }
        fi;
        atomic {
            holds = held[k];
            clear(k);
            if
            :: BUG == 1 -> put(k, g, true, false)
            :: else
            fi;
            check()
        }
        if
        :: AT_HOME && BUG != 6 -> todo = OTHERS(k) & ~1
        :: else -> todo = OTHERS(k)
        fi;
        if
        :: BUG == 6 && k != 0 -> atomic { holds = holds || held[0]; put(0, g, false, false); check(); todo = todo & ~1 }
        :: else
        fi;
        do
        :: todo != 0 -> atomic {
            next(todo, m);
            FREE(m);
            if
            :: held[m] && BUG == 3 -> returning[f]++
            :: else
            fi;
            holds = holds || (held[m] && BUG != 4);
            clear(m) }
        :: todo == 0 -> break
        od;
        if
        :: AT_HOME && k != 0 && BUG != 6 -> atomic { holds = holds || held[0]; put(0, g, false, false); check() }
        :: else
        fi;
        atomic { put(k, g, true, false); check() }
        if
        :: holds -> returning[f]++
        :: else
        fi
        goto release;

fork: /* space_fork: every kernel write-protects, then what each holds is taken */
        todo = OTHERS(k);
        do
        :: todo != 0 -> atomic {
            next(todo, m);
            FREE(m);
            if
            :: entry[m] != 0 && BUG != 2 -> cow[m] = true
            :: else
            fi }
        :: todo == 0 -> break
        od;
        if
        :: entry[k] != 0 -> cow[k] = true
        :: else
        fi;
        todo = 7;
        do
        :: todo != 0 -> atomic {
            next(todo, m);
            if
            :: held[m] -> count[entry[m]]++; taken[m] = asking[m]; put(B, entry[m], true, true)
            :: else
            fi }
        :: todo == 0 -> break
        od;
        atomic { b_runs = true; check() }
        goto release;

unmap: /* unmap_everywhere */
        todo = 7;
        do
        :: todo != 0 -> atomic {
            next(todo, m);
            FREE(m);
            if
            :: held[m] -> pending_free[m] = true
            :: else -> clear(m)
            fi }
        :: todo == 0 -> break
        od;
        todo = 7;
        do
        :: todo != 0 -> atomic {
            next(todo, m);
            if
            :: pending_free[m] -> returning[entry[m]]++; clear(m)
            :: else
            fi }
        :: todo == 0 -> break
        od;
        mapped = false;

release:
        atomic { f = 0; g = 0; m = 0; todo = 0; write = false; sole = false; holds = false; locked = false }
    od;
    finished++
}

/* The space on one kernel: its faults are as space_cow_break without anybody to ask but the frame's owner. */
proctype other()
{
    byte g;
    bool sole;

    do
    :: atomic { b_runs && operations < OPERATIONS && (entry[B] == 0 || cow[B]) -> operations++; sole = count[entry[B]] == 1 }
        if
        :: atomic { entry[B] != 0 && sole -> cow[B] = false; check() }
        :: atomic { !(entry[B] != 0 && sole) && frames < FRAMES ->
            fresh(g);
            count[g] = 1;
            if
            :: entry[B] != 0 ->
                assert(!WRITTEN_IN_A(entry[B]));
                returning[entry[B]]++
            :: else
            fi;
            put(B, g, true, false);
            check() }
        :: !(entry[B] != 0 && sole) && frames == FRAMES
        fi;
        atomic { g = 0; sole = false }
    :: atomic { b_runs ->
        b_runs = false;
        if
        :: entry[B] != 0 -> returning[entry[B]]++
        :: else
        fi;
        clear(B) }
    :: finished == 3 && !b_runs -> break
    od;
    finished++
}

/* References on their way back to the owner; in the end what is left. */
proctype owner()
{
    byte f;

    do
    :: atomic { returning[1] > 0 -> returning[1]--; drop(1) }
    :: atomic { returning[2] > 0 -> returning[2]--; drop(2) }
    :: atomic { returning[3] > 0 -> returning[3]--; drop(3) }
    :: atomic { returning[4] > 0 -> returning[4]--; drop(4) }
    :: atomic { returning[5] > 0 -> returning[5]--; drop(5) }
    :: atomic { finished == 4 && returning[1] + returning[2] + returning[3] + returning[4] + returning[5] == 0 ->
        for (f : 1 .. FRAMES) {
            assert(f > frames || count[f] == (held[0] && entry[0] == f) + (held[1] && entry[1] == f) +
                                                 (held[2] && entry[2] == f));
            assert(f > frames || freed[f] == (count[f] == 0))
        } }
        break
    od
}

init {
    atomic {
        run task(0);
        run task(1);
        run task(2);
        run other();
        run owner()
    }
}
