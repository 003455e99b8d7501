"""A small server on loopback that stands for the archive, with faults on demand."""

import gzip
import hashlib
import random
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bfenv.workloads.archive.catalogue import Log


def swf(seed):
    """An SWF file of 3,000 jobs; some 60 kB when packed."""
    rng = random.Random(seed)
    jobs = [
        f"{i} {i * 60} {rng.randrange(10**6)} {rng.randrange(1, 10**6)} {rng.randrange(1, 8)} "
        f"-1 -1 -1 {10**6 + rng.randrange(10**6)} -1 1 {rng.randrange(99)} 1 1 1 1 -1 -1"
        for i in range(3000)
    ]
    return "\n".join(["; MaxProcs: 8", *jobs, ""]).encode()


TEXT, OTHER = swf(0), swf(1)
PACKED = gzip.compress(TEXT, mtime=0)
KNOWN, NEW = "Known-1", "New-1"  # with and without a hash in the catalogue
LOGS = (
    Log(KNOWN, "l_known", 8, 3000, "2001", "A. Donor", "none", hashlib.sha256(TEXT).hexdigest()),
    Log(NEW, "l_new", None, None, "2002", None, "none"),
)

GZ, FILE, PART, PIN = f"{KNOWN}.swf.gz", f"{KNOWN}.swf", f"{KNOWN}.swf.gz.part", f"{NEW}.swf.sha256"


class Server(ThreadingHTTPServer):
    """Serves `content` under any log's address, with faults on demand."""

    content = PACKED
    status = 200
    ranges = True  # understands the Range header
    length = True  # says how long the content is
    cut = None  # breaks off after as many bytes
    stall = False  # where it would break off, it falls silent instead
    endless = False  # sends the content over and over
    encoding = None  # what it says of the content
    offset = 0  # by how much the part sent is off

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.over = threading.Event()
        self.requests = []  # (path, Range)
        self.base = f"http://127.0.0.1:{self.server_port}/workload"


class Handler(BaseHTTPRequestHandler):
    timeout = 5

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers["Range"]))
        if not re.fullmatch(r"/workload/l_(known|new)/(Known|New)-1\.swf\.gz", self.path):
            return self.send_error(404)
        if server.status != 200:
            return self.send_error(server.status)
        if server.cut == 0 and server.stall:
            return server.over.wait(5)
        start, size = 0, len(server.content)
        if server.ranges and self.headers["Range"]:
            start = int(re.fullmatch(r"bytes=(\d+)-", self.headers["Range"])[1])
            if start >= size:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            start += server.offset
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        if server.length:
            self.send_header("Content-Length", str(size - start))
        if server.encoding:
            self.send_header("Content-Encoding", server.encoding)
        self.end_headers()
        end = size if server.cut is None else min(size, start + server.cut)
        try:
            for _ in range(100 if server.endless else 1):
                self.wfile.write(server.content[start:end])
        except ConnectionError:
            return
        if server.stall and end < size:
            server.over.wait(5)

    def log_message(self, *_):
        pass
