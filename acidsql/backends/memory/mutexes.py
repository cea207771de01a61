"""Named mutexes, each with an owner and the end of its lease."""

from __future__ import annotations

from acidsql.backends.memory.state import MemoryState


class MemoryMutexes(MemoryState):
    """The verbs of `TxnManager` about mutexes."""

    def take_mutex(self, name: str, owner: str, lease_s: float) -> bool:
        with self.guard:
            now_ms = self.now_ms()
            holder, ends_ms = self.mutexes.get(name, (owner, now_ms))
            if holder != owner and ends_ms > now_ms:
                return False
            self.mutexes[name] = owner, now_ms + round(lease_s * 1000)
            return True

    def release_mutex(self, name: str, owner: str) -> None:
        with self.guard:
            if name in self.mutexes and self.mutexes[name][0] == owner:
                del self.mutexes[name]
