"""One connection to one server of a metastore. It carries out one call at a time."""

from __future__ import annotations

import grp
import logging
import os
import pwd
from functools import partial
from typing import Any

from thriftpy2.protocol import TCyBinaryProtocol
from thriftpy2.thrift import TApplicationException, TException, TMessageType
from thriftpy2.transport import (
    TCyBufferedTransport,
    TCyFramedTransport,
    TTransportException,
)

from acidsql.backends.metastore.channel import Channel, open_channel
from acidsql.backends.metastore.deadline import Deadline, within
from acidsql.backends.metastore.decoder import Decoder
from acidsql.backends.metastore.errors import (
    LostAnswerError,
    MetaError,
    UnknownMethodError,
    failed,
    lost_answer,
    not_connected,
    reason_of,
)
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.unknown_fields import KeepingProtocol
from acidsql.backends.metastore.url import Endpoint, Place
from acidsql.errors import AcidSqlError

_log = logging.getLogger(__name__)

_BROKEN = (OSError, EOFError, TTransportException)


class Connection:
    """A connection that is ready for calls. NoConnectionError if it cannot be made.

    The metastore takes us for ``user`` (set_ugi), with the groups that the user has on this
    machine. Connecting and logging in must be done by the deadline.
    """

    def __init__(self, endpoint: Endpoint, place: Place, user: str, deadline: Deadline) -> None:
        self.endpoint = endpoint
        self._calls = 0
        self._channel = _open(endpoint, place, user, deadline)
        # As in Hive's clients: SASL and HTTP already send the length of a message.
        framed = place.framed and not self._channel.identifies_user
        self._transport = (TCyFramedTransport if framed else TCyBufferedTransport)(self._channel)
        self._protocol = TCyBinaryProtocol(self._transport)
        self._keeping = KeepingProtocol(self._transport)
        try:
            if not self._channel.identifies_user:
                self._identify(user, deadline)
        except BaseException:
            self.close()
            raise

    def call(
        self,
        method: str,
        *arguments: Any,
        deadline: Deadline,
        keep_unknown: bool = False,
    ) -> Any:
        """The result of a method, by the deadline.

        Raises the errors of `errors.failed`, LostAnswerError and NonsenseError. With
        ``keep_unknown``, structs that are sent or received keep fields that our IDL does not have.
        """
        protocol = self._keeping if keep_unknown else self._protocol
        sent = False
        self._calls += 1
        try:
            self._channel.begin(deadline)
            self._send(protocol, method, arguments)
            sent = True
            return self._receive(method, keep_unknown=keep_unknown)
        except AcidSqlError:
            raise
        except TApplicationException as error:
            raise failed(error, self.endpoint.name, method) from None
        except _BROKEN as error:
            self.close()
            raise lost_answer(
                self.endpoint.name,
                method,
                reason_of(error),
                sent=sent,
                closed=not isinstance(error, TimeoutError),
            ) from error
        except TException as error:
            if isinstance(error, _DECLARED):
                raise failed(error, self.endpoint.name, method) from None
            self.close()
            raise self._misunderstood(method, error) from error
        except (UnicodeDecodeError, MemoryError) as error:
            self.close()
            if not sent:
                raise
            # A text is not valid Unicode, or too long for the memory of this process.
            raise self._misunderstood(method, error) from error
        except BaseException:
            # Half a message may be on the way, so the connection cannot be used again.
            self.close()
            raise

    def _send(self, protocol: Any, method: str, arguments: tuple[Any, ...]) -> None:
        struct = getattr(hms.ThriftHiveMetastore, f"{method}_args")()
        names = [field[1] for field in struct.thrift_spec.values()]
        for name, value in zip(names, arguments, strict=True):
            setattr(struct, name, value)
        protocol.write_message_begin(method, TMessageType.CALL, self._calls)
        protocol.write_struct(struct)
        protocol.write_message_end()
        self._transport.flush()

    def _receive(self, method: str, *, keep_unknown: bool) -> Any:
        decoder = Decoder(self._transport.read, keep_unknown=keep_unknown)
        _, kind, number = decoder.message_begin()
        if kind == TMessageType.EXCEPTION:
            exception = TApplicationException()
            decoder.read_into(exception)
            raise exception
        result = getattr(hms.ThriftHiveMetastore, f"{method}_result")()
        decoder.read_into(result)
        if number != self._calls:
            raise TTransportException(message=f"the answer to call {number}, not {self._calls}")
        fields = [field[1] for field in result.thrift_spec.values()]
        for name in fields:
            if name != "success" and getattr(result, name) is not None:
                raise getattr(result, name)
        if "success" not in fields:
            return None
        if result.success is None:
            raise TApplicationException(
                TApplicationException.MISSING_RESULT, f"{method} was answered without a result"
            )
        return result.success

    def _misunderstood(self, method: str, error: BaseException) -> LostAnswerError:
        return lost_answer(
            self.endpoint.name,
            method,
            f"It does not speak plain binary Thrift ({reason_of(error)})",
            sent=True,
            closed=False,
        )

    def is_alive(self) -> bool:
        """Whether an idle connection still seems usable, judging by its socket."""
        return not self._channel.closed and self._channel.is_idle()

    @property
    def closed(self) -> bool:
        """Whether the connection is closed."""
        return self._channel.closed

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._channel.close()

    def _identify(self, user: str, deadline: Deadline) -> None:
        try:
            groups = within(deadline, "groups of a user", partial(_groups, user))
        except TimeoutError as error:
            reason = f"The groups of {user} were not known in time"
            raise not_connected(self.endpoint.name, reason) from error
        try:
            self.call("set_ugi", user, groups, deadline=deadline)
        except (UnknownMethodError, MetaError):
            # Hive's clients go on, too: the server may run everything as its own user.
            _log.warning("set_ugi failed at %s", self.endpoint.name, exc_info=True)


_DECLARED = tuple(
    value
    for value in vars(hms).values()
    if isinstance(value, type) and issubclass(value, TException)
)


def _open(endpoint: Endpoint, place: Place, user: str, deadline: Deadline) -> Channel:
    try:
        return open_channel(endpoint, place, user, deadline)
    except (OSError, EOFError) as error:
        raise not_connected(endpoint.name, reason_of(error)) from error


def _groups(user: str) -> list[str]:
    """The groups of a user on this machine; [] for a user that this machine does not know."""
    try:
        entry = pwd.getpwnam(user)
        return [grp.getgrgid(gid).gr_name for gid in os.getgrouplist(user, entry.pw_gid)]
    except (KeyError, OSError):
        return []
