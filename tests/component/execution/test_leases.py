import gc
import threading
import weakref

import pytest

import acidsql
from acidsql.errors import StorageError
from acidsql.execution.leases import Leases
from acidsql.process.supervisor import Supervisor


class Owner:
    pass


class Txn:
    """As much of an OpenTxn as a lease needs."""

    def __init__(self, *, fails=None, waits_for=None):
        self.entered = threading.Event()
        self.closed = False
        self._fails = fails
        self._waits_for = waits_for

    def close(self):
        self.entered.set()
        if self._waits_for is not None:
            self._waits_for.wait(0.05)
        if self._fails is not None:
            raise self._fails
        self.closed = True


def collect(leases, txn):
    owner = Owner()
    leases.keep(txn, [])
    leases.release_with(owner, txn)
    del owner  # the only reference


def test_close_waits_for_a_release_that_has_begun():
    leases, never = Leases(), threading.Event()
    txn = Txn(waits_for=never)
    collect(leases, txn)
    assert txn.entered.wait(5)
    leases.close()
    assert txn.closed


class Foreign(BaseException):
    """Descends from no Exception."""


UNEXPECTED = [StorageError("the disk is full"), OSError(), RuntimeError(), MemoryError(), Foreign()]


@pytest.mark.parametrize("error", UNEXPECTED, ids=lambda e: type(e).__name__)
def test_one_release_that_fails_does_not_keep_the_others(error):
    leases = Leases(supervisor := Supervisor())
    bad, good = Txn(fails=error), Txn()
    collect(leases, bad)
    collect(leases, good)
    leases.settle()
    assert good.closed
    leases.close()
    assert supervisor.failures == {"lease": 1}


def test_what_ends_the_thread_lets_nobody_wait_for_ever():
    leases = Leases()
    bad, good = Txn(fails=SystemExit(1)), Txn()
    collect(leases, bad)
    collect(leases, good)
    leases.settle()
    assert good.closed
    leases.close()
    leases.settle()


def test_closing_releases_the_others_if_one_fails():
    leases = Leases(supervisor := Supervisor())
    bad, good = Txn(fails=OSError("gone")), Txn()
    for txn in (bad, good):
        leases.keep(txn, [])
    leases.close()
    assert (good.closed, leases._thread.is_alive()) == (True, False)
    assert supervisor.failures == {"lease": 1}


def test_the_thread_may_close_the_leases_itself():
    leases, txn = Leases(), Txn()
    leases.keep(txn, [])
    leases.soon(leases.close)
    leases.close()
    assert txn.closed


def test_a_session_that_is_dropped_in_a_transaction_rolls_it_back(tmp_path):
    acid = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    with acidsql.connect(tmp_path / "w") as other:
        other.execute(f"CREATE TABLE t (id int) {acid}")
        dropped = acidsql.connect(tmp_path / "w")
        dropped.execute("BEGIN")
        dropped.execute("INSERT INTO t VALUES (1)")
        seen, thread = weakref.ref(dropped), dropped._leases._thread
        assert len(other.execute("SHOW LOCKS").fetchall()) == 1
        gc.disable()  # nothing that a session holds may hold the session
        try:
            del dropped
            assert seen() is None
        finally:
            gc.enable()
        thread.join(10)
        assert other.execute("SHOW LOCKS").fetchall() == []
        assert [row[1] for row in other.execute("SHOW TRANSACTIONS").fetchall()] == ["ABORTED"]
        assert list((tmp_path / "w" / "t").iterdir()) == []
