import gc
import threading
import weakref

import acidsql
from acidsql.errors import StorageError
from acidsql.leases import Leases


class Owner:
    pass


class Txn:
    """As much of an OpenTxn as a lease needs."""

    def __init__(self, *, fails=False, waits_for=None):
        self.entered = threading.Event()
        self.closed = False
        self._fails = fails
        self._waits_for = waits_for

    def close(self):
        self.entered.set()
        if self._waits_for is not None:
            self._waits_for.wait(0.2)
        if self._fails:
            raise StorageError("the disk is full")
        self.closed = True


def collect(leases, txn):
    owner = Owner()
    leases.keep(txn, [])
    leases.release_with(owner, txn)
    del owner
    gc.collect()


def test_close_waits_for_a_release_that_has_begun():
    leases, never = Leases(), threading.Event()
    txn = Txn(waits_for=never)
    collect(leases, txn)
    assert txn.entered.wait(5)
    leases.close()
    assert txn.closed


def test_one_release_that_fails_does_not_keep_the_others():
    leases = Leases()
    bad, good = Txn(fails=True), Txn()
    collect(leases, bad)
    collect(leases, good)
    leases.settle()
    assert good.closed
    leases.close()


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
