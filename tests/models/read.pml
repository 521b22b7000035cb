/* Reads that are kept until there is something to read (kernel/file/files.md, "A read that waits"). The home has a pipe
 * of which a writer writes bytes and may then close its end; two readers on another kernel ask for a byte each, and one of
 * them may give up at any time, and then asks for its answer. A reader of the home takes a byte too, if there is one.
 *
 * An atomic step is a critical section: of the pipe's lock, of the source's lock, of the lock of kept requests, or of
 * the requester's table. The channel loses nothing and keeps the order, also of a CANCEL, which recalls a request.
 *
 * Promises, asserted: every byte that was written is either read once, by a reader who returns it, or still in the pipe;
 * a request is answered once, and used no more afterwards; a CANCEL reaches no request but its own. When nothing can
 * happen any more every reader has returned: with bytes, with the end of the file, or because it gave up; only who did not
 * give up may still wait, for an empty pipe that somebody may write.
 *
 * -DCLOSE: the file itself is closed in the end; the readers learn it. -DSHORT: one byte.
 *
 * Seeded bugs: 1 who gives up drops the answer; 2 the read is kept without a look at the count of events; 3 a CANCEL may
 * be lost; 4 the worker answers without a look at who does; 5 the event does not read, and says that the file has ended;
 * 6 a pipe that was found empty is not marked as wanted; 7 a CANCEL is sent when the slot may be another request's;
 * 8 the count is read behind the try; 9 a kept read of a closed file waits on.
 */
#ifndef BUG
#define BUG 0
#endif
#ifdef SHORT
#define BYTES 1
#else
#define BYTES 2
#endif
#define READERS 2
#define SLOTS 2

mtype = { ASK, CANCEL, DATA, END, AGAIN, INTERRUPTED, CLOSED };

chan to_home = [6] of { mtype, byte, byte };   /* slot, serial of the request */
chan to_reader = [6] of { mtype, byte, byte }; /* the same */
chan work = [6] of { byte, byte };             /* requests whose cancel a worker is to call */

/* The home. A kept request is known by its slot and, so that a mistake shows, its serial. */
byte pipe_bytes, events;
bool wanted, writer = true, file_open = true;
bool waits[SLOTS], listed[SLOTS], cancelled[SLOTS];
byte serial_at[SLOTS];
byte taken_here;

/* The readers' kernel. */
bool used[SLOTS];
byte serials, serial_of[SLOTS], asker[SLOTS];
bool answered[READERS];
mtype answer_of[READERS];
byte bytes_read, returned, cancels_out;

inline reply(kind, i, s)
{
    to_reader!kind, i, s
}

/* pipe_read(): RESULT is DATA, END or AGAIN, under the pipe's lock. */
inline take_byte(result)
{
    atomic {
        if
        :: !file_open -> result = CLOSED
        :: file_open && pipe_bytes > 0 -> pipe_bytes--; result = DATA
        :: file_open && pipe_bytes == 0 && !writer -> result = END
        :: file_open && pipe_bytes == 0 && writer -> wanted = (BUG != 6); result = AGAIN
        fi
    }
}

/* watch_event() and fire() */
inline event()
{
    atomic {
        events++;
        i = 0;
        do
        :: i < SLOTS -> mine[i] = waits[i]; waits[i] = false; i++
        :: else -> break
        od;
        i = 0
    };
    do
    :: i < SLOTS ->
        if
        :: mine[i] ->
#if BUG == 5
            result = END;
#else
            take_byte(result);
#endif
#if BUG == 9
            if
            :: result == CLOSED -> skip
            :: else ->
#endif
            atomic {
                if
                :: result == CLOSED -> result = AGAIN
                :: else
                fi;
                assert(listed[i]);
                listed[i] = false;
                reply(result, i, serial_at[i])
            };
#if BUG == 9
            fi;
#endif
            mine[i] = false
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od
}

proctype writing()
{
    bool mine[SLOTS];
    byte i, n;
    mtype result;
    bool notify;

    do
    :: n < BYTES ->
        atomic { pipe_bytes++; notify = wanted; wanted = false };
        if
        :: notify -> event()
        :: else
        fi;
        n++
    :: else -> break
    od;
    n = 0;
#ifdef CLOSE
    file_open = false;
    event()
#else
    if
    :: writer = false; event()
    :: skip /* it stays open, and nothing happens any more */
    fi
#endif
}

proctype local_reader()
{
    mtype result;

    take_byte(result);
    if
    :: result == DATA -> taken_here++
    :: else
    fi
}

/* A handler: serve(), kept_read_begin(), handle_cancel(). */
proctype home()
{
    mtype kind, result;
    byte i, s, seen;

end:
    do
    :: to_home?kind, i, s ->
        if
        :: kind == ASK ->
#if BUG != 8
            seen = events;
#endif
            take_byte(result);
#if BUG == 8
            seen = events;
#endif
            atomic {
                if
                :: result == AGAIN && (events == seen || BUG == 2) ->
                    assert(!listed[i] && !waits[i]);
                    listed[i] = true; waits[i] = true; cancelled[i] = false; serial_at[i] = s
                :: else -> reply(result, i, s)
                fi
            }
        :: kind == CANCEL ->
            atomic {
                cancels_out--;
                if
                :: listed[i] && !cancelled[i] ->
                    assert(serial_at[i] == s);
                    cancelled[i] = true;
                    work!i, s
                :: else
                fi
            }
        fi
    od
}

/* run_cancel(), give_up() */
proctype worker()
{
    byte i, s;
    bool mine;

end:
    do
    :: work?i, s ->
        atomic {
            mine = (waits[i] && serial_at[i] == s) || BUG == 4;
            if
            :: mine -> waits[i] = false
            :: else
            fi
        };
        if
        :: mine -> atomic { assert(listed[i]); listed[i] = false; reply(INTERRUPTED, i, s) }
        :: else
        fi
    od
}

/* msg_take_reply() */
proctype taker()
{
    mtype kind;
    byte i, s;

end:
    do
    :: atomic {
           to_reader?kind, i, s ->
           if
           :: used[i] && serial_of[i] == s ->
               used[i] = false;
               answered[asker[i]] = true;
               answer_of[asker[i]] = kind
           :: else -> assert(BUG == 1) /* an answer that nobody waits for */
           fi
       }
    od
}

proctype reader(byte me)
{
    byte i, s;
    bool waiting = true, sent;

    do
    :: waiting ->
        atomic { /* a free slot */
            if
            :: !used[0] -> i = 0
            :: used[0] && !used[1] -> i = 1
            fi;
            used[i] = true;
            asker[i] = me;
            answered[me] = false;
            serials++;
            s = serials;
            serial_of[i] = s;
            to_home!ASK, i, s
        };
end:
        if
        :: answered[me]
        :: atomic { /* recall(), after a signal: the slot is still this request's */
               !answered[me] && me == 0 ->
               sent = true;
#if BUG == 1
               used[i] = false;
               waiting = false;
#endif
#if BUG == 3
               if
               :: sent = false
               :: skip
               fi;
#endif
#if BUG != 7
               if
               :: sent -> cancels_out++; to_home!CANCEL, i, s
               :: else
               fi
#endif
           };
#if BUG == 7
           atomic { cancels_out++; to_home!CANCEL, i, s };
#endif
#if BUG != 1
           answered[me]
#endif
        fi;
        atomic {
            sent = false;
            s = 0;
            if
            :: !waiting
            :: waiting && answer_of[me] == DATA -> bytes_read++; waiting = false
            :: waiting && answer_of[me] == END -> assert(!writer); waiting = false
            :: waiting && (answer_of[me] == INTERRUPTED || answer_of[me] == CLOSED) -> waiting = false
            :: waiting && answer_of[me] == AGAIN /* FILE_READY */
            fi;
            i = 0
        }
    :: else -> break
    od;
    returned++
}

init
{
    atomic {
        run home();
        run writing();
        run local_reader();
        run worker();
        run taker();
        run reader(0);
        run reader(1)
    };
    timeout;
    assert(returned == READERS || (returned == READERS - 1 && writer && file_open && pipe_bytes == 0));
    assert(listed[0] + listed[1] == READERS - returned && waits[0] + waits[1] == READERS - returned);
    assert(cancels_out == 0 && bytes_read + taken_here + pipe_bytes == BYTES)
}
