"""Real servers for the tests. DIBS_BINARY is the program; without it, go builds one."""

import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
_built = None


def binary():
    global _built
    if os.environ.get("DIBS_BINARY"):
        return os.environ["DIBS_BINARY"]
    if _built is None:
        _built = os.path.join(tempfile.mkdtemp(prefix="dibs-client-"), "dibs")
        subprocess.run(["go", "build", "-o", _built, "./cmd/dibs"], cwd=ROOT, check=True)
    return _built


class Server:
    """A server with names in a file, which survive its end."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dibs-names-")
        self.address = None
        self.process = None
        self.start()

    def start(self):
        """Starts the server, again at the same address if it ran before."""
        if self.address:
            return self._serve(self.address)
        for _ in range(10):
            # Below the ports that the system chooses: no other program gets this one while the server is away.
            try:
                return self._serve(f"127.0.0.1:{random.randrange(20_000, 32_000)}")
            except AssertionError as error:
                failed = error  # another program may have it
        raise failed

    def _serve(self, address):
        command = [binary(), "serve", "--listen", address, "--store", f"sqlite:{self.dir}/names.db"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]}, text=True)
        for line in self.process.stderr:
            found = re.search(r"msg=serving listen=(\S+)", line)
            if found:
                self.address = found[1]
                threading.Thread(target=self.process.stderr.read, daemon=True).start()
                return
        raise AssertionError("the server did not start")

    @property
    def url(self):
        return f"http://{self.address}"

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.kill()
        shutil.rmtree(self.dir)


class CuttingProxy:
    """A proxy that cuts connections: before a request reaches the server, or before its answer reaches the client."""

    def __init__(self, server):
        self.server, self.cut, self.cuts, self.last = server, "nothing", 0, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.pairs = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            host, port = self.server.address.split(":")
            try:
                upstream = socket.create_connection((host, int(port)))
            except OSError:
                client.close()
                continue
            self.pairs.append((client, upstream))
            for source, sink, what in ((client, upstream, "requests"), (upstream, client, "answers")):
                threading.Thread(target=self._pump, args=(source, sink, what), daemon=True).start()

    def _pump(self, source, sink, what):
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                if self.cut == what:
                    self.cuts += 1
                    if self.cuts == self.last:
                        self.cut = "nothing"
                    break
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def cut_some(self, what, more):
        """Cuts this many connections, and no others: a busy server answers late, so time does not tell."""
        self.last, self.cut = self.cuts + more, what

    def sever(self):
        """Closes all connections now."""
        for pair in self.pairs:
            for s in pair:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []

    def stop(self):
        self.listener.close()
        self.sever()
