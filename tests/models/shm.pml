/* A System V segment that two homes have attached; kernel/ipc/sysv/shm.md has the tables. Kernel 0 has the segment and counts what
 * it has granted to each home; a home counts areas, and gives back all that it was granted when it has none left.
 * Processes attach and detach; one removes the segment; one asks who is attached.
 *
 * An atomic step is a critical section of ipc_lock, of the node, or of the homes' table of objects (mm/file/hold.c). What
 * is given back is taken back in two steps: grant_less(), then given_back().
 *
 * Asserted: the segment goes once, and only when nobody has it attached or is about to; when all is over it has gone; who
 * asks when nothing is attached any more is told so.
 *
 * -DFORK: one process forks to the other home, or its mapping fails. Else processes of one home attach again and again.
 *
 * Seeded bugs: 1 a home that has been granted as much as it told has nothing attached for sure; 2 a home answers before
 * what it gave back has arrived; 3 the last grant that comes back takes the segment along though there is another by
 * then; 4 a removal takes it along though it is granted; 5 a fork's child has its area without a grant; 6 a removal looks
 * and marks in two steps; 7 a mapping that fails keeps its grant; 8 a home gives back one grant, not all. */
#ifndef BUG
#define BUG 0
#endif
#define HOMES 2
#ifdef FORK
#define FIRST_ATTACHES 1
#define SECOND_HOME 1
#define SECOND_ATTACHES 0
#define MAY_FAIL true
#else
#define FIRST_ATTACHES 1
#define SECOND_HOME 0
#define SECOND_ATTACHES 2
#define MAY_FAIL false
#endif

bool here = true;       /* the segment is in the table */
bool removed;           /* SHM_REMOVED */
byte grants[HOMES];     /* node->maps->granted */
byte under_way;         /* attaches that are granted, and not areas yet */
byte gone;

byte users[HOMES];      /* struct hold */
byte granted[HOMES];
byte attached[HOMES];
byte returning[HOMES];
byte living;            /* processes that have not detached */
#ifdef FORK
bool forked;
#endif

#define GRANTED (grants[0] + grants[1] != 0)
#define ATTACHED (attached[0] + attached[1] + under_way != 0)

inline take_out()
{
    assert(here && !ATTACHED);
    here = false;
    gone++
}

/* FILE_HOLD, fewer, and its answer. */
proctype giver(byte h; byte n)
{
    bool last;

    atomic { assert(grants[h] >= n); grants[h] = grants[h] - n; last = !GRANTED }
    atomic {
        if
        :: here && last && removed && (!GRANTED || BUG == 3) -> take_out()
        :: else
        fi
    }
    returning[h]--
}

inline detach(h)
{
    atomic { /* note_area(), AREA_GOES */
        attached[h]--;
        users[h]--;
        if
        :: users[h] == 0 ->
            returning[h]++;
            run giver(h, (BUG == 8 -> 1 : granted[h]));
            granted[h] = 0
        :: else
        fi
    }
}

proctype child(byte h)
{
    detach(h);
    living--
}

/* shmat(), perhaps fork(), shmdt() */
proctype process(byte h; byte times)
{
    bool good;

    do
    :: times > 0 ->
        times--;
        atomic {
            good = here;
            if
            :: good -> grants[h]++; under_way++
            :: else
            fi
        }
        if
        :: good && MAY_FAIL -> /* no room: file_hold_return() */
            atomic {
                under_way--;
                if
                :: BUG != 7 -> returning[h]++; run giver(h, 1)
                :: else
                fi
            }
        :: good ->
            atomic { users[h]++ } /* set_area_locked(): file_hold_begin() */
            atomic { granted[h]++; attached[h]++; under_way-- }
            if
#ifdef FORK
            :: atomic { !forked -> forked = true }
                atomic { grants[1 - h] = grants[1 - h] + (BUG != 5) } /* file_hold_take() */
                atomic {
                    granted[1 - h] = granted[1 - h] + (BUG != 5);
                    users[1 - h]++;
                    attached[1 - h]++;
                    living++;
                    run child(1 - h)
                }
#endif
            :: true
            fi;
            detach(h)
        :: !good
        fi
    :: else -> break
    od;
    living--
}

proctype remover()
{
    bool found;

    atomic { found = GRANTED }
    atomic {
        if
        :: (BUG == 6 -> !found : !GRANTED || BUG == 4) -> take_out()
        :: else -> removed = true
        fi
    }
    living--
}

/* shm_ask() with IPC_STAT */
proctype asker()
{
    byte told_granted[HOMES], told_attached[HOMES], before[HOMES];
    bool asked[HOMES];
    byte ask, count, h;
    bool quiet, sure;

    quiet = living == 0;
    do
    :: atomic { /* count_areas() */
        ask = HOMES;
        count = 0;
        sure = true;
        h = 0;
        do
        :: h < HOMES ->
            if
            :: grants[h] != 0 && !asked[h] -> ask = h; before[h] = grants[h]
            :: grants[h] != 0 && asked[h] ->
                before[h] = (grants[h] < before[h] -> grants[h] : before[h]);
                count = count + told_attached[h] +
                        (before[h] > told_granted[h] -> before[h] - told_granted[h] : 0);
                sure = BUG == 1 && sure && grants[h] == told_granted[h]
            :: else
            fi;
            h++
        :: else -> break
        od;
        h = 0;
        if
        :: ask == HOMES ->
            if
            :: here && removed && sure && count == 0 -> take_out()
            :: else
            fi;
            assert(!quiet || count == 0);
            break
        :: else
        fi
       }
        atomic { /* file_hold_ask() */
            returning[ask] == 0 || BUG == 2 ->
                told_granted[ask] = granted[ask];
                told_attached[ask] = attached[ask];
                asked[ask] = true
        }
    od
}

init {
    atomic {
        living = 3;
        run process(0, FIRST_ATTACHES);
        run process(SECOND_HOME, SECOND_ATTACHES);
        run remover();
        run asker()
    }
    timeout;
    assert(gone == 1 && !here && !GRANTED && living == 0)
}
