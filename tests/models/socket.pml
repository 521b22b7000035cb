/* Sockets with names: connecting, sending, the end; kernel/ipc/socket/sockets.md has the tables, kernel/ipc/socket/socket.c and
 * kernel/ipc/socket/queue.c the functions that are named here. All sockets are on kernel 0, under one lock. CLIENTs of two kernels
 * connect to a listener, one sends two packets, of which one fits into a queue, they shut down and wait for the end; the
 * SERVER of a third accepts as many as it likes, reads or shuts down, and closes; it may close the listener at any time.
 *
 * An atomic step is a critical section of socket_lock, or counts an event. What is done for a caller of another kernel,
 * by FILE_OPERATE and WATCH, is done as for one of kernel 0: its messages only take time, as each step here may. A count of
 * events that is compared is a flag: there was one since.
 *
 * Asserted: all come to an end; who reads to the end has got all that was sent; a peer is mutual, and memory that has gone
 * is not used.
 *
 * -DRACE: one client; another thread of it closes its socket meanwhile.
 *
 * Seeded bugs: 1 the events are counted after the operation; 2 who finds the backlog full waits for its own socket; 3 accept
 * tells nobody; 4 an event is counted before `telling` is cleared; 5 a receiver does not tell who sends; 6 shutdown does
 * not tell the peer; 7 a listener is closed and its backlog stays; 8 a socket is closed and its peer not told; 9 a listener
 * is closed and who waits for it is not told; 10 a closed socket connects; 11 a peer of a closed socket keeps it; 12 who
 * waits to send leaves no word. */
#ifndef BUG
#define BUG 0
#endif
#define LISTENER 0
#define CLIENT 1 /* the sockets of clients */
#define END 3    /* those of the listener's side */
#define SOCKETS 5
#define SERVER 2 /* callers: clients, then it */
#define CALLERS 3
#define NOBODY 7
#define BACKLOG 0
#define ROOM 1
#ifdef RACE
#define CLIENTS 1
#define PACKETS 1
#else
#define CLIENTS 2
#define PACKETS 2
#endif

mtype = { NEW, LISTENING, CONNECTED, DONE, AGAIN, OVER, FAILS };

mtype state[SOCKETS];
byte peer[SOCKETS];
bool lost[SOCKETS], no_read[SOCKETS], no_write[SOCKETS], accepted[SOCKETS], reset[SOCKETS];
bool wanted[SOCKETS], telling[SOCKETS];
bool gone[SOCKETS];          /* out of the table of files */
bool closed[SOCKETS];        /* released */
bool freed[SOCKETS];
byte pins[SOCKETS];
byte queue[SOCKETS];         /* packets */
byte sent[CLIENTS], got[CLIENTS];
bool news[SOCKETS * CALLERS]; /* events of a socket since a caller has read their count */
chan backlog = [2] of { byte };
byte ended;

#define NEWS(s, caller) news[(s) * CALLERS + (caller)]

/* file_event() */
inline count_event(s)
{
    d_step {
        NEWS(s, 0) = true;
        NEWS(s, 1) = true;
        NEWS(s, SERVER) = true
    }
}

/* socket_note_locked() */
inline note(s)
{
    if
    :: !telling[s] && wanted[s] -> wanted[s] = false; telling[s] = true; noted = noted | (1 << (s))
    :: else
    fi
}

/* socket_notify() */
inline tell()
{
    do
    :: noted != 0 ->
        atomic {
            n = 0;
            do
            :: (noted & (1 << n)) == 0 -> n++
            :: else -> break
            od;
            noted = noted & ~(1 << n);
            if
            :: BUG == 4 -> count_event(n)
            :: else -> telling[n] = false
            fi
        }
        atomic {
            if
            :: BUG == 4 -> telling[n] = false
            :: else -> count_event(n)
            fi;
            n = 0
        }
    :: else -> break
    od
}

/* file_find() of S for an operation, and its end */
inline begin(s)
{
    atomic {
        found = !gone[s];
        if
        :: found -> pins[s]++
        :: else
        fi;
        NEWS(s, me) = (BUG == 1 -> NEWS(s, me) : false)
    }
}

inline unpin(s)
{
    pins[s]--;
    if
    :: pins[s] == 0 -> assert(closed[s]); freed[s] = true
    :: else
    fi
}

inline finish(s)
{
    tell();
    atomic {
        unpin(s);
        NEWS(s, me) = (BUG == 1 -> false : NEWS(s, me))
    }
}

/* watch_wait_at() */
inline wait_for(s)
{
    if
    :: gone[s]
    :: !gone[s] -> NEWS(s, me)
    fi
}

/* connect_locked(): C, with E for the listener's side */
inline connect(c, e)
{
    atomic {
        assert(!freed[c]);
        if
        :: closed[c] && BUG != 10 -> result = FAILS
        :: !(closed[c] && BUG != 10) && (state[LISTENER] != LISTENING || no_read[LISTENER]) -> result = FAILS
        :: !(closed[c] && BUG != 10) && state[LISTENER] == LISTENING && !no_read[LISTENER] && len(backlog) > BACKLOG ->
            wanted[LISTENER] = true;
            NEWS(LISTENER, me) = false;
            result = AGAIN
        :: else ->
            peer[c] = e;
            peer[e] = c;
            state[c] = CONNECTED;
            state[e] = CONNECTED;
            pins[e] = 1;
            backlog!e;
            note(LISTENER);
            note(c);
            result = DONE
        fi
    }
}

/* accept_locked() */
inline accept()
{
    atomic {
        if
        :: state[LISTENER] != LISTENING -> result = FAILS
        :: state[LISTENER] == LISTENING && len(backlog) == 0 -> wanted[LISTENER] = true; result = AGAIN
        :: state[LISTENER] == LISTENING && len(backlog) > 0 ->
            backlog?e;
            accepted[e] = true;
            result = DONE;
            if
            :: BUG != 3 -> note(LISTENER)
            :: else
            fi
        fi
    }
}

/* socket_send_locked() */
inline send(s)
{
    atomic {
        to = peer[s];
        if
        :: state[s] != CONNECTED || no_write[s] || to == NOBODY -> result = FAILS
        :: else ->
            assert(!freed[to] && peer[to] == s);
            if
            :: no_read[to] -> result = FAILS
            :: !no_read[to] && queue[to] >= ROOM -> wanted[s] = wanted[s] || BUG != 12; result = AGAIN
            :: else -> queue[to]++; sent[me]++; note(to); result = DONE
            fi
        fi;
        to = 0
    }
}

/* socket_receive_locked() */
inline receive(s)
{
    atomic {
        if
        :: state[s] != CONNECTED -> result = FAILS
        :: state[s] == CONNECTED && queue[s] > 0 ->
            queue[s]--;
            result = DONE;
            if
            :: peer[s] != NOBODY && BUG != 5 -> assert(!freed[peer[s]]); note(peer[s])
            :: else
            fi
        :: state[s] == CONNECTED && queue[s] == 0 && reset[s] -> reset[s] = false; result = FAILS
        :: state[s] == CONNECTED && queue[s] == 0 && !reset[s] && (no_read[s] || lost[s]) -> result = OVER
        :: else -> wanted[s] = true; result = AGAIN
        fi
    }
}

/* shutdown_locked(): of READING or writing */
inline shut(s, reading)
{
    atomic {
        if
        :: reading -> no_read[s] = true
        :: else -> no_write[s] = true
        fi;
        if
        :: peer[s] != NOBODY ->
            assert(!freed[peer[s]]);
            if
            :: reading -> no_write[peer[s]] = true
            :: else -> no_read[peer[s]] = true
            fi;
            if
            :: BUG != 6 -> note(peer[s])
            :: else
            fi
        :: else
        fi;
        note(s)
    }
}

/* release(), but for the backlog; leave_locked() */
inline release(s)
{
    closed[s] = true;
    if
    :: peer[s] != NOBODY ->
        to = peer[s];
        assert(!freed[to] && peer[to] == s);
        reset[to] = reset[to] || queue[s] > 0 || !accepted[s];
        peer[s] = NOBODY;
        peer[to] = (BUG == 11 -> s : NOBODY);
        lost[to] = true;
        if
        :: BUG != 8 -> note(to)
        :: else
        fi;
        to = 0
    :: else
    fi;
    state[s] = NEW;
    queue[s] = 0
}

/* file_close() of the last open */
inline close(s)
{
    gone[s] = true;
    atomic { release(s) }
    tell();
    atomic { count_event(s); unpin(s) }
}

proctype client(byte me)
{
    byte noted, n, to, i;
    bool found;
    mtype result;

    do /* connect(2) */
    :: begin(CLIENT + me);
        if
        :: !found -> result = FAILS
        :: else -> connect(CLIENT + me, END + me); finish(CLIENT + me)
        fi;
        if
        :: result == AGAIN && BUG != 2 -> wait_for(LISTENER)
        :: result == AGAIN && BUG == 2 -> wait_for(CLIENT + me)
        :: else -> break
        fi
    od;
    do /* send(2) */
    :: result != FAILS && i < PACKETS - 2 * me ->
        begin(CLIENT + me);
        if
        :: !found -> result = FAILS
        :: else -> send(CLIENT + me); finish(CLIENT + me)
        fi;
        if
        :: result == AGAIN -> wait_for(CLIENT + me)
        :: result == DONE -> i++
        :: else
        fi
    :: else -> break
    od;
    if
    :: result != FAILS -> /* shutdown(2), and what the server says */
        begin(CLIENT + me);
        if
        :: !found -> result = FAILS
        :: else -> shut(CLIENT + me, false); finish(CLIENT + me); result = DONE
        fi
    :: result != FAILS
    :: else
    fi;
    do
    :: result != FAILS && no_write[CLIENT + me] && result != OVER ->
        begin(CLIENT + me);
        if
        :: !found -> result = FAILS
        :: else -> receive(CLIENT + me); finish(CLIENT + me)
        fi;
        if
        :: result == AGAIN -> wait_for(CLIENT + me)
        :: else
        fi
    :: else -> break
    od;
#ifndef RACE
    close(CLIENT + me);
#endif
    ended++
}

#ifdef RACE
proctype closer()
{
    byte noted, n, to, me;

    close(CLIENT);
    ended++
}
#endif

proctype server()
{
    byte me = SERVER, e, noted, n, to;
    bool found;
    mtype result;

    do
    :: begin(LISTENER); accept(); finish(LISTENER);
        if
        :: result == AGAIN ->
            if
            :: NEWS(LISTENER, me)
            :: ended == 2 -> break /* nobody connects any more */
            fi
        :: result == FAILS -> break
        :: result == DONE ->
            if
            :: begin(e); shut(e, true); finish(e)
            :: true
            fi;
            do
            :: begin(e); receive(e); finish(e);
                if
                :: result == AGAIN -> wait_for(e)
                :: result == DONE -> got[e - END]++
                :: else -> break
                fi
            od;
            assert(result == FAILS || no_read[e] && got[e - END] <= sent[e - END] || got[e - END] == sent[e - END]);
            assert(result == FAILS || !lost[e] || got[e - END] == sent[e - END]);
            close(e);
            atomic { e = 0; result = NEW }
        fi
    :: break
    od;
    gone[LISTENER] = true; /* file_close(), and release() with its backlog */
    atomic {
        closed[LISTENER] = true;
        state[LISTENER] = NEW
    }
    do
    :: len(backlog) > 0 && BUG != 7 ->
        atomic { backlog?e }
        close(e)
    :: else -> break
    od;
    atomic {
        if
        :: BUG != 9 -> count_event(LISTENER)
        :: else
        fi;
        unpin(LISTENER)
    }
    ended++
}

init {
    byte i;

    atomic {
        for (i : 0 .. SOCKETS - 1) {
            state[i] = NEW;
            peer[i] = NOBODY;
            pins[i] = i <= CLIENTS;
            accepted[i] = i < END
        }
        state[LISTENER] = LISTENING;
        run server();
        run client(0);
#ifdef RACE
        run closer()
#else
        run client(1)
#endif
    }
    timeout;
    assert(ended == 3);
    for (i : 0 .. SOCKETS - 1) {
        assert(pins[i] == 0 && !telling[i])
    }
}
