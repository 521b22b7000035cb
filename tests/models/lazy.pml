/* A page that is marked twice and that the threads of three kernels touch; mm/move/lazy.md has the tables. Kernel 0 is the
 * home and maps the page, kernel 1 maps it, too, kernel 2 does not know it. Each kernel is a node, and a touch moves the
 * page to its own. What a round asks of a kernel is done there in one step while the mover waits; a question to the home,
 * its answer, and the moment when that is applied are steps of their own. The lock is taken as given (space_lock.pml), and
 * that nobody writes to a page that moves (move.pml): while the page is locked, a newcomer waits.
 *
 * Checked: of the touches of a mark one alone takes effect, which moves the page or leaves it there, for it is where it is
 * wanted or there is no frame; nobody who may move it goes on before that; all entries name one frame; no deadlock.
 *
 * -DTARGET: only kernel 2, which does not know the page, may move it.
 *
 * Seeded bugs: 1 a touch does not look again, under the lock, whether its entry is marked; 2 the marks of other kernels stay
 * where the page does; 3 the answer to a newcomer does not say that the page is marked; 4 an answer that is superseded
 * brings its mark; 5 (TARGET) a touch that may not move the page takes the home's mark off; 6 marking is not put off while
 * an answer is under way; 7 the mover does not ask who has come before the grant. */
#ifndef BUG
#define BUG 0
#endif
#define MARKS 2
#define OPERATIONS 2 /* of each kernel's thread */

#define NONE 0
#define PLAIN 1  /* present */
#define HIDDEN 2 /* marked and hidden */
#define SHOWN 3  /* marked and present */

#ifdef TARGET
#define MAY(k) ((k) == 2)
#else
#define MAY(k) true
#endif

byte entry[3];
byte node[3];     /* of the frame that the entry names */
bool sharer[3];   /* at the home */
bool asking[3];
bool superseded[3];
bool locked;
byte where;       /* the page's node */
byte marks;       /* how often it was marked */
byte taken;       /* how many touches have had an effect since */
byte running;

inline hide(k)
{
    if
    :: entry[k] != NONE -> entry[k] = HIDDEN
    :: else
    fi
}

proctype marker()
{
    do
    :: marks < MARKS ->
        atomic { !locked -> locked = true; marks++; taken = 0 };
        atomic { hide(0) };
        atomic { !asking[1] || BUG == 6 -> hide(1) };
        atomic { !asking[2] || BUG == 6 -> hide(2) };
        locked = false
    :: else -> break
    od;
    running--
}

inline writable(k)
{
    superseded[k] = true;
    if
    :: entry[k] >= HIDDEN -> entry[k] = PLAIN
    :: else
    fi
}

inline replace(k)
{
    superseded[k] = true;
    if
    :: entry[k] != NONE -> node[k] = where
    :: else
    fi
}

/* The thread of kernel K has found its entry marked and hidden, and may move the page. */
inline touch(k)
{
    atomic { !locked -> locked = true; other1 = sharer[1] && BUG != 7; other2 = sharer[2] && BUG != 7 };
    if
    :: entry[k] < HIDDEN && BUG != 1 -> goto unlock /* another one was first */
    :: else
    fi;
    taken++;
    assert(taken == 1);
    if
    :: where != k ->
        if /* STILL is put off while an answer is under way */
        :: other1 -> !asking[1]
        :: else
        fi;
        if
        :: other2 -> !asking[2]
        :: else
        fi;
        where = k;
        atomic { replace(0) };
        if
        :: other1 || k == 1 -> atomic { replace(1) }
        :: else
        fi;
        if
        :: other2 || k == 2 -> atomic { replace(2) }
        :: else
        fi
    :: BUG == 2 ->
        atomic { writable(k) };
        goto unlock
    :: BUG != 2 /* it is where it is wanted, or there is no frame */
    fi;
    atomic { writable(0) };
    if
    :: other1 || k == 1 -> atomic { writable(1) }
    :: else
    fi;
    if
    :: other2 || k == 2 -> atomic { writable(2) }
    :: else
    fi;
unlock:
    locked = false
}

/* Kernel K has no entry: it asks the home, and if that is busy takes the lock. */
inline fetch(k)
{
    atomic { asking[k] = true; superseded[k] = false };
    atomic {
        busy = locked;
        sharer[k] = sharer[k] || !locked;
        mark = entry[0] >= HIDDEN && BUG != 3;
        from = node[0]
    };
    atomic {
        asking[k] = false;
        if
        :: busy
        :: !busy ->
            node[k] = from;
            entry[k] = (mark && (!superseded[k] || BUG == 4) -> HIDDEN : PLAIN)
        fi
    };
    if
    :: busy ->
        atomic {
            !locked ->
            sharer[k] = true;
            node[k] = node[0];
            entry[k] = (entry[0] >= HIDDEN && BUG != 3 -> HIDDEN : PLAIN)
        }
    :: else
    fi
}

proctype kernel(byte k)
{
    byte done, from;
    bool busy, mark, other1, other2;

    do
    :: done == OPERATIONS -> break
    :: done < OPERATIONS && entry[k] == NONE -> fetch(k)
    :: done < OPERATIONS && entry[k] == HIDDEN && MAY(k) -> touch(k)
    :: atomic {
        done < OPERATIONS && entry[k] == HIDDEN && !MAY(k) ->
        entry[k] = (BUG == 5 && k == 0 -> PLAIN : SHOWN)
       }
    :: atomic {
        done < OPERATIONS && (entry[k] == PLAIN || entry[k] == SHOWN) -> /* an access without a fault */
        done++;
        assert(locked || marks == 0 || taken == 1 || !MAY(k));
        assert(locked || node[k] == where)
       }
    od;
    running--
}

init {
    atomic {
        entry[0] = PLAIN;
        entry[1] = PLAIN;
        sharer[1] = true;
        running = 4;
        run marker();
        run kernel(0);
        run kernel(1);
        run kernel(2)
    }
    running == 0;
    assert(node[0] == where && (entry[1] == NONE || node[1] == where) && (entry[2] == NONE || node[2] == where));
    assert(taken == 0 || (entry[0] < HIDDEN && entry[1] < HIDDEN && entry[2] < HIDDEN))
}
