import inspect
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from calldibs import Dibs, DibsError, Entity
from harness import ROOT, CuttingProxy, Server


class EventsPage(unittest.TestCase):
    """The program on docs/events.md prints events, and resumes when it is started again."""

    def test_program(self):
        server = Server()
        self.addCleanup(server.stop)
        dibs = Dibs(server.url)
        source = re.search(r"```python\n(.*?)```", (ROOT / "docs/events.md").read_text(), re.S)[1]
        with tempfile.TemporaryDirectory() as folder:
            for value in "ann", "bob":
                dibs.claim("slug", value, Entity("user", value))
            self.expect(source, folder, server, dibs, ["claimed slug:ann", "claimed slug:bob"])
            dibs.claim("slug", "carol", Entity("user", "carol"))
            self.expect(source, folder, server, dibs, ["claimed slug:carol"])

    def expect(self, source, folder, server, dibs, lines):
        """Runs the program until it has printed the lines and stored the cursor of the last."""
        environment = {**os.environ, "DIBS_SERVER": server.url, "PYTHONPATH": str(ROOT / "clients/python")}
        program = subprocess.Popen([sys.executable, "-c", source], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual([program.stdout.readline().strip() for _ in lines], lines)
            last, saved = dibs.events().events[-1].cursor, pathlib.Path(folder, "cursor")
            while not saved.exists() or saved.read_text() != last:
                time.sleep(0.005)
        finally:
            program.kill()
            program.wait()
            program.stdout.close()


def signature(verb, function):
    """Returns a verb as the README has it."""
    shown, names = [], False
    whole = inspect.signature(function)
    for p in list(whole.parameters.values())[1:]:
        if p.kind == p.KEYWORD_ONLY:
            shown += [p.name] if names else ["*", p.name]
            names = True
        elif p.kind == p.VAR_KEYWORD:
            shown.append("**" + p.name)
        else:
            shown.append(p.name if p.default is p.empty else f"{p.name}={p.default!r}")
    return f"{verb}({', '.join(shown)}) -> {whole.return_annotation}".replace("'", "")


class MainReadme(unittest.TestCase):
    """The program on the README of the repository takes a name, and the second time finds it taken."""

    def test_program(self):
        server = Server()
        self.addCleanup(server.stop)
        source = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1].replace("http://localhost:8080", server.url)
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python")}
        for line in "slug:erin-frank is theirs", "taken; free are ['erin-frank-2', 'erin-frank-3', 'erin-frank-4']":
            out = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, check=True).stdout
            self.assertEqual(out.strip(), line)


class WritingBoth(unittest.TestCase):
    """The functions on docs/adopting.md, for names that are written to a table, too."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.stop)
        self.scope, self.rows = {}, {}
        exec(re.search(r"<!-- file: write_both.py -->\n```python\n(.*?)```", (ROOT / "docs/adopting.md").read_text(), re.S)[1], self.scope)

    def create(self, dibs, id, username, fails=None):
        def insert(id, username):
            if fails:
                raise fails
            self.rows[id] = username

        self.scope["create_user"](dibs, insert, id, username)

    def test_both_or_none(self):
        dibs = Dibs(self.server.url)
        self.create(dibs, "1", "ann")
        with self.assertRaisesRegex(DibsError, "NAME_TAKEN"):
            self.create(dibs, "2", "Ann")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "the index refuses"):
            self.create(dibs, "3", "carla", sqlite3.IntegrityError("the index refuses"))
        self.assertTrue(dibs.check("username", "carla").available)
        with self.assertRaises(sqlite3.OperationalError):
            self.create(dibs, "4", "dave", sqlite3.OperationalError("no answer to COMMIT"))
        self.assertEqual((dibs.name("username", "dave").entity, self.rows), (Entity("user", "4"), {"1": "ann"}))

    def test_a_lost_answer_to_the_claim(self):
        proxy = CuttingProxy(self.server)
        self.addCleanup(proxy.stop)
        proxy.cut_some("answers", 2)
        self.create(Dibs(proxy.url, timeout=60), "1", "ann")
        self.assertEqual((proxy.cuts, self.rows), (2, {"1": "ann"}))
        with self.assertRaisesRegex(DibsError, "OUTCOME_UNKNOWN"):
            proxy.cut_some("answers", 3)
            self.create(Dibs(proxy.url, timeout=60), "2", "bob")
        self.assertEqual(self.rows, {"1": "ann"})


class Readme(unittest.TestCase):
    text = (ROOT / "clients/python/README.md").read_text()

    def test_every_verb(self):
        lines = self.text.split("\n")
        for verb, function in vars(Dibs).items():
            if not verb.startswith("_"):
                self.assertIn(signature(verb, function), lines)

    def test_the_first_snippet_runs(self):
        scope = {}
        exec(re.search(r"```python\n(.*?)```", self.text, re.S)[1], scope)
        self.assertIsInstance(scope["dibs"], Dibs)

    def test_rename(self):
        server = Server()
        self.addCleanup(server.stop)
        dibs = Dibs(server.url)
        dibs.claim("slug", "ann", Entity("user", "42"))
        exec(re.search(r"```python\n([^`]*?dibs\.rename.*?)```", self.text, re.S)[1], {"dibs": dibs, "Entity": Entity})
        self.assertEqual(dibs.resolve("slug", "ann").to, "anna")
        self.assertEqual([e.kind for e in dibs.events().events], ["claimed", "demoted", "claimed"])


if __name__ == "__main__":
    unittest.main()
