"""`tools/kettle run --os linux`: the baseline machine keeps every promise that Kettle's own does."""

import json

import pytest

from host_command import compile_c, kettle

pytestmark = pytest.mark.linux

TOPOLOGY = """
#include <stdio.h>
int main(void)
{
    char path[100], line[100];
    const char *names[] = {"cpulist", "distance", "meminfo"};
    for (int node = 0; node < 4; node++)
        for (int i = 0; i < 3; i++) {
            snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/%s", node, names[i]);
            FILE *file = fopen(path, "r");
            if (!file || !fgets(line, sizeof(line), file))
                return 1;
            fputs(line, stdout);
            fclose(file);
        }
    return 7;
}
"""

FLOOD = """
#include <unistd.h>
int main(void)
{
    static unsigned char data[1000000];
    for (unsigned i = 0; i < sizeof(data); i++)
        data[i] = i * 7 + i / 256;
    for (unsigned done = 0; done < sizeof(data);)
        done += write(1, data + done, sizeof(data) - done);
    return 0;
}
"""

COPY = """
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int c;
    sleep(argc - 1);
    while ((c = getchar()) != EOF)
        putchar(c);
    return isatty(0) && isatty(1) && getchar() == EOF ? 0 : 1;
}
"""

SHOW = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char line[20] = "";
    FILE *file = fopen("/data/note", "r");
    if (file)
        fgets(line, sizeof(line), file);
    printf("%d|%s|%s|%s|%s", argc, argv[1], argv[2], getenv("COLOUR"), line);
    return 0;
}
"""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """A build folder without Kettle: Linux needs none."""
    return tmp_path_factory.mktemp("build")


def linux(build, tmp_path, text, *arguments, options=("--cpus", "1"), **how):
    program = compile_c(tmp_path / "program", text, "-static", "-O1")
    return kettle(build, "run", "--os", "linux", *options, "--", program, *arguments, **how)


def test_it_sees_the_machine_that_was_asked_for(build, tmp_path):
    done = linux(build, tmp_path, TOPOLOGY, options=("--cpus", "8", "--nodes", "4", "--dist", "21", "--mem",
                                                     "512M,256M,256M,512M", "--json"))
    told = json.loads(done.stdout)
    lines = told["stdout"].splitlines()
    assert done.status == 7 and told["boot_seconds"] > 0
    assert lines[0::3] == ["0-1", "2-3", "4-5", "6-7"]
    assert lines[1::3] == ["10 21 21 21", "21 10 21 21", "21 21 10 21", "21 21 21 10"]
    sizes = [int(line.split()[-2]) >> 10 for line in lines[2::3]]
    assert all(asked - 80 < size <= asked for asked, size in zip((512, 256, 256, 512), sizes))


@pytest.mark.parametrize("body, status", [
    ("return 7;", 7), ("return *(volatile int *)0;", 139), ("__builtin_trap();", 132), ("__asm__(\"int3\");", 133)])
def test_the_status_is_the_programs(build, tmp_path, body, status):
    done = linux(build, tmp_path, f"int main(void) {{ {body} }}")
    assert (done.status, done.stdout, done.stderr) == (status, b"", "")


def test_a_program_without_end_is_124(build, tmp_path):
    done = linux(build, tmp_path, "int main(void) { for (;;) { } }", options=("--cpus", "1", "--timeout", "15"))
    assert (done.status, done.stderr) == (124, "kettle: no end within 15 s\n")


def test_output_is_complete_and_byte_for_byte(build, tmp_path):
    done = linux(build, tmp_path, FLOOD)
    assert done.status == 0 and done.stdout == bytes((i * 7 + i // 256) & 255 for i in range(1_000_000))


@pytest.mark.parametrize("slow", [[], ["wait"]])
def test_input_is_complete_and_ends(build, tmp_path, slow):
    text = bytes(range(256)) * 64
    done = linux(build, tmp_path, COPY, *slow, options=("--cpus", "1", "--timeout", "300"), stdin=text)
    assert done.status == 0 and done.stdout == text


def test_no_input_ends_at_once(build, tmp_path):
    assert linux(build, tmp_path, COPY, options=("--cpus", "1", "--timeout", "300"), stdin=None).status == 0


def test_arguments_environment_and_files(build, tmp_path):
    (tmp_path / "note").write_text("from the host\n")
    done = linux(build, tmp_path, SHOW, "a b", "", options=("--cpus", "1", "--env", "COLOUR=red", "--file",
                                                            f"{tmp_path / 'note'}:/data/note"))
    assert done.stdout == b"3|a b||red|from the host\n"


def test_a_failure_of_linux_itself_is_125_with_its_words(build, tmp_path):
    done = linux(build, tmp_path, "int main(void) { return 0; }", options=("--cpus", "1", "--append", "rdinit=/missing"))
    assert done.status == 125 and "Kernel panic" in done.stderr
