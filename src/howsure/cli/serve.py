"""`howsure serve RESULTS`."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def serve(
    results: Annotated[str, typer.Argument(help="A folder that howsure explore has written.")],
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1; 0 takes any that is free.")] = 8015,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> int:
    """The page of howsure page from a server on this machine, for results of any size. Ctrl-C ends it.

    Examples:

      howsure serve results/

      howsure serve results/ --port 0
    """
    from howsure.cli.output import say
    from howsure.verbs.serve import serve as made_server

    server = made_server(results, port=port)
    try:
        say(
            json.dumps({"address": server.address})
            if as_json
            else f"Open {server.address} in a browser. Ctrl-C ends it."
        )
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0
