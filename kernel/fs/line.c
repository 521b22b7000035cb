/* The line discipline. See the header. */
#include "kernel/fs/line.h"

#include "kernel/abi/signal.h"
#include "kernel/lib/string.h"

#define END_WITH_BYTE 0x100u /* this byte is its line's last */
#define END_ALONE 0x200u     /* the line ends here without a byte: ^D */
#define TAB 8u
#define BELL 7u
#define DELETE 0x7fu
#define DISABLED 0u /* a control character of this value is none */

static bool local(const struct line *line, uint32_t flag)
{
    return (line->modes.local & flag) != 0;
}

void line_init(struct line *line, void (*send)(void *context, uint8_t byte), void *context)
{
    static const uint8_t characters[LINE_CHARACTERS] = {
        [LINE_VINTR] = 3,     [LINE_VQUIT] = 28,   [LINE_VERASE] = DELETE, [LINE_VKILL] = 21, [LINE_VEOF] = 4,
        [LINE_VMIN] = 1,      [LINE_VSTART] = 17,  [LINE_VSTOP] = 19,      [LINE_VSUSP] = 26, [LINE_VREPRINT] = 18,
        [LINE_VDISCARD] = 15, [LINE_VWERASE] = 23, [LINE_VLNEXT] = 22};

    memset(line, 0, sizeof(*line));
    memcpy(line->modes.characters, characters, sizeof(characters));
    line->modes.control = 0x18b2; /* 8 bits, 115200 baud */
    line->send = send;
    line->context = context;
}

static bool is_control(uint8_t byte)
{
    return byte < 32 || byte == DELETE;
}

/* Sends BYTE as it is and keeps the cursor's column. */
static void send_byte(struct line *line, uint8_t byte)
{
    if (byte == '\r')
        line->column = 0;
    else if (byte == '\b')
        line->column -= line->column > 0 ? 1 : 0;
    else if (byte == '\t')
        line->column = line->column / TAB * TAB + TAB;
    else if (byte == '\n' && (line->modes.output & LINE_OPOST) == 0)
        line->column = 0; /* the other side is its own master */
    else if (!is_control(byte) && ((line->modes.input & LINE_IUTF8) == 0 || (byte & 0xc0) != 0x80))
        line->column++;
    line->send(line->context, byte);
}

void line_output(struct line *line, uint8_t byte)
{
    if ((line->modes.output & LINE_OPOST) != 0) {
        if (byte == '\n' && (line->modes.output & LINE_ONLCR) != 0)
            send_byte(line, '\r');
        else if (byte == '\r' && (line->modes.output & LINE_OCRNL) != 0)
            byte = '\n';
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

/* The column behind the line being typed up to entry END, which starts at column line->start. */
static uint32_t column_at(struct line *line, uint32_t end)
{
    uint32_t column = line->start;

    for (uint32_t at = line->ready; at != end; at++) {
        uint8_t byte = (uint8_t)*entry(line, at);

        if (byte == '\t')
            column = column / TAB * TAB + TAB;
        else if (shown_with_hat(line, byte))
            column += 2;
        else if (!is_control(byte) && ((line->modes.input & LINE_IUTF8) == 0 || (byte & 0xc0) != 0x80))
            column++;
    }
    return column;
}

/* Takes the last character of the line being typed away. */
static void erase(struct line *line)
{
    uint32_t end = line->head;
    uint32_t from, to;

    if (line->head == line->ready)
        return;
    do
        end--;
    while ((line->modes.input & LINE_IUTF8) != 0 && end != line->ready && (*entry(line, end) & 0xc0) == 0x80);
    from = column_at(line, line->head);
    to = column_at(line, end);
    line->head = end;
    if (!local(line, LINE_ECHO) || !local(line, LINE_ECHOE))
        return;
    for (; from > to; from--) {
        send_byte(line, '\b');
        send_byte(line, ' ');
        send_byte(line, '\b');
    }
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static void erase_word(struct line *line)
{
    while (line->head != line->ready && is_blank((uint8_t)*entry(line, line->head - 1)))
        erase(line);
    while (line->head != line->ready && !is_blank((uint8_t)*entry(line, line->head - 1)))
        erase(line);
}

static void kill_line(struct line *line)
{
    if (local(line, LINE_ECHOE) && local(line, LINE_ECHOKE)) {
        while (line->head != line->ready)
            erase(line);
        return;
    }
    line->head = line->ready;
    if (local(line, LINE_ECHO) && local(line, LINE_ECHOK))
        line_output(line, '\n');
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

/* The line is typed: reads may have it. */
static void finish(struct line *line)
{
    line->ready = line->head;
    line->ends++;
}

static bool is_character(const struct line *line, uint8_t byte, uint32_t which)
{
    return byte != DISABLED && line->modes.characters[which] == byte;
}

static void input_canonical(struct line *line, uint8_t byte)
{
    bool extended = local(line, LINE_IEXTEN);

    if (line->head == line->ready)
        line->start = line->column;
    if (line->literal) {
        line->literal = false;
    } else if (is_character(line, byte, LINE_VERASE)) {
        erase(line);
        return;
    } else if (is_character(line, byte, LINE_VKILL)) {
        kill_line(line);
        return;
    } else if (extended && is_character(line, byte, LINE_VWERASE)) {
        erase_word(line);
        return;
    } else if (extended && is_character(line, byte, LINE_VLNEXT)) {
        line->literal = true;
        if (local(line, LINE_ECHO) && local(line, LINE_ECHOCTL)) {
            send_byte(line, '^');
            send_byte(line, '\b');
        }
        return;
    } else if (extended && local(line, LINE_ECHO) && is_character(line, byte, LINE_VREPRINT)) {
        echo(line, byte);
        line_output(line, '\n');
        line->start = line->column;
        for (uint32_t at = line->ready; at != line->head; at++)
            echo(line, (uint8_t)*entry(line, at));
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
        if (local(line, LINE_ECHO) || (byte == '\n' && local(line, LINE_ECHONL)))
            echo(line, byte);
        return;
    }
    if (put(line, byte, 1) && local(line, LINE_ECHO)) /* one place stays for the end of the line */
        echo(line, byte);
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
}

uint32_t line_input(struct line *line, uint8_t byte)
{
    uint32_t signal;

    if ((line->modes.input & LINE_ISTRIP) != 0)
        byte &= 0x7f;
    signal = signal_of(line, byte);
    if (signal != 0) {
        if (!local(line, LINE_NOFLSH))
            line_flush(line);
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

bool line_readable(const struct line *line, size_t size)
{
    uint32_t least = line->modes.characters[LINE_VMIN];

    if (line->finished)
        return true;
    if (local(line, LINE_ICANON))
        return line->ends > 0;
    if (line->modes.characters[LINE_VTIME] != 0)
        return line_available(line) > 0; /* the timer between bytes is not there */
    if (least == 0)
        return true;
    return line_available(line) >= (least < size ? least : size);
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
    line->modes = *modes;
    if (was == local(line, LINE_ICANON))
        return;
    /* What is there can be read at once; in canonical mode it counts as a line. */
    line->literal = false;
    line->ready = line->head;
    if (!was && line->head != line->tail && line->ends == 0) {
        *entry(line, line->head - 1) |= END_WITH_BYTE;
        line->ends = 1;
    }
}
