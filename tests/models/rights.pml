/* Files in messages of sockets; kernel/ipc/socket/sockets.md has the table. Sockets B, which another thread of its owner may close
 * at any time, and D are on kernel 0; a file F is on kernel 3. A SENDER of kernel 1 has F, D, and what is connected to B and
 * D. In any order it sends F to D, D to B, and F to B, and then closes its descriptors. A RECEIVER of kernel 2 reads B, and
 * D when that came: with room for files or not, and perhaps none in its table.
 *
 * An atomic step is a critical section of socket_lock, or of the count of opens at a file's kernel, which FILE_SHARE and
 * FILE_DROP bring there: their callers wait, or need not. A proxy of F in a packet is the open that it holds.
 *
 * Asserted: no file is closed more often than it was opened, who has one may use it, and in the end all are closed. Not in
 * it: circles of sockets, which stay.
 *
 * Seeded bugs: 1 a file is sent with the open of the sender's descriptor; 2 a send that fails leaves its opens; 3 what is
 * handed to the receiver is closed with the packet; 4 who sweeps sees that all is done, and says so later; 5 who sweeps does
 * not see what comes meanwhile; 6 a file for which there is no room is nobody's; 7 a send that fails closes the files, and
 * so does the sender; 8 what does not fit into the table is nobody's; 9 a closed socket keeps its queue. */
#ifndef BUG
#define BUG 0
#endif
#define F 0
#define B 1
#define D 2
#define NONE 3

byte opens[3];
bool closed[3];
chan queue_b = [2] of { byte }; /* of B: the file of each packet */
chan queue_d = [1] of { byte };
chan garbage = [4] of { byte };
bool sweeping;
byte ended;

/* release(): socket_drop_queue_locked() */
inline release(f)
{
    closed[f] = true;
    if
    :: f == B && BUG != 9 ->
        do
        :: queue_b?g -> garbage!g
        :: empty(queue_b) -> break
        od
    :: f == D && BUG != 9 ->
        do
        :: queue_d?g -> garbage!g
        :: empty(queue_d) -> break
        od
    :: else
    fi;
    g = 0
}

/* file_close() */
inline close(f)
{
    atomic {
        assert(opens[f] > 0);
        opens[f]--;
        if
        :: opens[f] == 0 -> release(f)
        :: else
        fi
    }
}

/* socket_sweep(); that of a socket which is closed here finds that somebody sweeps. */
inline sweep()
{
    atomic {
        mine = !sweeping;
        sweeping = true;
        most = (BUG == 5 -> len(garbage) : 255)
    }
    do
    :: mine ->
        atomic {
            if
            :: nempty(garbage) && most > 0 -> garbage?item; most--
            :: else ->
                mine = false;
                item = NONE;
                sweeping = BUG == 4
            fi
        }
        if
        :: item != NONE -> close(item)
        :: else ->
            if
            :: BUG == 4 -> sweeping = false
            :: else
            fi
        fi
    :: else -> break
    od;
    atomic { item = 0; most = 0 }
}

/* file_drop(), table_close() */
inline drop(f)
{
    close(f);
    sweep()
}

/* socket_share(), then SOCKET_SEND from what is connected to B or D */
inline send(f, to)
{
    if
    :: BUG != 1 -> atomic { assert(opens[f] > 0); opens[f]++ }
    :: else
    fi;
    atomic {
        failed = closed[to];
        if
        :: !failed && to == B -> queue_b!f
        :: !failed && to == D -> queue_d!f
        :: failed && BUG == 7 -> garbage!f
        :: else
        fi
    }
    sweep();
    if
    :: failed && BUG != 2 -> drop(f)
    :: else
    fi;
    failed = false
}

proctype sender()
{
    byte item, g, most;
    bool mine, failed, first, second, third;

    do
    :: !first -> first = true; send(F, D)
    :: !second -> second = true; send(D, B)
    :: !third -> third = true; send(F, B)
    :: first && second && third -> break
    od;
    drop(F);
    drop(D);
    ended++
}

/* SOCKET_RECEIVE, give_files(), then socket_install() */
inline receive(queue, from)
{
    atomic {
        if
        :: closed[from] || (empty(queue) && ended >= 1) -> over = true
        :: !closed[from] && nempty(queue) ->
            queue?f;
            if
            :: given = true
            :: given = false
            fi;
            if
            :: (!given && BUG != 6) || BUG == 3 -> garbage!f
            :: else
            fi
        fi
    }
    sweep();
    if
    :: !over && given ->
        if
        :: true -> assert(opens[f] > 0)
        :: true -> /* EMFILE */
            if
            :: BUG != 8 -> drop(f)
            :: else
            fi;
            given = false
        fi
    :: else
    fi
}

proctype receiver()
{
    byte item, g, f, most;
    bool mine, given, over, has_d;

    do
    :: !over ->
        receive(queue_b, B);
        if
        :: !over && given && f == D -> has_d = true
        :: !over && given && f != D -> drop(f)
        :: else
        fi;
        given = false
    :: else -> break
    od;
    over = false;
    if
    :: has_d ->
        if
        :: nempty(queue_d) ->
            receive(queue_d, D);
            if
            :: !over && given -> drop(f)
            :: else
            fi
        :: true
        fi;
        drop(D)
    :: else
    fi;
    ended++
}

proctype closer()
{
    byte item, g, most;
    bool mine;

    drop(B);
    ended++
}

init {
    atomic {
        opens[F] = 1;
        opens[B] = 1;
        opens[D] = 1;
        run sender();
        run receiver();
        run closer()
    }
    timeout;
    assert(ended == 3 && !sweeping);
    assert(empty(garbage) && empty(queue_b) && empty(queue_d));
    assert(opens[F] == 0 && opens[B] == 0 && opens[D] == 0)
}
