/* The directory (mm/directory/directory.md), for two pages of one part of it, on three kernels, kernel 0 the home. Tasks of all kernels lock a
 * page and unmap it everywhere or map it for their kernel; those of kernels 1 and 2 also ask the home with questions, whose answers may bring the other page
 * along, and map and unmap a page in a lease. A kernel's part in a change is a step of its own, at any time after the grant, as its message
 * would be; one of them may fail. The home may stop while nothing is under way, and another kernel has its tables then.
 *
 * Checked: whoever knows of a page, or has an answer under way that tells of it, is among those that the holder of the page's lock asks, when it is granted and
 * until it is released; after an unmap nobody knows of the page; no deadlock.
 *
 * Seeded bugs: 1 a mark is made after the answer; 2 a question is answered while the page is locked; 3 the sharers are read when the lock is requested; 4 what a
 * lease's holder has is not marked; 5 after an unmap that has failed only those are marked everywhere that are still marked; 6 marks are cleared while the other page has an area; 7 after an unmap that has failed nobody is marked;
 * 8 the next home has no marks; 9 a fetch under the lock marks nobody.
 *
 * -DOWNERS: whose memory frames are, as each kernel notes it for itself. Kernel 0 is the home and kernel 1 a member; kernels 2 and 3 give frames, stop and die.
 * Each of two pages is in a block of its own. Threads of both touch a page with a frame of their kernel or a given one, ask the home for it, move it to the other
 * block, have its frame replaced, and unmap it. A kernel that dies, or stops with its frames copied to another, is looked for in the blocks that are noted for it,
 * while programs are quiesced; a look may lack memory, and then programs run before the next one.
 *
 * Checked: after it no entry names a frame of that kernel. Seeded bugs: 10 a member does not note what an answer brings; 11 the home does not note a frame that the
 * asker has brought; 12 a moved entry is not noted at its new place; 13 nor is a frame that replaces another; 14 a look that lacked memory forgets the kernel. */
#ifndef BUG
#define BUG 0
#endif
#ifndef ROUNDS
#if defined(OWNERS) && defined(SHORT)
#define ROUNDS 3
#elif defined(OWNERS) || defined(SHORT)
#define ROUNDS 4
#else
#define ROUNDS 5
#endif
#endif

#ifdef OWNERS

#define MINE(k, i) frame[(k) * 2 + (i)]
#define NOTED(k, i, o) noted[(k) * 8 + (i) * 4 + (o)]

byte frame[4];     /* kernel, page: whose memory the entry's frame is, + 1; 0: no entry */
bool noted[16];    /* kernel, page, owner */
byte comes[2];     /* page: the answer under way to kernel 1, as in frame */
bool locked;       /* both pages */
bool dead[4];
bool quiet;        /* programs are to stand still */
byte busy;         /* threads that do something */
bool mayfail = true;
byte left = ROUNDS;
byte events = 2;

/* An entry of kernel AT for PAGE names a frame of OWNER - 1 from now on, or none. */
inline enter(at, page, owner, bug)
{
    MINE(at, page) = owner;
    if
    :: owner != 0 && owner - 1 != at && BUG != bug -> NOTED(at, page, owner - 1) = true
    :: else
    fi
}

inline choose(result, one, other)
{
    if
    :: result = one
    :: result = other
    fi
}

proctype task(byte k)
{
    byte i, o;
    bool asked;

    do
    :: left == 0 -> break
    :: atomic { !quiet && left > 0 -> left--; busy++; choose(i, 0, 1);
        if
        :: o = k
        :: !dead[2] -> o = 2
        :: !dead[3] -> o = 3
        fi }
       if
       :: atomic { !locked && comes[i] == 0 && MINE(0, i) == 0 -> /* a first touch */
            if
            :: k == 0 -> enter(0, i, o + 1, 255)
            :: else -> enter(0, i, o + 1, 11); comes[i] = o + 1; asked = true
            fi }
       :: atomic { k == 1 && !locked && comes[i] == 0 && MINE(0, i) != 0 -> comes[i] = MINE(0, i); asked = true }
       :: atomic { !locked && comes[0] == 0 && comes[1] == 0 && MINE(0, 1 - i) == 0 -> locked = true } /* mremap */
          atomic { enter(0, 1 - i, MINE(0, i), 12); MINE(0, i) = 0 }
          atomic { enter(1, 1 - i, MINE(1, i), 12); MINE(1, i) = 0; locked = false }
       :: atomic { !locked && comes[0] == 0 && comes[1] == 0 && MINE(0, i) != 0 -> locked = true } /* move_pages */
          atomic { enter(0, i, o + 1, 13) }
          atomic {
            if
            :: MINE(1, i) != 0 -> enter(1, i, o + 1, 13)
            :: else
            fi;
            locked = false }
       :: atomic { !locked && comes[0] == 0 && comes[1] == 0 -> locked = true } /* munmap */
          MINE(0, i) = 0;
          atomic { MINE(1, i) = 0; locked = false }
       :: true /* BUSY, or nothing to be done */
       fi;
       atomic {
        if
        :: asked -> enter(1, i, comes[i], 10); comes[i] = 0; asked = false
        :: else
        fi;
        busy--; i = 0; o = 0 }
    od
}

/* Kernel 2 or 3 dies, or kernel 2 stops, and starts again. */
proctype machine()
{
    byte x, k, i;
    bool stops, failed;

    do
    :: events == 0 -> break
    :: atomic { events > 0 -> events--; choose(x, 2, 3); choose(stops, false, true); stops = stops && x == 2; dead[x] = !stops }
again:
       quiet = true;
       busy == 0;
       k = 0;
       do
       :: k < 2 ->
            i = 0;
            do
            :: atomic { i < 2 && !failed ->
                if
                :: NOTED(k, i, x) && MINE(k, i) == x + 1 ->
                    if
                    :: stops -> enter(k, i, 4, 13)
                    :: !stops -> MINE(k, i) = 0
                    :: !stops && mayfail -> mayfail = false; failed = true
                    fi
                :: else
                fi;
                i++ }
            :: i == 2 || failed -> break
            od;
            atomic {
                if
                :: !failed || BUG == 14 -> NOTED(k, 0, x) = false; NOTED(k, 1, x) = false
                :: else
                fi;
                k++ }
       :: else -> break
       od;
       if
       :: failed -> failed = false; quiet = false; goto again
       :: else
       fi;
       atomic {
        assert(MINE(0, 0) != x + 1 && MINE(0, 1) != x + 1 && MINE(1, 0) != x + 1 && MINE(1, 1) != x + 1);
        dead[x] = false; quiet = false; x = 0; k = 0; i = 0 }
    od
}

init {
    atomic {
        run task(0);
        run task(1);
        run machine()
    }
}

#else

#define P(k, i) ((k) * 2 + (i))
#define MARKED(k) (mark[k] || every[k])
#define TAKEN(i) (locked[i] || wants[0] == (i) + 1 || wants[1] == (i) + 1 || wants[2] == (i) + 1)
#define REST_USED(i) (area[1 - (i)] && BUG != 6)
#define COMES(k, i) (answer[P(k, i)])

bool area[2];      /* at the home */
bool knows[6];     /* a kernel has an area or an entry */
bool mark[3];
bool every[3];
bool late[3];      /* bug 1: the mark is still to be made */
bool locked[2];
byte wants[3];     /* page + 1 that a task of the kernel waits for */
bool granted[3];
bool asked[9];     /* holder, kernel: the set in the grant */
bool todos[9];     /* holder, kernel: the kernel has yet to unmap the holder's page */
byte page[3];      /* the holder's */
bool failed[3];    /* a kernel has not done what the holder asked */
bool question[3];  /* under way */
bool reached[3];   /* the home has answered */
bool answer[6];
byte lease[2];     /* kernel, 0: none */
byte report[2];    /* on its way from the holder of a lease: 1: nothing there, 2: something */
byte from[2];      /* whose report it is */
bool mayfail = true;
bool maystop = true;
byte left = ROUNDS;

inline read_sharers(k)
{
    asked[k * 3 + 1] = MARKED(1);
    asked[k * 3 + 2] = MARKED(2)
}

/* At the grant of page I to K, and at its release. */
#define COMPLETE(k, i) ((asked[(k) * 3 + 1] || k == 1 || !(knows[P(1, i)] || COMES(1, i))) && \
                        (asked[(k) * 3 + 2] || k == 2 || !(knows[P(2, i)] || COMES(2, i))))

inline clear(i)
{
    if
    :: !REST_USED(i) -> mark[1] = false; mark[2] = false
    :: else
    fi
}

inline release(k, i, gone, bad)
{
    atomic {
        assert(COMPLETE(k, i) || bad);
        locked[i] = false;
        if
        :: bad && BUG == 5 -> every[1] = MARKED(1); every[2] = MARKED(2)
        :: bad && BUG != 7 && BUG != 5 ->
            every[1] = every[1] || asked[k * 3 + 1] || k == 1;
            every[2] = every[2] || asked[k * 3 + 2] || k == 2
        :: gone && !bad -> assert(!knows[P(1, i)] && !knows[P(2, i)]); clear(i)
        :: else
        fi;
        assert((!knows[P(1, i)] || MARKED(1)) && (!knows[P(2, i)] || MARKED(2)));
        asked[k * 3 + 1] = false; asked[k * 3 + 2] = false; failed[k] = false; page[k] = 0
    }
}

proctype task(byte k)
{
    byte i;

    do
    :: left == 0 -> break
    :: atomic { k == 0 && left > 0 -> /* a map at the home */
        left--;
        if
        :: i = 0
        :: i = 1
        fi;
        if
        :: !TAKEN(i) && lease[i] == 0 && report[i] == 0 -> area[i] = true
        :: else
        fi;
        i = 0 }
    :: atomic { k != 0 && left > 0 && lease[0] != k && lease[1] != k -> left--; question[k] = true;
        if
        :: i = 0
        :: i = 1
        fi }
       /* at the home, in one critical section */
       atomic {
        if
        :: (!TAKEN(i) || BUG == 2) && lease[i] == 0 && report[i] == 0 && area[i] ->
            if
            :: BUG == 1 -> late[k] = true
            :: else -> mark[k] = true
            fi;
            answer[P(k, i)] = true;
            answer[P(k, 1 - i)] = !TAKEN(1 - i) && lease[1 - i] == 0 && report[1 - i] == 0 && area[1 - i]
        :: else /* NONE or BUSY */
        fi;
        reached[k] = true }
       atomic { reached[k] ->
        knows[P(k, 0)] = knows[P(k, 0)] || answer[P(k, 0)]; answer[P(k, 0)] = false;
        knows[P(k, 1)] = knows[P(k, 1)] || answer[P(k, 1)]; answer[P(k, 1)] = false;
        reached[k] = false; question[k] = false; i = 0 }
    :: atomic { k != 0 && left > 0 && !question[k] -> /* a lease, and what is done in it */
        left--;
        if
        :: i = 0
        :: i = 1
        fi;
        if
        :: lease[i] == 0 && report[i] == 0 && !area[i] && !TAKEN(i) && !knows[P(1, i)] && !knows[P(2, i)] -> lease[i] = k; knows[P(k, i)] = true
        :: lease[i] == k -> knows[P(k, i)] = !knows[P(k, i)]
        :: else
        fi;
        i = 0 }
    :: atomic { left > 0 -> left--;
        if
        :: i = 0
        :: i = 1
        fi;
        wants[k] = i + 1;
        if
        :: BUG == 3 -> read_sharers(k)
        :: else
        fi }
       granted[k];
       if
       :: atomic { k != 0 -> /* a fetch: the page comes with the answer, which the lock covers */
            if
            :: area[i] && BUG != 9 -> mark[k] = true
            :: else
            fi;
            knows[P(k, i)] = knows[P(k, i)] || area[i] }
          release(k, i, false, false)
       :: atomic { true ->
            todos[k * 3 + 0] = k != 0; todos[k * 3 + 1] = k != 1 && asked[k * 3 + 1]; todos[k * 3 + 2] = k != 2 && asked[k * 3 + 2] }
          atomic { !todos[k * 3 + 0] && !todos[k * 3 + 1] && !todos[k * 3 + 2] ->
            if
            :: k == 0 && !failed[0] -> area[i] = false
            :: k != 0 && !failed[k] -> knows[P(k, i)] = false
            :: else
            fi }
          if
          :: failed[k] -> release(k, i, false, true)
          :: else -> release(k, i, true, false)
          fi
       fi;
       atomic { granted[k] = false; i = 0 }
    od
}

/* A kernel's part in an unmap that HOLDER makes. It is deferred while a question is under way. */
proctype part(byte k)
{
    byte holder;

end:
    do
    :: atomic { todos[0 * 3 + k] && !question[k] -> holder = 0; goto perform }
    :: atomic { todos[1 * 3 + k] && !question[k] -> holder = 1; goto perform }
    :: atomic { todos[2 * 3 + k] && !question[k] -> holder = 2;
perform:
        if
        :: k == 0 -> area[page[holder]] = false
        :: k != 0 -> knows[P(k, page[holder])] = false
        :: k != 0 && mayfail && knows[P(k, page[holder])] -> mayfail = false; failed[holder] = true
        fi;
        todos[holder * 3 + k] = false;
        holder = 0 }
    od
}

/* What the home does by itself: grants, recalls, and its own stop. */
proctype home()
{
    byte k, i;

end:
    do
    :: atomic { (wants[k] != 0 && !locked[wants[k] - 1] && lease[wants[k] - 1] == 0 && report[wants[k] - 1] == 0) ->
        i = wants[k] - 1;
        wants[k] = 0;
        locked[i] = true;
        page[k] = i;
        if
        :: BUG != 3 -> read_sharers(k)
        :: else
        fi;
        assert(COMPLETE(k, i));
        granted[k] = true;
        i = 0 }
    :: atomic { k < 2 -> k++ }
    :: atomic { k != 0 -> k = 0 }
    :: atomic { TAKEN(0) && lease[0] != 0 -> report[0] = (knows[P(lease[0], 0)] -> 2 : 1); from[0] = lease[0]; lease[0] = 0 }
    :: atomic { TAKEN(1) && lease[1] != 0 -> report[1] = (knows[P(lease[1], 1)] -> 2 : 1); from[1] = lease[1]; lease[1] = 0 }
    :: atomic { report[0] != 0 -> area[0] = area[0] || report[0] == 2; mark[from[0]] = mark[from[0]] || (report[0] == 2 && BUG != 4); report[0] = 0; from[0] = 0 }
    :: atomic { report[1] != 0 -> area[1] = area[1] || report[1] == 2; mark[from[1]] = mark[from[1]] || (report[1] == 2 && BUG != 4); report[1] = 0; from[1] = 0 }
    :: atomic { late[1] -> late[1] = false; mark[1] = true }
    :: atomic { late[2] -> late[2] = false; mark[2] = true }
    :: atomic { maystop && !TAKEN(0) && !TAKEN(1) && !question[1] && !question[2] && report[0] == 0 && report[1] == 0 && !late[1] && !late[2] ->
        maystop = false;
        if
        :: BUG == 8 -> mark[1] = false; mark[2] = false
        :: else
        fi }
    od
}

init {
    atomic {
        run task(0);
        run task(1);
        run task(2);
        run part(0);
        run part(1);
        run part(2);
        run home()
    }
}

#endif
