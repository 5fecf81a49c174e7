"""What holds for every command: Ctrl-C is never lost."""

import signal
import time

import pytest

from howsure.cli.application import run


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemError])
def test_an_interrupt_in_a_destructor_is_not_lost(kind, monkeypatch):
    class Dying:
        def __del__(self):
            raise kind

    def examine(**_):
        thing = Dying()
        del thing
        for _ in range(100):
            time.sleep(0.01)
        return

    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda ignored: seen.append(ignored.exc_type))
    monkeypatch.setattr("howsure.verbs.doctor.doctor", examine)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if kind is KeyboardInterrupt:
            assert run(["doctor"]) == 130
            assert seen == []
        else:  # anything else is reported as before
            with pytest.raises(AttributeError):
                run(["doctor"])
            assert seen == [SystemError]
    finally:
        signal.signal(signal.SIGINT, before)
