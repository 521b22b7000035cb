"""tools/check-layers finds each kind of violation, at its line, and nothing in what is allowed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = ROOT / "tools" / "check-layers"

SOUND = {
    "kernel/abi/errno.h": "#define EINVAL 22\n",
    "kernel/lib/panic.h": "void panic(const char *text);\n",
    "kernel/arch/x86_64/cpu.h": '#include "kernel/lib/panic.h"\n',
    "boot/plan/plan.h": '#include <stdint.h>\n#include "kernel/abi/errno.h"\n',
    "boot/plan/plan.c": '#include "boot/plan/plan.h"\n#include "kernel/lib/panic.h"\nvoid plan(void) { panic("plan"); }\n',
    "tasks/thread/thread.h": '#include "boot/plan/plan.h"\n',
    "kernel/file/file.h": '#include "tasks/thread/thread.h"\n',
    "kernel/main.h": '#include "kernel/file/file.h"\n',
    "kernel/panic.c": '#include "kernel/lib/panic.h"\nvoid panic(const char *text) { (void)text; }\n',
    "libc/kettle.h": '#include <errno.h>\n#include "kernel/abi/errno.h"\n',
    "userland/tour.c": '#include <stdio.h>\n#include "libc/kettle.h"\n',
    "userland/thread.h": "#include <stdbool.h>\n",
    "tests/guest/harness/tap.h": "#include <stdbool.h>\n",
    "tests/guest/mm/test-map.c": '#include "kernel/abi/errno.h"\n#include "libc/kettle.h"\n#include "userland/thread.h"\n'
    '#include "tests/guest/harness/tap.h"\n',
    "tests/boot/plan/plan_test.c": '#include "kernel/main.h"\n#include "test.h"\n#include <stdio.h>\n',
}


class CheckLayers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for path, text in SOUND.items():
            self.write(path, text)
        for part in ("boot", "msg", "mm", "tasks", "kernel", "kernel/abi", "kernel/lib", "kernel/fs", "kernel/arch"):
            self.write(f"{part}/README.md", "what it knows\n")

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def build(self, *paths):
        for path in paths:
            target = (self.root / "objects" / path).with_suffix(".o")
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                ["gcc", "-c", "-w", "-ffreestanding", f"-I{self.root}", str(self.root / path), "-o", str(target)], check=True
            )

    def run_tool(self, *options):
        result = subprocess.run(
            [sys.executable, str(TOOL), "--root", str(self.root), *options], capture_output=True, text=True, check=False
        )
        *faults, _ = result.stdout.splitlines()
        self.assertEqual(result.returncode, 1 if faults else 0, result.stderr)
        return faults

    def expect(self, faults, *beginnings):
        self.assertEqual(len(faults), len(beginnings), faults)
        for fault, beginning in zip(faults, beginnings):
            self.assertIn(beginning, fault)

    def test_sound(self):
        self.assertEqual(self.run_tool(), [])

    def test_upward(self):
        self.write("boot/up.c", '#include <stdint.h>\n\n# include "tasks/thread/thread.h"\n')
        self.expect(self.run_tool(), 'boot/up.c:3: "tasks/thread/thread.h" goes up, from boot to tasks')

    def test_every_pair_of_layers(self):
        order = ["kernel/abi", "kernel/lib", "boot", "msg", "mm", "tasks", "kernel"]
        for layer in order:
            self.write(f"{layer}/target.h", "\n")
        for low, layer in enumerate(order):
            for high, other in enumerate(order):
                self.write(f"{layer}/probe.h", f'#include "{other}/target.h"\n')
                self.assertEqual(len(self.run_tool()), int(high > low), f"{layer} to {other}")
            (self.root / layer / "probe.h").unlink()

    def test_rooms_of_one_part(self):
        self.write("kernel/file/up.c", '#include "kernel/fs/tree/tree.h"\n')
        self.write("kernel/fs/tree/tree.h", '#include "kernel/file/file.h"\n')
        self.expect(self.run_tool(), 'kernel/file/up.c:1: "kernel/fs/tree/tree.h" goes up, from kernel/file to kernel/fs/tree')

    def test_rooms_side_by_side(self):
        self.write("kernel/dev/pci.h", "\n")
        self.write("kernel/vdso/pages.c", '#include "kernel/dev/pci.h"\n')
        self.expect(self.run_tool(), 'kernel/vdso/pages.c:1: "kernel/dev/pci.h" goes up, from kernel/vdso to kernel/dev')

    def test_room_without_a_place(self):
        self.write("mm/attic/old.c", "\n")
        self.expect(self.run_tool(), "mm/attic/old.c:1: mm/attic has no place among the rooms")

    def test_room_without_a_page(self):
        self.write("mm/frame/frame.h", "\n")
        (self.root / "mm/README.md").unlink()
        self.expect(self.run_tool(), "mm/frame/:1: the room has no page at its door")

    def test_assembly_and_tables(self):
        self.write("kernel/arch/x86_64/entry.S", '#include "boot/plan/plan.h"\n')
        self.write("msg/messages.def", '#include "kernel/main.h"\n')
        self.expect(self.run_tool(), "kernel/arch/x86_64/entry.S:1:", "msg/messages.def:1:")

    def test_comments_do_not_count(self):
        self.write("boot/fine.c", '/* as in\n#include "tasks/thread/thread.h"\n*/\n// #include "kernel/main.h"\n')
        self.assertEqual(self.run_tool(), [])

    def test_line_behind_comment(self):
        self.write("boot/up.c", '/* three\n   lines\n   long */\n#include "kernel/main.h"\n')
        self.expect(self.run_tool(), "boot/up.c:4:")

    def test_kernel_stays_inside(self):
        self.write("kernel/out.c", '#include "libc/kettle.h"\n#include <stdio.h>\n#include <stdarg.h>\n')
        self.expect(self.run_tool(), "is outside the kernel", "needs a C library")

    def test_user_side(self):
        self.write("libc/wrong.c", '#include "kernel/main.h"\n')
        self.write("userland/wrong.c", '#include "boot/plan/plan.h"\n')
        self.expect(self.run_tool(), "libc/wrong.c:1:", "userland/wrong.c:1:")

    def test_programs_of_the_machine_see_no_kernel_and_no_other_tests(self):
        self.write("tests/guest/mm/wrong.c", '#include "boot/plan/plan.h"\n#include "tests/boot/plan/shape.h"\n')
        self.write("tests/boot/plan/shape.h", "")
        self.write("userland/wrong.c", '#include "tests/guest/harness/tap.h"\n')
        self.expect(
            self.run_tool(), "tests/guest/mm/wrong.c:1:", "tests/guest/mm/wrong.c:2:", "userland/wrong.c:1:"
        )

    def test_path_from_root(self):
        self.write("boot/near.c", '#include "plan.h"\n')
        self.expect(self.run_tool(), "does not exist")
        self.write("generated/plan.h", "\n")
        self.assertEqual(self.run_tool("--include", str(self.root / "generated")), [])

    def test_symbol_upward(self):
        self.write("tasks/thread/thread.c", "void thread_run(void) {}\n")
        self.write("mm/sly.c", "void thread_run(void);\nvoid sly(void)\n{\n    thread_run();\n}\n")
        self.build("tasks/thread/thread.c", "mm/sly.c")
        self.assertEqual(self.run_tool(), [])
        objects = str(self.root / "objects")
        self.expect(self.run_tool("--objects", objects), "mm/sly.c:1: thread_run goes up, from mm to tasks/thread/thread.c")
        self.write("mm/sly.c", (self.root / "mm/sly.c").read_text() + "/* layers: may use other, thread_run: a test */\n")
        self.assertEqual(self.run_tool("--objects", objects), [])

    def test_symbol_of_own_interface(self):
        self.build("boot/plan/plan.c", "kernel/panic.c")
        self.assertEqual(self.run_tool("--objects", str(self.root / "objects")), [])

    def test_symbol_declared_too_high(self):
        self.write("tasks/thread/thread.c", "void thread_run(void) {}\n")
        self.write("tasks/thread/thread.h", "void thread_run(void);\n")
        self.write("mm/sly.c", "void thread_run(void);\nvoid sly(void) { thread_run(); }\n")
        self.build("tasks/thread/thread.c", "mm/sly.c")
        self.expect(self.run_tool("--objects", str(self.root / "objects")), "mm/sly.c:1:")

    def test_nothing_to_check(self):
        with tempfile.TemporaryDirectory() as empty:
            result = subprocess.run([sys.executable, str(TOOL), "--root", empty], capture_output=True, check=False)
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
