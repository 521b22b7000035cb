/* A file is written or executed (ETXTBSY); kernel/fs/tree/tree.md has the tables. Kernel 0 has the file. A WRITER of kernel 1
 * has it open through a proxy, closes it, and is seen to have done so; then a RUNNER of kernel 2 executes it, must not be
 * refused, ends without waiting for its last message, and is seen to have ended; then a SECOND writer, of kernel 3, opens the
 * file, and must not be refused either. A STRANGER, of kernel 4, opens it to write at any time, may be refused, and closes.
 *
 * The ring of each kernel to kernel 0 is ordered, and nothing orders messages of two rings. An atomic step is a critical
 * section of node->lock, or a handler of kernel 0, which answers at once. FLUSH is STOP_FLUSH.
 *
 * Asserted: the file is never open to be written and executed at once; who opens it after the last other open was seen to be
 * closed gets it, if the stranger has not got it; in the end it is neither written nor executed. -DDEATH: kernel 1 may die
 * once it has asked for the file, before kernel 0 has its close.
 *
 * Seeded bugs: 1 who is refused does not ask again; 2 it asks again without having the others catch up; 3 only its own
 * kernel catches up; 4 a kernel has caught up before kernel 0 has answered; 5 a refused open is counted; 6 an execution does
 * not look for writers; 7 the opens of a dead kernel stay. */
#ifndef BUG
#define BUG 0
#endif
#define KERNELS 5

mtype = { WRITE, RUN, END_WRITE, END_RUN, FLUSH };

chan ring[KERNELS] = [4] of { mtype, byte }; /* to kernel 0; of FLUSH: for whom */
chan answer[KERNELS] = [1] of { bool };      /* to the task that waits: false is ETXTBSY */
chan flushed[KERNELS * KERNELS] = [1] of { bool };
byte writers, runs, stranger;
bool closed, ended, over, gone, dead;

/* regular_open(), release() */
active proctype zero()
{
    byte k, whose;
    mtype what;
    bool busy;

end:
    do
    :: atomic {
           select (k : 1 .. KERNELS - 1);
           if
           :: k == 1 && dead -> skip
           :: else ->
               if
               :: nempty(ring[k]) ->
                   ring[k]?what, whose;
                   if
                   :: what == WRITE ->
                       busy = runs > 0;
                       writers = writers + (!busy || BUG == 5 -> 1 : 0);
                       stranger = stranger + (k == 4 && !busy -> 1 : 0);
                       answer[k]!(!busy)
                   :: what == RUN ->
                       busy = writers > 0 && BUG != 6;
                       runs = runs + (!busy -> 1 : 0);
                       answer[k]!(!busy)
                   :: what == END_WRITE ->
                       writers--;
                       stranger = stranger - (k == 4 -> 1 : 0)
                   :: what == END_RUN -> runs--
                   :: what == FLUSH -> flushed[whose * KERNELS + k]!true
                   fi
               :: empty(ring[k])
               fi
           fi;
           assert(writers == 0 || runs == 0);
           assert(writers < 4 && runs < 4)
       }
    od
}

/* run_catch_up() of kernel K, or flush(), for an asker on kernel A */
inline catch_up(a, k)
{
    if
    :: k == 1 && dead
    :: else ->
        ring[k]!FLUSH, a;
        if
        :: BUG == 4
        :: else ->
            if
            :: flushed[a * KERNELS + k]?true
            :: k == 1 && dead
            fi
        fi
    fi
}

/* tree_ask() at kernel K */
inline ask(k, what, got)
{
    ring[k]!what, 0;
    answer[k]?got;
    if
    :: got || BUG == 1
    :: else ->
        if
        :: BUG == 2
        :: else ->
            catch_up(k, k);
            if
            :: BUG == 3
            :: else ->
                catch_up(k, 1);
                if
                :: k != 2 -> catch_up(k, 2)
                :: else
                fi;
                if
                :: k != 3 -> catch_up(k, 3)
                :: else
                fi;
                if
                :: k != 4 -> catch_up(k, 4)
                :: else
                fi
            fi
        fi;
        ring[k]!what, 0;
        answer[k]?got
    fi
}

active proctype writer()
{
    bool got;

    ring[1]!WRITE, 0;
    answer[1]?got;
    if
    :: got -> ring[1]!END_WRITE, 0
    :: else
    fi;
    closed = true
}

#ifdef DEATH
/* The fence of kernel 1: its ring is dropped, and lost_files_drop() ends the opens that nobody has. */
active proctype death()
{
    atomic {
        closed;
        if
        :: ring[1]?[END_WRITE, 0] ->
            writers = writers - (BUG == 7 -> 0 : 1);
            dead = true
        :: else
        fi
    }
}
#endif

active proctype runner()
{
    bool got;
    byte before;

    closed;
    before = gone;
    ask(2, RUN, got);
    assert(got || !before || stranger > 0);
    if
    :: got -> ring[2]!END_RUN, 0
    :: else
    fi;
    ended = true
}

active proctype second()
{
    bool got;

    ended;
    ask(3, WRITE, got);
    assert(got);
    if
    :: got -> ring[3]!END_WRITE, 0
    :: else
    fi;
    over = true
}

active proctype strange()
{
    bool got;

    if
    :: ask(4, WRITE, got);
       if
       :: got -> ring[4]!END_WRITE, 0
       :: else
       fi
    :: skip
    fi;
    gone = true
}

active proctype judge()
{
    over && gone;
    (dead || empty(ring[1])) && empty(ring[2]) && empty(ring[3]) && empty(ring[4]);
    assert(writers == 0 && runs == 0)
}
