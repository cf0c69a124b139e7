"""Pushes custom metrics to Tidemark: buffered, retried, each point stored once.

Every batch keeps its bytes and its ``Idempotency-Key`` over all retries, so a batch whose answer was lost is not stored
twice. Only the standard library is needed (Python 3.9 or newer).
"""

from __future__ import annotations

import atexit
import contextlib
import gzip
import http.client
import json
import logging
import os
import random
import selectors
import socket
import sys
import threading
import time
import uuid
import weakref
from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from typing import Callable, Mapping, Optional, Union
from urllib.parse import urlsplit

__all__ = ["Client", "Loss", "Stats"]

log = logging.getLogger("tidemark")

_BACK_OFF_FIRST_S = 0.2
_BACK_OFF_MAX_S = 30.0
_RETRY_AFTER_MAX_S = 300.0
_ANSWER_BYTES_MAX = 1 << 20


@dataclass(frozen=True)
class Loss:
    """Points that are not stored, and why: a reason of the service, ``buffer_full`` or ``not_delivered``."""

    reason: str
    points: int
    message: str


@dataclass(frozen=True)
class Stats:
    """Points since the client was made, and retries. ``replays`` of them found an earlier try received, with ``replayed``
    points: which of these it dropped is unknown. ``values_dropped``: metrics that the service left out of stored points;
    ``values_rounded``: integers stored as the nearest double; ``points_expiring``: those that a default retention removes.
    """

    stored: int = 0
    lost: int = 0
    buffered: int = 0
    retries: int = 0
    replays: int = 0
    replayed: int = 0
    values_dropped: int = 0
    values_rounded: int = 0
    points_expiring: int = 0


@dataclass(frozen=True)
class _Batch:
    body: bytes
    key: str
    points: int


@dataclass(frozen=True)
class _Answer:
    status: int
    retry_after_s: float
    is_replay: bool
    envelope: Mapping[str, object]

    @property
    def is_final(self) -> bool:
        # A 200 that is not the service's own, of a proxy or a portal, has stored nothing.
        if self.status == 200:
            return self.envelope.get("result") == "true"
        return 400 <= self.status < 500 and self.status not in (408, 429)


class Client:
    """One data id. Every method may be called from any thread; one background thread sends.

    ``url``: the push receiver, like ``http://127.0.0.1:10205``. ``batch_points`` and ``batch_bytes`` bound a request,
    ``interval_s`` is the longest wait for a batch to fill. ``buffer_points`` bounds memory: a point beyond it is lost.
    ``timeout_s`` is per request; the service answers within 8 s. ``on_loss`` is called from the background thread, or
    from ``push`` for ``buffer_full``; without it a loss is logged as a warning of the logger ``tidemark``.
    """

    def __init__(
        self,
        url: str,
        data_id: int,
        access_token: str,
        *,
        batch_points: int = 500,
        batch_bytes: int = 512 * 1024,
        interval_s: float = 1.0,
        buffer_points: int = 100_000,
        timeout_s: float = 10.0,
        exit_timeout_s: float = 10.0,
        on_loss: Optional[Callable[[Loss], None]] = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None or parts.query or parts.fragment:
            raise ValueError(f"url must be like http://host:10205, without a query, got {url!r}")
        parts.hostname.encode("idna"), parts.path.encode("ascii")  # UnicodeError, as each try would have
        self._https, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        # The banner of `tidemark up` shows the address with its path.
        self._path = parts.path.rstrip("/").removesuffix("/v2/push") + "/v2/push/"
        self._head = json.dumps({"data_id": data_id, "access_token": access_token})[:-1] + ', "data": ['
        self._batch_points, self._batch_bytes = batch_points, batch_bytes
        self._interval_s, self._buffer_points = interval_s, buffer_points
        self._timeout_s, self._exit_timeout_s, self._on_loss = timeout_s, exit_timeout_s, on_loss
        self._reset()
        atexit.register(_call, weakref.WeakMethod(self.close))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=partial(_call, weakref.WeakMethod(self._reset)))

    def _reset(self) -> None:
        """Begins without points: those of before a fork are the parent's to send."""
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._pushed = self._sending = self._flushes = 0
        self._is_closed = False
        self._gives_up = threading.Event()
        self._stats = Stats()
        self._told: set[str] = set()
        self._connection: Optional[http.client.HTTPConnection] = None
        self._socket: Optional[socket.socket] = None
        self._is_sent = False  # Whether the last try may have reached the service.
        self._decided_points, self._why = 0, ""
        self._thread: Optional[threading.Thread] = None

    def push(
        self,
        metrics: Mapping[str, Union[int, float]],
        *,
        target: str = "",
        dimension: Optional[Mapping[str, str]] = None,
        timestamp_ms: Optional[int] = None,
    ) -> bool:
        """Buffers a point; without a timestamp it is of now. False when the buffer is full, and the point lost.

        Raises ValueError for NaN and infinities, TypeError for values that JSON has not, RuntimeError after ``close``.
        """
        point = {
            "metrics": dict(metrics),
            "target": target,
            "dimension": dict(dimension or {}),
            "timestamp": time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms,
        }
        text = json.dumps(point, allow_nan=False, separators=(",", ":")).encode()
        with self._changed:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            is_full = len(self._waiting) + self._sending >= self._buffer_points
            if not is_full:
                self._waiting.append(text)
                self._pushed += 1
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="tidemark", daemon=True)
                    self._thread.start()
                    _at_exit_of_child(weakref.WeakMethod(self._end_child))
                elif len(self._waiting) in (1, self._batch_points):
                    self._changed.notify_all()
        if is_full:
            self._lose(Loss("buffer_full", 1, f"the buffer holds {self._buffer_points} points"))
        return not is_full

    def flush(self, timeout_s: Optional[float] = None) -> bool:
        """Sends what is buffered now, and waits until it is stored or refused. False after the time-out."""
        with self._changed:
            self._flushes, last = self._flushes + 1, self._pushed
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: self._pushed - len(self._waiting) - self._sending >= last, timeout_s)
            finally:
                self._flushes -= 1

    def close(self, timeout_s: Optional[float] = None) -> bool:
        """Flushes and ends; also called at the exit of the program. What is not delivered in time is a loss."""
        with self._changed:
            self._is_closed = True
        limit_s = self._exit_timeout_s if timeout_s is None else timeout_s
        ends_at = time.monotonic() + limit_s
        is_done = self.flush(limit_s)
        with self._changed:
            self._gives_up.set()
            # A batch with a decision is for its thread to tell.
            is_decided = self._decided_points > 0
            left, self._sending = len(self._waiting) + self._sending - self._decided_points, self._decided_points
            why = self._why or "the client was closed first"
            self._waiting.clear()
            self._changed.notify_all()
        if left > 0 and self._socket is not None:
            # Ends a read of the thread. The method of TLS sockets would take the session away from it.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        if left > 0:
            self._lose(Loss("not_delivered", left, why))
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(1.0 if is_decided else 0.0, ends_at - time.monotonic()))
        return is_done

    def _end_child(self) -> None:
        # Its threads and its own exit functions may still push.
        if not self.flush(self._exit_timeout_s):
            self.close(0)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stats(self) -> Stats:
        with self._changed:
            return replace(self._stats, buffered=len(self._waiting) + self._sending)

    def _count(self, **more: int) -> None:
        with self._changed:
            self._stats = replace(self._stats, **{key: getattr(self._stats, key) + by for key, by in more.items()})

    def _lose(self, loss: Loss) -> None:
        self._count(lost=loss.points)
        if self._on_loss is None:
            log.warning("%d points are not stored: %s (%s)", loss.points, loss.reason, loss.message)
            return
        try:
            self._on_loss(loss)
        except Exception:
            log.exception("on_loss failed")

    def _run(self) -> None:
        while (first := self._next()) is not None:
            parts = [first]
            while parts and not self._gives_up.is_set():
                points = parts.pop(0)
                if self._deliver(self._batch(points), can_split=len(points) > 1):
                    with self._changed:
                        self._sending -= self._decided_points
                        self._decided_points, self._why = 0, ""
                        self._changed.notify_all()
                else:
                    parts[:0] = [points[: len(points) // 2], points[len(points) // 2 :]]
        if self._connection is not None:
            self._connection.close()

    def _is_due(self) -> bool:
        return self._gives_up.is_set() or self._flushes > 0 or len(self._waiting) >= self._batch_points

    def _next(self) -> Optional[list[bytes]]:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._gives_up.is_set())
            self._changed.wait_for(self._is_due, self._interval_s)
            if not self._waiting:
                return None
            points: list[bytes] = [self._waiting.popleft()]
            room = self._batch_bytes - len(points[0])
            while self._waiting and len(points) < self._batch_points and (room := room - len(self._waiting[0]) - 1) >= 0:
                points.append(self._waiting.popleft())
            self._sending = len(points)
        return points

    def _batch(self, points: list[bytes]) -> _Batch:
        body = self._head.encode() + b",".join(points) + b"]}"
        return _Batch(gzip.compress(body, 1, mtime=0), uuid.uuid4().hex, len(points))

    def _deliver(self, batch: _Batch, can_split: bool) -> bool:
        """Sends the same bytes under the same key until the service has decided, or ``close`` gives up and tells the loss.
        False for a batch that is too large, of which no try can have stored anything."""
        tries = 0
        while not self._gives_up.is_set():
            wait_s = 0.0
            try:
                answer = self._post(batch)
            except (OSError, http.client.HTTPException) as error:
                self._why = f"{type(error).__name__}: {error}"
                can_split = can_split and not self._is_sent
            else:
                if answer.status == 413 and can_split:
                    return False
                if answer.is_final:
                    with self._changed:
                        self._decided_points = 0 if self._gives_up.is_set() else batch.points
                    if self._decided_points > 0:
                        self._decided(batch, answer)
                    return True
                self._why = f"{answer.status} {answer.envelope.get('message', '')}"
                can_split = can_split and (answer.status == 429 or answer.envelope.get("reason") == "not_stored")
                wait_s = answer.retry_after_s
            tries += 1
            self._count(retries=1)
            back_off_s = min(_BACK_OFF_MAX_S, _BACK_OFF_FIRST_S * 2 ** min(tries, 16))
            # Jitter above Retry-After, too: senders that were refused together must not come back together.
            self._gives_up.wait(wait_s + random.uniform(0, back_off_s))
        return True

    def _decided(self, batch: _Batch, answer: _Answer) -> None:
        if answer.is_replay:
            log.warning("%d points were received before: which of them were dropped, the lost answer said", batch.points)
            return self._count(replayed=batch.points, replays=1)
        envelope = answer.envelope
        counts = _counts(envelope.get("dropped"))
        message = str(envelope.get("message", ""))
        if answer.status != 200 and not counts:
            counts = [(str(envelope.get("reason", f"http_{answer.status}")), batch.points)]
        lost = sum(points for _, points in counts)
        self._count(stored=max(0, batch.points - lost))
        for reason, points in counts:
            self._lose(Loss(reason, points, message))
        for reason, values in _counts(envelope.get("values_dropped")) if answer.status == 200 else []:
            self._count(values_dropped=values)
            if reason not in self._told:
                self._told.add(reason)
                text = "%d values are not stored, their points are: %s (%s); stats.values_dropped counts further ones"
                log.warning(text, values, reason, message)
        for name in ("values_rounded", "points_expiring"):
            if answer.status == 200 and isinstance(number := envelope.get(name), int):
                self._count(**{name: number})
                if name not in self._told:
                    self._told.add(name)
                    log.warning("%s; stats.%s counts further ones", message, name)

    def _post(self, batch: _Batch) -> _Answer:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "User-Agent": "tidemark-python"}
        if self._connection is None:
            kind = http.client.HTTPSConnection if self._https else http.client.HTTPConnection
            self._connection = kind(self._host, self._port, timeout=self._timeout_s)
        self._is_sent = False
        try:
            if self._connection.sock is not None and _is_readable(self._connection.sock):
                self._connection.close()  # No answer is due: its other end closed it while it was idle.
            if self._connection.sock is None:
                self._connection.connect()
            self._is_sent = True
            self._connection.request("POST", self._path, batch.body, {**headers, "Idempotency-Key": batch.key})
            self._socket = self._connection.sock
            if self._gives_up.is_set():  # By a close that could not end the read of this socket yet.
                raise ConnectionAbortedError("the client was closed")
            response = self._connection.getresponse()
            text = response.read(_ANSWER_BYTES_MAX)
        except BaseException:
            self._connection.close()
            self._connection = None
            raise
        after = response.headers.get("Retry-After", "")
        wait_s = min(_RETRY_AFTER_MAX_S, float(after)) if after.isdecimal() else 0.0
        moved = {"message": f"redirects to {response.headers.get('Location', '')}"}
        envelope = moved if 300 <= response.status < 400 else _envelope(text)
        return _Answer(response.status, wait_s, response.headers.get("Idempotent-Replayed") == "true", envelope)


def _counts(dropped: object) -> list[tuple[str, int]]:
    return [(str(reason), int(count)) for reason, count in dropped.items()] if isinstance(dropped, dict) else []


def _is_readable(idle: socket.socket) -> bool:
    with selectors.DefaultSelector() as ready:
        ready.register(idle, selectors.EVENT_READ)
        return bool(ready.select(0))


def _envelope(text: bytes) -> Mapping[str, object]:
    with contextlib.suppress(ValueError):
        if isinstance(value := json.loads(text), dict):
            return value
    return {}


def _at_exit_of_child(method: "weakref.WeakMethod[Callable[[], object]]") -> None:
    # A child of multiprocessing ends by os._exit, which runs no atexit; and it forgets what was registered before its fork.
    process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _call, (method,), exitpriority=0)


def _call(method: "weakref.WeakMethod[Callable[[], object]]") -> None:
    if (call := method()) is not None:
        call()
