"""How many documents a second `howsure serve` gives to 50 clients at once, and how long the slowest of a hundred waits.

python bench/speed/serve_speed.py [RESULTS]     (a folder of `howsure explore`; by default the stories that ship, explored first)
"""

import asyncio
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


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        if len(sys.argv) < 2:
            howsure.explore(out=folder)
        here = {r["id"] for r in read_table(folder, "events", ["id"])}
        rows = [i for i, d in enumerate(read_table(folder, "documents", ["id"])) if d["id"] in here]
        server = subprocess.Popen([sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True)
        try:
            rate, waits = asyncio.run(load(server.stdout.readline().strip(), rows))
        finally:
            server.terminate()
        half, slow = waits[len(waits) // 2], waits[int(0.99 * len(waits))]
        print(f"{len(rows)} documents, {CLIENTS} clients, {len(waits):,} requests: {rate:,.0f} a second;")
        print(f"waiting {1000 * half:.0f} ms (median), {1000 * slow:.0f} ms (99 of 100)")


if __name__ == "__main__":
    main()
