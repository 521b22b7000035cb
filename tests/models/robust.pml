/* Where the home of a process has the robust list of a thread, which would be lost with the kernel that it is on
 * (tasks/futex/futex.md): in a note, which that kernel A or B writes into the home's memory, or in a record. The thread
 * sets its list and moves, up to STEPS times. Any kernel may die at any moment, so what must hold then is asserted
 * after every step, and no kernel dies.
 *
 * Promises, asserted: of a thread that runs on A or B, or has left it by a MIGRATE that is not handled, the home has
 * the list that it has set last; a kernel has a note of a thread that is there alone, and not besides a record.
 *
 * Seeded bugs: 1 the note is dropped when a thread leaves for home; 2 a thread leaves for a third kernel without a
 * record; 3 a thread that returns before its departure was answered keeps the note; 4 the answer to an earlier
 * departure drops the note; 5 a note is taken although the home has a record; 6 a thread leaves home without a record;
 * 7 the note of a thread that has gone home stays. */
#ifndef BUG
#define BUG 0
#endif
#ifdef SHORT
#define STEPS 5
#else
#define STEPS 7
#endif
#define HOME 0
#define KERNELS 3
#define ABSENT 0
#define PRESENT 1
#define LEAVING 2
#define SHADOW 3

byte replica[KERNELS];
byte list[KERNELS];   /* the context of each replica */
byte departure[KERNELS];
bool asks[KERNELS];   /* the home is asked for a record, before the thread leaves */
byte target[KERNELS];
byte note[KERNELS];   /* the list; 0: none */
byte record;
byte last;            /* what the thread has set last */
byte under_way = HOME; /* A or B, whose MIGRATE is not handled */
byte steps;
chan migrate = [1] of { byte, byte, byte, byte }; /* from, to, list, departure */
chan answer = [STEPS] of { byte, byte };          /* to, departure */

inline check()
{
    assert(!(replica[1] == PRESENT || under_way == 1) || last == 0 || record == last || note[1] == last);
    assert(!(replica[2] == PRESENT || under_way == 2) || last == 0 || record == last || note[2] == last);
    assert(note[1] == 0 || replica[1] == PRESENT || replica[1] == LEAVING);
    assert(note[2] == 0 || replica[2] == PRESENT || replica[2] == LEAVING);
    assert(note[1] == 0 || record == 0 || replica[1] != PRESENT || asks[1]);
    assert(note[2] == 0 || record == 0 || replica[2] != PRESENT || asks[2])
}

/* The thread, on kernel K, sets its list. */
inline set(k, value)
{
    if
    :: k == HOME && record != 0 -> record = value
    :: k == HOME && record == 0 -> skip
    :: k != HOME && note[k] != 0 -> note[k] = value
    :: k != HOME && note[k] == 0 && (list[k] == 0 || BUG == 5) -> note[k] = value
    :: k != HOME && note[k] == 0 -> record = value /* it has one already, or no note is free */
    fi;
    list[k] = value;
    last = value
}

inline leave(k)
{
    replica[k] = LEAVING;
    departure[k]++;
    if
    :: k != HOME -> under_way = k
    :: else
    fi;
    migrate ! k, target[k], list[k], departure[k]
}

proctype kernel(byte k)
{
    byte from, value, number;

end:
    do
    :: atomic {
        replica[k] == PRESENT && !asks[k] && steps < STEPS ->
        steps++;
        if
        :: value = 0
        :: value = 1
        :: value = 2
        fi;
        if
        :: value != list[k] -> set(k, value)
        :: else
        fi;
        check()
    }
    :: atomic {
        replica[k] == PRESENT && !asks[k] && steps < STEPS ->
        steps++;
        if
        :: target[k] = (k + 1) % KERNELS
        :: target[k] = (k + 2) % KERNELS
        fi;
        if
        :: k == HOME ->
            if
            :: list[k] != 0 && BUG != 6 -> record = list[k]
            :: else
            fi;
            leave(k)
        :: k != HOME && target[k] != HOME && note[k] != 0 && BUG != 2 ->
            asks[k] = true;
            record = list[k]
        :: else ->
            if
            :: BUG == 1 && target[k] == HOME -> note[k] = 0
            :: else
            fi;
            leave(k)
        fi;
        check()
    }
    :: atomic { asks[k] -> note[k] = 0; asks[k] = false; leave(k); check() }
    :: atomic {
        migrate ?? [from, eval(k), value, number] ->
        migrate ?? from, eval(k), value, number;
        under_way = HOME;
        if
        :: replica[k] == LEAVING && BUG != 3 -> note[k] = 0
        :: else
        fi;
        replica[k] = PRESENT;
        list[k] = value;
        answer ! from, number;
        check()
    }
    :: atomic {
        answer ?? [eval(k), number] ->
        answer ?? eval(k), number;
        if
        :: (replica[k] == LEAVING && departure[k] == number) || BUG == 4 ->
            if
            :: replica[k] == LEAVING && departure[k] == number -> replica[k] = SHADOW
            :: else
            fi;
            if
            :: BUG != 7 -> note[k] = 0
            :: else
            fi
        :: else
        fi;
        check()
    }
    od
}

init
{
    atomic {
        replica[HOME] = PRESENT;
        run kernel(0);
        run kernel(1);
        run kernel(2)
    }
}
