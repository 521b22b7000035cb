/* Reports of accesses on their way to the home (mm/seen/gather.md): kernel 0 is the home, and each of the others has a
 * driver, which reports and waits, and may be a relay of those with higher numbers. Which kernel is a relay's next one is
 * chosen at each message, as kernels may disagree about who runs. A message names the reporters whose reports it has. The
 * home answers always; a relay may be without memory once.
 *
 * Checked: a driver whose letter is answered has been noted, unless its kernel has died; one letter leads where there are
 * any; a kernel that stops has no letter; no deadlock.
 *
 * -DDIE: kernel 1 dies. -DSTOP: kernel 1 stops: timers, which drivers are, are quiesced first.
 *
 * Seeded bugs: 1 each letter is sent at once, so that several lead; 2 when a message has been answered, no waiting letter
 * is sent; 3 letters that ride are not answered; 4 a letter is added to the message that is under way; 5 a kernel stops
 * without waiting for drivers; 6 a message that a relay refuses is not sent to the home; 7 the next kernel may have a
 * higher number, and does not refuse. */
#ifndef BUG
#define BUG 0
#endif
#define N 4
#ifdef SHORT
#define LOOKS 1
#else
#define LOOKS 2
#endif

#define NONE 0
#define WAITS 1
#define LEADS 2
#define RIDES 3
#define AT(n, c) ((n) * N + (c)) /* the letter from kernel C at kernel N; its own driver's if they are the same */

byte state[N * N], set[N * N];
byte message[N]; /* under way: a bit for each reporter */
bool direct[N];
chan in[N] = [N] of { byte, byte };
chan answers[N] = [N] of { bool };
bool up[N];
bool over[N]; /* the driver's letter has been answered */
bool busy[N];
byte noted;
bool held;
bool memory_fails = true;

/* Kernel N sends its message to the next one. */
inline send(n, next)
{
    if
    :: next = 0
    :: n > 1 -> next = 1
    :: n > 2 -> next = 2
    :: BUG == 7 && n < 2 -> next = 2
    fi;
    direct[n] = next == 0;
    in[next]!n, message[n]
}

/* The letter of C at N leads, and takes others along if there is room. */
inline lead(n, c, j)
{
    state[AT(n, c)] = LEADS;
    message[n] = set[AT(n, c)];
    j = 1;
    do
    :: j < N && state[AT(n, j)] == WAITS -> state[AT(n, j)] = RIDES; message[n] = message[n] | set[AT(n, j)]; j++
    :: j < N -> j++ /* no room, or none */
    :: j == N -> break
    od
}

/* A letter of C with the reports MANY comes to N. */
inline post(n, c, many, j, next, first)
{
    first = 0;
    j = 1;
    do
    :: j < N && state[AT(n, j)] == LEADS -> first = j; j++
    :: j < N && state[AT(n, j)] != LEADS -> j++
    :: j == N -> break
    od;
    assert(state[AT(n, c)] == NONE);
    set[AT(n, c)] = many;
    if
    :: first == 0 || BUG == 1 -> assert(first == 0); lead(n, c, j); send(n, next)
    :: first != 0 && BUG == 4 -> state[AT(n, c)] = RIDES
    :: first != 0 && BUG != 1 && BUG != 4 -> state[AT(n, c)] = WAITS
    fi
}

inline finish(n, c)
{
    state[AT(n, c)] = NONE;
    if
    :: c == n -> over[n] = true
    :: c != n -> answers[c]!true
    fi
}

proctype home()
{
    byte from, reports;
end:
    do
    :: atomic { in[0]?from, reports -> noted = noted | reports; answers[from]!true }
    od
}

proctype kernel(byte k)
{
    byte from, reports, i, to, leader;
    bool good;
end:
    do
    :: atomic { in[k]?from, reports ->
           if
           :: !up[k] -> answers[from]!false
           :: up[k] && from < k && BUG != 7 -> answers[from]!false
           :: up[k] && memory_fails && (from > k || BUG == 7) -> memory_fails = false; answers[from]!false
           :: up[k] && (from > k || BUG == 7) -> post(k, from, reports, i, to, leader)
           fi
       }
    :: atomic { answers[k]?good ->
           if
           :: !up[k]
           :: up[k] && !good && BUG != 6 -> assert(!direct[k]); direct[k] = true; in[0]!k, message[k]
           :: up[k] && (good || BUG == 6) ->
               i = 1;
               do
               :: i < N && (state[AT(k, i)] == LEADS || (state[AT(k, i)] == RIDES && BUG != 3)) -> finish(k, i); i++
               :: i < N && !(state[AT(k, i)] == LEADS || (state[AT(k, i)] == RIDES && BUG != 3)) -> i++
               :: i == N -> break
               od;
               leader = 0;
               i = 1;
               do
               :: i < N && state[AT(k, i)] == WAITS && BUG != 2 -> leader = i; break
               :: i < N && (state[AT(k, i)] != WAITS || BUG == 2) -> i++
               :: i == N -> break
               od;
               if
               :: leader != 0 -> lead(k, leader, i); send(k, to)
               :: leader == 0
               fi
           fi;
           good = false
       }
    od
}

proctype driver(byte k)
{
    byte looks = LOOKS, i, to, leader;

    do
    :: looks == 0 || !up[k] -> break
    :: atomic { looks > 0 && up[k] && !held ->
           looks--;
           busy[k] = true;
           over[k] = false;
           noted = noted & ~(1 << k);
           post(k, k, 1 << k, i, to, leader)
       };
       (over[k] || !up[k]);
       atomic {
           assert(!over[k] || (noted >> k & 1) == 1);
           busy[k] = false
       }
    od
}

/* What kernel 1 has kept is answered by its death. */
proctype death()
{
    byte i = 2;

    atomic {
        up[1] = false;
        do
        :: i < N && state[AT(1, i)] != NONE -> state[AT(1, i)] = NONE; answers[i]!false; i++
        :: i < N && state[AT(1, i)] == NONE -> i++
        :: i == N -> break
        od
    }
}

proctype stop()
{
    byte i = 1;

    held = true;
    if
    :: BUG != 5 -> (!busy[1] && !busy[2] && !busy[3])
    :: BUG == 5
    fi;
    atomic {
        do
        :: i < N -> assert(state[AT(1, i)] == NONE); i++
        :: i == N -> break
        od;
        up[1] = false;
        held = false
    }
}

init {
    atomic {
        up[1] = true;
        up[2] = true;
        up[3] = true;
        run home();
        run kernel(1);
        run kernel(2);
        run kernel(3);
        run driver(1);
        run driver(2);
        run driver(3);
#ifdef DIE
        run death()
#elif defined(STOP)
        run stop()
#endif
    }
}
