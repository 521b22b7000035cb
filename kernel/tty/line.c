/* The line discipline. See the header. The file has over 500 lines but one subject: each key is a few lines of code on
 * the same buffer. */
#include "kernel/tty/line.h"

#include "kernel/abi/signal.h"
#include "kernel/lib/string.h"

#define END_WITH_BYTE 0x100u /* this byte is its line's last */
#define END_ALONE 0x200u     /* the line ends here without a byte of its own: ^D */
#define TAB 8u
#define BELL 7u
#define DELETE 0x7fu
#define DISABLED 0u /* value of a control character that is not assigned */

static bool local(const struct line *line, uint32_t flag)
{
    return (line->modes.local & flag) != 0;
}

void line_init(struct line *line, const struct line_output_side *side, void *context)
{
    static const uint8_t characters[LINE_CHARACTERS] = {
        [LINE_VINTR] = 3,     [LINE_VQUIT] = 28,   [LINE_VERASE] = DELETE, [LINE_VKILL] = 21, [LINE_VEOF] = 4,
        [LINE_VMIN] = 1,      [LINE_VSTART] = 17,  [LINE_VSTOP] = 19,      [LINE_VSUSP] = 26, [LINE_VREPRINT] = 18,
        [LINE_VDISCARD] = 15, [LINE_VWERASE] = 23, [LINE_VLNEXT] = 22};

    memset(line, 0, sizeof(*line));
    memcpy(line->modes.characters, characters, sizeof(characters));
    line->modes.control = 0x18b2; /* 8 bits, 115200 baud */
    line->side = side;
    line->context = context;
}

void line_set_cooked(struct line *line)
{
    line->modes.input = LINE_ICRNL | LINE_IXON;
    line->modes.output = LINE_OPOST | LINE_ONLCR;
    line->modes.control = 0xbf; /* 8 bits, 38400 baud, receiver on */
    line->modes.local = LINE_ISIG | LINE_ICANON | LINE_ECHO | LINE_ECHOE | LINE_ECHOK | LINE_ECHOCTL | LINE_ECHOKE |
                        LINE_IEXTEN;
}

static bool is_control(uint8_t byte)
{
    return byte < 32 || byte == DELETE;
}

/* BYTE is the second or a later byte of a UTF-8 character. */
static bool is_rest(const struct line *line, uint8_t byte)
{
    return (line->modes.input & LINE_IUTF8) != 0 && (byte & 0xc0) == 0x80;
}

/* Sends BYTE unchanged and updates the cursor's column. */
static void send_byte(struct line *line, uint8_t byte)
{
    if (byte == '\r')
        line->column = 0;
    else if (byte == '\b')
        line->column -= line->column > 0 ? 1 : 0;
    else if (byte == '\t')
        line->column = line->column / TAB * TAB + TAB;
    else if (byte == '\n' && (line->modes.output & (LINE_OPOST | LINE_ONLRET)) != LINE_OPOST)
        line->column = 0; /* without OPOST, or with ONLRET, a newline returns to column 0 */
    else if (!is_control(byte) && !is_rest(line, byte))
        line->column++;
    line->side->send(line->context, byte);
}

void line_output(struct line *line, uint8_t byte)
{
    uint32_t modes = line->modes.output;

    if ((modes & LINE_OPOST) == 0) {
        send_byte(line, byte);
        return;
    }
    if (byte == '\n' && (modes & LINE_ONLCR) != 0) {
        send_byte(line, '\r');
    } else if (byte == '\r') {
        if ((modes & LINE_ONOCR) != 0 && line->column == 0)
            return;
        if ((modes & LINE_OCRNL) != 0)
            byte = '\n';
    } else if (byte == '\t' && (modes & LINE_TABS) == LINE_TABS) {
        do
            send_byte(line, ' ');
        while (line->column % TAB != 0);
        return;
    } else if ((modes & LINE_OLCUC) != 0 && byte >= 'a' && byte <= 'z') {
        byte -= 'a' - 'A';
    }
    send_byte(line, byte);
}

static bool shown_with_hat(const struct line *line, uint8_t byte)
{
    return local(line, LINE_ECHOCTL) && is_control(byte) && byte != '\t' && byte != '\n';
}

static void echo(struct line *line, uint8_t byte)
{
    if (shown_with_hat(line, byte)) {
        send_byte(line, '^');
        send_byte(line, byte ^ 0x40);
    } else {
        line_output(line, byte);
    }
}

bool line_room(const struct line *line)
{
    if (!local(line, LINE_ICANON))
        return line->head - line->tail < LINE_SIZE;
    return line->ends == 0 || line->head - line->tail < LINE_SIZE - 1;
}

static uint16_t *entry(struct line *line, uint32_t at)
{
    return &line->bytes[at % LINE_SIZE];
}

/* The columns that BYTE, which is not a tab, takes on the screen. */
static uint32_t columns_of(const struct line *line, uint8_t byte)
{
    if (shown_with_hat(line, byte))
        return 2;
    return is_control(byte) || is_rest(line, byte) ? 0 : 1;
}

/* The columns of the last character of the line being typed, which begins at entry AT. The width of a tab follows from
 * the columns before it, counted from the previous tab or from the column where the line began. */
static uint32_t columns_of_last(struct line *line, uint32_t at)
{
    uint32_t columns = 0;

    if ((uint8_t)*entry(line, at) != '\t') {
        for (; at != line->head; at++)
            columns += columns_of(line, (uint8_t)*entry(line, at));
        return columns;
    }
    while (at != line->ready && (uint8_t)*entry(line, at - 1) != '\t')
        columns += columns_of(line, (uint8_t)*entry(line, --at));
    if (at == line->ready)
        columns += line->start;
    return TAB - columns % TAB;
}

/* Ends the display of erased characters (ECHOPRT). */
static void finish_erasing(struct line *line)
{
    if (line->erasing)
        send_byte(line, '/');
    line->erasing = false;
}

/* The entry where the last character of the line being typed begins. The line must not be empty. */
static uint32_t last_character(struct line *line)
{
    uint32_t at = line->head;

    do
        at--;
    while (at != line->ready && is_rest(line, (uint8_t)*entry(line, at)));
    return at;
}

/* Removes the last character. BY_KEY: for VERASE, to which ECHOE applies. */
static void erase(struct line *line, bool by_key)
{
    uint32_t at = last_character(line);

    if (!local(line, LINE_ECHO)) {
        line->head = at;
    } else if (local(line, LINE_ECHOPRT)) {
        if (!line->erasing)
            send_byte(line, '\\');
        line->erasing = true;
        for (uint32_t i = at; i != line->head; i++)
            echo(line, (uint8_t)*entry(line, i));
        line->head = at;
    } else if (by_key && !local(line, LINE_ECHOE)) {
        line->head = at;
        echo(line, line->modes.characters[LINE_VERASE]);
    } else {
        uint32_t columns = columns_of_last(line, at);

        line->head = at;
        for (; columns > 0; columns--) {
            send_byte(line, '\b');
            send_byte(line, ' ');
            send_byte(line, '\b');
        }
    }
}

static void erase_key(struct line *line)
{
    if (line->head != line->ready)
        erase(line, true);
    if (line->head == line->ready)
        finish_erasing(line);
}

static bool is_of_word(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte == '_' || byte >= 0xc0; /* the first byte of a letter outside ASCII; in Linux's table, most are */
}

static void erase_word(struct line *line)
{
    bool seen = false;

    while (line->head != line->ready) {
        bool of_word = is_of_word((uint8_t)*entry(line, last_character(line)));

        if (seen && !of_word)
            break;
        seen |= of_word;
        erase(line, false);
    }
    if (line->head == line->ready)
        finish_erasing(line);
}

static void kill_line(struct line *line)
{
    uint32_t all = LINE_ECHOE | LINE_ECHOK | LINE_ECHOKE;

    if (local(line, LINE_ECHO) && (line->modes.local & all) == all) {
        while (line->head != line->ready)
            erase(line, false);
        finish_erasing(line);
        return;
    }
    if (local(line, LINE_ECHO) && line->head != line->ready) {
        finish_erasing(line);
        echo(line, line->modes.characters[LINE_VKILL]);
        if (local(line, LINE_ECHOK))
            line_output(line, '\n');
    }
    line->head = line->ready;
}

static bool put(struct line *line, uint16_t value, uint32_t keep)
{
    if (line->head - line->tail >= LINE_SIZE - keep) {
        send_byte(line, BELL);
        return false;
    }
    *entry(line, line->head++) = value;
    return true;
}

/* The line is complete: reads may take it. */
static void finish(struct line *line)
{
    line->ready = line->head;
    line->ends++;
}

static bool is_character(const struct line *line, uint8_t byte, uint32_t which)
{
    return byte != DISABLED && line->modes.characters[which] == byte;
}

/* Shows the line being typed once more, on a new line. */
static void reprint(struct line *line, uint8_t key)
{
    finish_erasing(line);
    echo(line, key);
    line_output(line, '\n');
    line->start = line->column;
    for (uint32_t at = line->ready; at != line->head; at++)
        echo(line, (uint8_t)*entry(line, at));
}

static bool edit(struct line *line, uint8_t byte)
{
    bool extended = local(line, LINE_IEXTEN);

    if (is_character(line, byte, LINE_VERASE)) {
        erase_key(line);
    } else if (is_character(line, byte, LINE_VKILL)) {
        kill_line(line);
    } else if (extended && is_character(line, byte, LINE_VWERASE)) {
        erase_word(line);
    } else if (extended && is_character(line, byte, LINE_VLNEXT)) {
        line->literal = true;
        if (!local(line, LINE_ECHO))
            return true;
        finish_erasing(line);
        if (local(line, LINE_ECHOCTL)) {
            send_byte(line, '^');
            send_byte(line, '\b');
        }
    } else if (extended && local(line, LINE_ECHO) && is_character(line, byte, LINE_VREPRINT)) {
        reprint(line, byte);
    } else {
        return false;
    }
    return true;
}

static void input_canonical(struct line *line, uint8_t byte)
{
    bool extended = local(line, LINE_IEXTEN);

    if (line->head == line->ready)
        line->start = line->column;
    if (line->literal) {
        line->literal = false;
    } else if (edit(line, byte)) {
        return;
    } else if (is_character(line, byte, LINE_VEOF)) {
        if (put(line, END_ALONE, 0))
            finish(line);
        return;
    } else if (byte == '\n' || is_character(line, byte, LINE_VEOL) ||
               (extended && is_character(line, byte, LINE_VEOL2))) {
        if (!put(line, END_WITH_BYTE | byte, 0))
            return;
        finish(line);
        if (local(line, LINE_ECHO) || (byte == '\n' && local(line, LINE_ECHONL))) {
            finish_erasing(line);
            echo(line, byte);
        }
        return;
    }
    if (put(line, byte, 1) && local(line, LINE_ECHO)) { /* keeps one entry for the end of the line */
        finish_erasing(line);
        echo(line, byte);
    }
}

/* Resumes output, unless a program has stopped it. */
static void go_on(struct line *line)
{
    line->stopped &= line->held;
}

/* Returns true if BYTE only stops or resumes output (^S, ^Q). */
static bool controls_flow(struct line *line, uint8_t byte)
{
    if ((line->modes.input & LINE_IXON) == 0 || line->literal)
        return false;
    if (is_character(line, byte, LINE_VSTART)) {
        go_on(line);
        return true;
    }
    if (is_character(line, byte, LINE_VSTOP)) {
        line->stopped = true;
        return true;
    }
    if ((line->modes.input & LINE_IXANY) != 0)
        go_on(line);
    return false;
}

static uint32_t signal_of(const struct line *line, uint8_t byte)
{
    if (!local(line, LINE_ISIG) || line->literal)
        return 0;
    if (is_character(line, byte, LINE_VINTR))
        return SIGINT;
    if (is_character(line, byte, LINE_VQUIT))
        return SIGQUIT;
    return is_character(line, byte, LINE_VSUSP) ? SIGTSTP : 0;
}

void line_flush(struct line *line)
{
    line->tail = line->ready = line->head;
    line->ends = 0;
    line->literal = false;
    line->erasing = false;
}

void line_hold(struct line *line, bool hold)
{
    if (hold || line->held) /* TCOON does not resume what a key has stopped */
        line->held = line->stopped = hold;
}

uint32_t line_input(struct line *line, uint8_t byte)
{
    uint32_t signal;

    if ((line->modes.input & LINE_ISTRIP) != 0)
        byte &= 0x7f;
    if ((line->modes.input & LINE_IUCLC) != 0 && local(line, LINE_IEXTEN) && byte >= 'A' && byte <= 'Z')
        byte += 'a' - 'A';
    if (controls_flow(line, byte))
        return 0;
    signal = signal_of(line, byte);
    if (signal != 0) {
        if (!local(line, LINE_NOFLSH)) {
            line_flush(line);
            line->side->discard(line->context);
        }
        if ((line->modes.input & LINE_IXON) != 0)
            go_on(line);
        if (local(line, LINE_ECHO))
            echo(line, byte);
        return signal;
    }
    if (!line->literal && byte == '\r') {
        if ((line->modes.input & LINE_IGNCR) != 0)
            return 0;
        if ((line->modes.input & LINE_ICRNL) != 0)
            byte = '\n';
    } else if (!line->literal && byte == '\n' && (line->modes.input & LINE_INLCR) != 0) {
        byte = '\r';
    }
    if (local(line, LINE_ICANON)) {
        input_canonical(line, byte);
    } else if (put(line, byte, 0)) {
        line->ready = line->head;
        if (local(line, LINE_ECHO))
            echo(line, byte);
    }
    return 0;
}

uint32_t line_available(const struct line *line)
{
    return line->ready - line->tail;
}

uint32_t line_bytes(const struct line *line)
{
    uint32_t count = 0;

    for (uint32_t at = line->tail; at != line->ready; at++)
        count += (line->bytes[at % LINE_SIZE] & END_ALONE) == 0 ? 1 : 0;
    return count;
}

bool line_readable(const struct line *line, size_t size, bool late)
{
    uint32_t least = line->modes.characters[LINE_VMIN], there = line_available(line);

    if (line->finished)
        return true;
    if (local(line, LINE_ICANON))
        return line->ends > 0;
    if (least == 0)
        return there > 0 || late || line->modes.characters[LINE_VTIME] == 0;
    return there >= (least < size ? least : size) || (late && there > 0);
}

uint32_t line_timeout(const struct line *line)
{
    if (local(line, LINE_ICANON) || (line->modes.characters[LINE_VMIN] != 0 && line_available(line) == 0))
        return 0;
    return line->modes.characters[LINE_VTIME];
}

bool line_polls(const struct line *line)
{
    uint32_t least = line->modes.characters[LINE_VMIN];

    if (line->finished)
        return true;
    if (local(line, LINE_ICANON))
        return line->ends > 0;
    return line_available(line) >= (least > 0 && line->modes.characters[LINE_VTIME] == 0 ? least : 1);
}

size_t line_read(struct line *line, uint8_t *to, size_t size)
{
    size_t done = 0;

    if (!local(line, LINE_ICANON) && line->ends == 0) {
        for (; done < size && line->tail != line->ready; line->tail++)
            to[done++] = (uint8_t)*entry(line, line->tail);
        return done;
    }
    while (line->tail != line->ready) {
        uint16_t value = *entry(line, line->tail);

        if ((value & END_ALONE) == 0 && done == size)
            break;
        line->tail++;
        if ((value & END_ALONE) == 0)
            to[done++] = (uint8_t)value;
        if ((value & (END_ALONE | END_WITH_BYTE)) != 0) {
            line->ends--;
            if (local(line, LINE_ICANON))
                break;
        }
    }
    return done;
}

void line_set_modes(struct line *line, const struct line_modes *modes, bool flush)
{
    bool was = local(line, LINE_ICANON);

    if (flush)
        line_flush(line);
    if ((line->modes.input & LINE_IXON) != 0 && (modes->input & LINE_IXON) == 0)
        go_on(line); /* without IXON, ^Q could not resume it any more */
    line->modes = *modes;
    if (was == local(line, LINE_ICANON))
        return;
    /* All entries become readable at once; in canonical mode they count as a line. */
    line->literal = false;
    line->erasing = false;
    line->ready = line->head;
    if (!was && line->head != line->tail && (*entry(line, line->head - 1) & (END_WITH_BYTE | END_ALONE)) == 0) {
        *entry(line, line->head - 1) |= END_WITH_BYTE;
        line->ends++;
    }
}
