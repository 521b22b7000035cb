/* /proc/PID/fdinfo has what is particular to a kind of file: eventfd, signalfd, timerfd, pidfd. */
#include "abi.h"

static pid_t child_id;

/* The lines of FD's file of which the names begin with one of NAMES; numbers that vary are told as what they are. */
static void tell(const char *what, int fd, const char *const names[])
{
    char name[64], line[256];
    struct stat facts;
    FILE *file;

    MUST(fstat(fd, &facts));
    snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
    file = fopen(name, "r");
    printf("%s: %s\n", what, file == NULL ? errno_name(errno) : "");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned long number;

        if (sscanf(line, "ino:\t%lu", &number) == 1)
            printf("ino: %s\n", number == facts.st_ino ? "its own" : "another");
        else if (sscanf(line, "Pid:\t%ld", (long *)&number) == 1)
            printf("Pid: %s\n", (pid_t)number == child_id ? "the child's" : (long)number == -1 ? "none" : "another");
        else if (sscanf(line, "it_value: (%lu", &number) == 1)
            printf("it_value: %s\n", number > 900 && number < 1000 ? "what is left" : number == 0 ? "0" : "wrong");
        for (int i = 0; names != NULL && names[i] != NULL; i++) {
            if (strncmp(line, names[i], strlen(names[i])) == 0)
                printf("%s", line);
        }
    }
    if (file != NULL)
        fclose(file);
}
static int child(void)
{
    for (;;)
        pause();
}
int main(void)
{
    static const char *const event[] = {"flags:", "pos:", "eventfd-count:", NULL};
    static const char *const signals[] = {"flags:", "sigmask:", NULL};
    static const char *const timer[] = {"clockid:", "ticks:", "settime flags:", "it_interval:", NULL};
    static const char *const plain[] = {"pos:", "flags:", NULL};
    struct itimerspec time = {{5, 250}, {1000, 0}};
    sigset_t set = set_of(SIGUSR1);
    uint64_t many = 0x1234;
    int fd, ends[2];

    fd = (int)MUST(eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK));
    tell("eventfd", fd, event);
    MUST(write(fd, &many, sizeof(many)));
    tell("eventfd", fd, event);
    sigaddset(&set, SIGRTMAX);
    fd = (int)MUST(signalfd(-1, &set, SFD_CLOEXEC));
    tell("signalfd", fd, signals);
    fd = (int)MUST(timerfd_create(CLOCK_BOOTTIME, 0));
    tell("timerfd", fd, timer);
    MUST(timerfd_settime(fd, 0, &time, NULL));
    tell("timerfd", fd, timer);
    time.it_value = (struct timespec){0, 1};
    time.it_interval = (struct timespec){0, 0};
    MUST(timerfd_settime(fd, 0, &time, NULL));
    MUST(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1));
    tell("timerfd", fd, timer);
    MUST(timerfd_settime(fd, TFD_TIMER_ABSTIME, &time, NULL));
    MUST(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1));
    tell("timerfd", fd, timer);
    child_id = spawn(child);
    fd = (int)MUST(syscall(SYS_pidfd_open, child_id, 0));
    tell("pidfd", fd, NULL);
    MUST(kill(child_id, SIGKILL));
    reap(child_id);
    tell("pidfd", fd, NULL);
    put_file("file", "text");
    fd = (int)MUST(open("file", O_RDWR | O_APPEND));
    MUST(lseek(fd, 3, SEEK_SET));
    tell("file", fd, plain);
    tell("made", (int)MUST(creat("made", 0600)), plain);
    tell("directory", (int)MUST(open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), plain);
    tell("path", (int)MUST(open("file", O_PATH | O_NOFOLLOW)), plain);
    tell("nameless", (int)MUST(open(".", O_RDWR | O_TMPFILE | O_EXCL, 0600)), plain);
    tell("memory", (int)MUST(memfd_create("memory", MFD_CLOEXEC)), plain);
    tell("null", (int)MUST(open("/dev/null", O_WRONLY | O_NONBLOCK)), plain);
    MUST(mkfifo("fifo", 0600));
    tell("FIFO", (int)MUST(open("fifo", O_RDWR)), plain);
    MUST(pipe(ends));
    tell("pipe", ends[1], plain);
    tell("socket", (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0)), plain);
    tell("inotify", (int)MUST(inotify_init1(IN_NONBLOCK)), plain);
    tell("/proc", (int)MUST(open("/proc/self/stat", O_RDONLY)), plain);
    return 0;
}
