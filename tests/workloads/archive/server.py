"""A small server on loopback in place of the archive, with faults on demand."""

import gzip
import hashlib
import random
import re
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

GZ, FILE = f"{KNOWN}.swf.gz", f"{KNOWN}.swf"


class Server(ThreadingHTTPServer):
    """Serves `content` under any log's address."""

    content = PACKED
    status = 200
    encoding = None  # what it says of the content

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests = []  # paths
        self.base = f"http://127.0.0.1:{self.server_port}/workload"


class Handler(BaseHTTPRequestHandler):
    timeout = 5

    def do_GET(self):
        server = self.server
        server.requests.append(self.path)
        if not re.fullmatch(r"/workload/l_(known|new)/(Known|New)-1\.swf\.gz", self.path):
            return self.send_error(404)
        if server.status != 200:
            return self.send_error(server.status)
        self.send_response(200)
        self.send_header("Content-Length", str(len(server.content)))
        if server.encoding:
            self.send_header("Content-Encoding", server.encoding)
        self.end_headers()
        self.wfile.write(server.content)

    def log_message(self, *_):
        pass
