"""How many documents a second `howsure serve` gives to 50 clients at once, and how long the slowest of a hundred waits.

python bench/speed/serve_speed.py [RESULTS]     (a folder of `howsure explore`; by default the stories that ship, explored first)
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import howsure
from howsure.events.storage import read_table

CLIENTS, REQUESTS = 50, 10_000
SERVE = "import sys, howsure\ns = howsure.serve(sys.argv[1], port=0)\nprint(s.address, flush=True)\ns.serve_forever()"


async def client(host, port, rows, waits):
    """Ask for documents over one connection, opened again where the server closes it."""
    reader = writer = None
    for row in rows:
        start = time.perf_counter()
        if writer is None:
            reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"GET /document?row={row} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(size)
        waits.append(time.perf_counter() - start)
        if b"connection: close" in head.lower():
            writer.close()
            writer = None


async def load(address, rows):
    host, port = address.split("//")[1].rstrip("/").split(":")
    waits, each = [], REQUESTS // CLIENTS
    start = time.perf_counter()
    asked = [[rows[(i * each + j) % len(rows)] for j in range(each)] for i in range(CLIENTS)]
    await asyncio.gather(*(client(host, int(port), mine, waits) for mine in asked))
    return len(waits) / (time.perf_counter() - start), sorted(waits)


def used(pid):
    """Processor time of a process so far; 0 where the system does not say."""
    path = Path(f"/proc/{pid}/stat")
    if not path.exists():
        return 0.0
    fields = path.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        if len(sys.argv) < 2:
            howsure.explore(out=folder)
        here = {r["id"] for r in read_table(folder, "events", ["id"])}
        rows = [i for i, d in enumerate(read_table(folder, "documents", ["id"])) if d["id"] in here]
        server = subprocess.Popen([sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().strip()
            before = used(server.pid)
            rate, waits = asyncio.run(load(address, rows))
            busy = used(server.pid) - before
        finally:
            server.terminate()
        half, slow = waits[len(waits) // 2], waits[int(0.99 * len(waits))]
        print(f"{len(rows)} documents, {CLIENTS} clients, {len(waits):,} requests: {rate:,.0f} a second;")
        if busy:  # what a busy machine leaves of a core varies; this does not
            print(
                f"the server took {busy:.2f} s of processor time: {len(waits) / busy:,.0f} requests a second of a core;"
            )
        print(f"waiting {1000 * half:.0f} ms (median), {1000 * slow:.0f} ms (99 of 100)")


if __name__ == "__main__":
    main()
