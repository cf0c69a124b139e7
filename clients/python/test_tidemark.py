"""What the client promises, against a receiver that answers as a test says."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple
from unittest import mock

import tidemark
from tidemark import Client, Loss

OK = (200, {"code": "200", "result": "true", "message": ""}, {})
BUSY = (503, {"code": "503", "result": "false", "message": "busy", "reason": "not_stored"}, {"Retry-After": "0"})
#: Reads the request, then closes the connection without an answer.
LOST: Tuple[int, Dict[str, str], Dict[str, str]] = (0, {}, {})
#: Begins an answer, and continues it byte by byte without an end.
DRIPS: Tuple[int, Dict[str, str], Dict[str, str]] = (-1, {}, {})


class Request(NamedTuple):
    path: str
    key: Optional[str]
    body: bytes
    points: List[Dict[str, Any]]


class Receiver:
    """Gives its answers one by one, and the last one for ever."""

    def __init__(self, *answers: Tuple[int, Dict[str, Any], Dict[str, str]]) -> None:
        self.requests: List[Request] = []
        self.gate = threading.Event()
        self.gate.set()
        self.arrived = threading.Semaphore(0)
        self.dripped = threading.Event()
        self.is_closed = threading.Event()
        left = list(answers)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                plain = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
                points = json.loads(plain)["data"]
                receiver.requests.append(Request(self.path, self.headers["Idempotency-Key"], plain, points))
                receiver.arrived.release()
                receiver.gate.wait(10)
                status, envelope, headers = left.pop(0) if len(left) > 1 else left[0]
                if status == 0:
                    self.close_connection = True
                    return
                if status < 0:
                    return self.drip()
                text = json.dumps(envelope).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(text)
                if "X-Then-Closes" in headers:
                    self.close_connection = True

            def drip(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "1000000")
                self.end_headers()
                try:
                    while not receiver.is_closed.wait(0.01):
                        self.wfile.write(b" ")
                        receiver.dripped.set()
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.gate.set()
        self.is_closed.set()
        self.server.shutdown()
        self.server.server_close()


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        tidemark._BACK_OFF_FIRST_S = 0.001
        self.losses: List[Loss] = []

    def receiver(self, *answers: Tuple[int, Dict[str, Any], Dict[str, str]]) -> Receiver:
        receiver = Receiver(*answers)
        self.addCleanup(receiver.close)
        return receiver

    def client(self, receiver: Receiver, **options: Any) -> Client:
        client = Client(receiver.url, 7, "secret", on_loss=self.losses.append, **options)
        self.addCleanup(client.close, 0)
        return client

    def test_the_url_may_have_the_path_as_the_banner_shows_it(self) -> None:
        receiver = self.receiver(OK)
        for end in ("", "/", "/v2/push", "/v2/push/"):
            with Client(receiver.url + end, 7, "secret", on_loss=self.losses.append) as client:
                client.push({"load": 1})
        self.assertEqual([request.path for request in receiver.requests], ["/v2/push/"] * 4)

    def test_points_are_sent_in_order_in_batches_with_a_key_each(self) -> None:
        receiver = self.receiver(OK)
        client = self.client(receiver, batch_points=2, interval_s=60)
        for load in range(5):
            client.push({"load": load}, target="a", dimension={"module": "db"}, timestamp_ms=1000 + load)
        self.assertTrue(client.flush(10))
        self.assertEqual([len(request.points) for request in receiver.requests], [2, 2, 1])
        sent = [point for request in receiver.requests for point in request.points]
        self.assertEqual([point["metrics"]["load"] for point in sent], [0, 1, 2, 3, 4])
        self.assertEqual(sent[0], {"metrics": {"load": 0}, "target": "a", "dimension": {"module": "db"}, "timestamp": 1000})
        self.assertEqual(len({request.key for request in receiver.requests}), 3)
        self.assertEqual({request.path for request in receiver.requests}, {"/v2/push/"})
        self.assertEqual((client.stats.stored, client.stats.buffered), (5, 0))

    def test_a_retry_has_the_bytes_and_the_key_of_the_first_try(self) -> None:
        replayed = (200, OK[1], {"Idempotent-Replayed": "true"})
        receiver = self.receiver(BUSY, LOST, (500, {}, {}), (429, {}, {}), (200, {"html": "portal"}, {}), replayed)
        client = self.client(receiver)
        client.push({"load": 1})
        with self.assertLogs("tidemark", "WARNING"):
            self.assertTrue(client.flush(10))
        self.assertEqual(len(receiver.requests), 6)
        self.assertEqual(len({(request.key, request.body) for request in receiver.requests}), 1)
        stats = client.stats
        self.assertEqual((stats.stored, stats.retries, stats.replays, self.losses), (0, 5, 1, []))

    def test_what_a_replay_does_not_say_is_not_claimed(self) -> None:
        receiver = self.receiver(LOST, (200, OK[1], {"Idempotent-Replayed": "true"}))
        client = self.client(receiver, interval_s=60)
        for load in range(4):
            client.push({"load": load})
        with self.assertLogs("tidemark", "WARNING") as logged:
            self.assertTrue(client.flush(10))
        stats = client.stats
        self.assertEqual((stats.stored, stats.lost, stats.replayed, stats.replays), (0, 0, 4, 1))
        self.assertIn("4 points were received before", logged.records[0].getMessage())

    def test_a_flush_waits_for_what_was_pushed_before_it_alone(self) -> None:
        receiver = self.receiver(OK)
        receiver.gate.clear()
        client = self.client(receiver, batch_points=1)
        client.push({"load": 0})
        flushed: List[bool] = []
        flush = threading.Thread(target=lambda: flushed.append(client.flush(10)))
        flush.start()
        with client._changed:
            self.assertTrue(client._changed.wait_for(lambda: client._flushes > 0, 10))
        self.assertTrue(receiver.arrived.acquire(timeout=10))
        # From here on a point is waiting whenever a batch is decided.
        end = client._decided

        def decided(*args: Any) -> None:
            with contextlib.suppress(RuntimeError):  # After the close.
                client.push({"load": 1})
            end(*args)

        client._decided = decided  # type: ignore[method-assign]
        client.push({"load": 1})
        receiver.gate.set()
        flush.join(15)
        self.assertEqual(flushed, [True])
        self.assertGreater(client.stats.buffered, 0)

    def test_a_point_without_a_time_gets_the_one_of_its_push(self) -> None:
        receiver = self.receiver(OK)
        client = self.client(receiver)
        client.push({"load": 1})
        self.assertTrue(client.flush(10))
        self.assertGreater(receiver.requests[0].points[0]["timestamp"], 1_600_000_000_000)

    def test_it_waits_as_long_as_retry_after_says(self) -> None:
        receiver = self.receiver((503, BUSY[1], {"Retry-After": "200"}), OK)
        client = self.client(receiver)
        told = threading.Event()
        waits: List[float] = []
        wait = client._gives_up.wait

        def waiting(seconds: Optional[float] = None) -> bool:
            waits.append(seconds or 0)
            told.set()
            return wait(seconds)

        client._gives_up.wait = waiting  # type: ignore[method-assign]
        client.push({"load": 1})
        self.assertTrue(told.wait(10))
        self.assertGreaterEqual(waits[0], 200)
        # A close that waits less is a loss, with the last answer as its reason.
        self.assertFalse(client.close(0))
        self.assertEqual(self.losses, [Loss("not_delivered", 1, "503 busy")])
        self.assertEqual(len(receiver.requests), 1)

    def assert_all_are_lost(self, client: Client, points: int) -> None:
        self.assertFalse(client.close(0))
        self.assertEqual(sum(loss.points for loss in self.losses), points)
        self.assertEqual({loss.reason for loss in self.losses}, {"not_delivered"})
        self.assertEqual((client.stats.stored, client.stats.lost, client.stats.buffered), (0, points, 0))
        assert client._thread is not None
        client._thread.join(10)
        self.assertFalse(client._thread.is_alive())
        self.assertEqual((client.stats.stored, client.stats.lost, client.stats.buffered), (0, points, 0))

    def test_a_close_does_not_wait_for_a_receiver_that_hangs(self) -> None:
        receiver = self.receiver(OK)
        receiver.gate.clear()
        client = self.client(receiver, batch_points=1, timeout_s=60)
        for load in range(3):
            client.push({"load": load})
        self.assertTrue(receiver.arrived.acquire(timeout=10))
        self.assert_all_are_lost(client, 3)

    def test_a_close_does_not_wait_for_an_answer_that_drips(self) -> None:
        receiver = self.receiver(DRIPS)
        client = self.client(receiver, batch_points=1, timeout_s=1)
        for load in range(3):
            client.push({"load": load})
        self.assertTrue(receiver.dripped.wait(10))
        self.assert_all_are_lost(client, 3)

    def test_a_refusal_is_final_and_told(self) -> None:
        refused = (401, {"code": "401", "result": "false", "message": "wrong", "reason": "unauthorized"}, {})
        receiver = self.receiver(refused, OK)
        client = self.client(receiver)
        client.push({"load": 1})
        self.assertTrue(client.flush(10))
        self.assertEqual(self.losses, [Loss("unauthorized", 1, "wrong")])
        client.push({"load": 2})
        self.assertTrue(client.flush(10))
        self.assertEqual((client.stats.stored, client.stats.lost), (1, 1))

    def test_a_batch_that_is_too_large_is_halved_under_keys_of_their_own(self) -> None:
        large = (413, {"result": "false", "message": "data has 4 points", "reason": "too_many_points"}, {})
        receiver = self.receiver(BUSY, large, OK, large, OK, large)
        client = self.client(receiver, batch_points=4)
        for number in range(4):
            client.push({"a": number})
        self.assertTrue(client.flush(10))
        sent = [[point["metrics"]["a"] for point in request.points] for request in receiver.requests]
        self.assertEqual(sent, [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1], [2, 3], [2], [3]])
        self.assertEqual(len({request.key for request in receiver.requests}), 5)
        self.assertEqual(self.losses, [Loss("too_many_points", 1, "data has 4 points")])
        self.assertEqual((client.stats.stored, client.stats.lost, client.stats.buffered), (3, 1, 0))

    # Its points may be stored under its key: halves under other keys could store them twice.
    def test_a_batch_that_may_be_stored_is_not_halved(self) -> None:
        large = (413, {"result": "false", "message": "too many", "reason": "too_many_points"}, {})
        unconfirmed = (503, {"result": "false", "message": "", "reason": "unconfirmed"}, {"Retry-After": "0"})
        for first in (LOST, unconfirmed):
            receiver = self.receiver(first, large)
            client = self.client(receiver, batch_points=2)
            client.push({"a": 1})
            client.push({"a": 2})
            self.assertTrue(client.flush(10))
            self.assertEqual(len({request.key for request in receiver.requests}), 1)
            self.assertEqual(self.losses.pop(), Loss("too_many_points", 2, "too many"))

    def test_a_batch_of_which_nothing_was_sent_may_be_halved(self) -> None:
        large = (413, {"result": "false", "message": "too many", "reason": "too_many_points"}, {})
        receiver = self.receiver((OK[0], OK[1], {"X-Then-Closes": "1"}), large, OK)
        client = self.client(receiver, batch_points=2)
        client.push({"a": 1})
        self.assertTrue(client.flush(10))
        idle = client._connection
        assert idle is not None
        idle.sock.settimeout(10)
        idle.sock.recv(1, socket.MSG_PEEK)  # Until it is closed.
        refusals = [ConnectionRefusedError("refused")]
        connect = http.client.HTTPConnection.connect

        def refused_once(connection: http.client.HTTPConnection) -> None:
            if refusals:
                raise refusals.pop()
            connect(connection)

        with mock.patch.object(http.client.HTTPConnection, "connect", refused_once):
            client.push({"a": 2})
            client.push({"a": 3})
            self.assertTrue(client.flush(10))
        self.assertEqual([len(request.points) for request in receiver.requests], [1, 2, 1, 1])
        self.assertEqual((client.stats.stored, self.losses), (3, []))

    def test_a_close_tells_the_loss_of_a_half_that_was_not_sent(self) -> None:
        large = (413, {"result": "false", "message": "too many", "reason": "too_many_points"}, {})
        receiver = self.receiver(large, OK, LOST)
        client = self.client(receiver, batch_points=4)
        for number in range(4):
            client.push({"a": number})
        for _ in range(3):
            receiver.arrived.acquire(timeout=10)
        self.assertFalse(client.close(0))
        self.assertEqual([(loss.reason, loss.points) for loss in self.losses], [("not_delivered", 2)])
        self.assertEqual((client.stats.stored, client.stats.lost, client.stats.buffered), (2, 2, 0))

    def test_a_redirect_is_retried_and_not_followed(self) -> None:
        moved = (301, {}, {"Location": "https://elsewhere/v2/push/"})
        receiver = self.receiver(moved, moved, OK)
        client = self.client(receiver)
        client.push({"a": 1})
        self.assertTrue(client.flush(10))
        self.assertEqual((client.stats.stored, client.stats.lost, client.stats.retries), (1, 0, 2))
        receiver = self.receiver(moved)
        client = self.client(receiver)
        client.push({"a": 1})
        self.assertFalse(client.close(0.5))
        told = Loss("not_delivered", 1, "301 redirects to https://elsewhere/v2/push/")
        self.assertEqual(self.losses, [told])

    def test_rounded_values_and_expiring_points_are_counted_and_told_once(self) -> None:
        envelope = {"result": "true", "message": "2 values stored", "values_rounded": 2, "points_expiring": 1}
        receiver = self.receiver((200, envelope, {}))
        client = self.client(receiver)
        with self.assertLogs("tidemark", logging.WARNING) as logs:
            for _ in range(2):
                client.push({"a": 1})
                self.assertTrue(client.flush(10))
        self.assertEqual(
            [record.getMessage() for record in logs.records],
            [f"2 values stored; stats.{name} counts further ones" for name in ("values_rounded", "points_expiring")],
        )
        self.assertEqual((client.stats.stored, client.stats.values_rounded, client.stats.points_expiring), (2, 4, 2))

    def test_dropped_points_are_told_by_reason(self) -> None:
        answer = {"code": "200", "result": "true", "message": "1 of 2", "dropped": {"metrics_empty": 1}}
        client = self.client(self.receiver((200, answer, {})))
        client.push({"load": 1})
        client.push({})
        self.assertTrue(client.flush(10))
        self.assertEqual(self.losses, [Loss("metrics_empty", 1, "1 of 2")])
        self.assertEqual((client.stats.stored, client.stats.lost), (1, 1))

    def test_dropped_values_of_stored_points_are_counted_and_told_once_for_each_reason(self) -> None:
        dropped = {"values_dropped": {"metric_columns_exceeded": 2, "another_reason": 1}}
        answer = {"code": "200", "result": "true", "message": "3 values dropped", "dropped": {}, **dropped}
        client = self.client(self.receiver((200, answer, {})), batch_points=1)
        with self.assertLogs("tidemark", "WARNING") as logged:
            for load in (1, 2):
                client.push({"load": load})
                self.assertTrue(client.flush(10))
        told = [record.getMessage() for record in logged.records]
        self.assertEqual(
            told,
            [
                "2 values are not stored, their points are: metric_columns_exceeded (3 values dropped); stats.values_dropped counts further ones",
                "1 values are not stored, their points are: another_reason (3 values dropped); stats.values_dropped counts further ones",
            ],
        )
        self.assertEqual((client.stats.stored, client.stats.lost, client.stats.values_dropped), (2, 0, 6))
        self.assertEqual(self.losses, [])

    def test_the_buffer_is_bounded_and_a_point_beyond_it_is_told(self) -> None:
        receiver = self.receiver(OK)
        receiver.gate.clear()
        client = self.client(receiver, buffer_points=3, batch_points=1)
        self.assertTrue(client.push({"load": 0}))
        self.assertTrue(receiver.arrived.acquire(timeout=10))
        taken = [client.push({"load": load}) for load in (1, 2, 3)]
        self.assertEqual(taken, [True, True, False])
        self.assertEqual([loss.reason for loss in self.losses], ["buffer_full"])
        receiver.gate.set()
        self.assertTrue(client.flush(10))
        self.assertEqual(client.stats.stored, 3)

    def test_large_batches_are_cut_by_bytes(self) -> None:
        receiver = self.receiver(OK)
        client = self.client(receiver, batch_bytes=4096, interval_s=60)
        for _ in range(8):
            client.push({"load": 1}, target="x" * 1000)
        self.assertTrue(client.flush(10))
        self.assertLess(max(len(request.body) for request in receiver.requests), 4300)
        self.assertEqual(client.stats.stored, 8)

    def test_a_value_that_json_has_not_is_an_error_of_its_push(self) -> None:
        client = self.client(self.receiver(OK))
        with self.assertRaises(ValueError):
            client.push({"load": float("nan")})
        with self.assertRaises(TypeError):
            client.push({"load": object()})  # type: ignore[dict-item]
        client.close()
        with self.assertRaises(RuntimeError):
            client.push({"load": 1})

    def test_an_address_that_cannot_be_sent_is_an_error_of_its_client(self) -> None:
        for url in ("http://tidemark..svc:10205", f"http://{'a' * 64}.svc:10205", "http://tidemark:10205/gr\u00fcn"):
            with self.assertRaises(UnicodeError):
                Client(url, 1500001, "token")

    def test_a_query_behind_the_address_is_an_error_of_its_client(self) -> None:
        for url in ("http://127.0.0.1:1/v2/push/?strict=true", "http://127.0.0.1:1/#a"):
            with self.assertRaisesRegex(ValueError, "without a query"):
                Client(url, 7, "secret")

    def test_a_callback_that_fails_stops_nothing(self) -> None:
        logging.getLogger("tidemark").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("tidemark").setLevel, logging.NOTSET)
        receiver = self.receiver((400, {"reason": "metrics_empty"}, {}), OK)
        client = Client(receiver.url, 7, "secret", on_loss=lambda _: 1 / 0)  # type: ignore[arg-type,return-value]
        for load in (1, 2):
            client.push({"load": load})
            self.assertTrue(client.flush(10))
        self.assertEqual(client.stats.stored, 1)

    def in_a_program(self, receiver: Receiver, code: str) -> None:
        text = f"import os, tidemark\nclient = tidemark.Client({receiver.url!r}, 7, 'secret', interval_s=60)\n{code}\n"
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        subprocess.run([sys.executable, "-c", text], env=environment, timeout=30, check=True)

    def test_the_exit_of_a_program_flushes(self) -> None:
        receiver = self.receiver(BUSY, OK)
        self.in_a_program(receiver, "client.push({'load': 1})")
        self.assertEqual([len(request.points) for request in receiver.requests], [1, 1])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_fork_sends_its_own_points_alone(self) -> None:
        receiver = self.receiver(OK)
        code = (
            "client.push({'load': 1})\n"
            "child = os.fork()\n"
            "client.push({'load': 3 if child else 2})\n"
            "if child: os.waitpid(child, 0)"
        )
        self.in_a_program(receiver, code)
        batches = sorted([point["metrics"]["load"] for point in request.points] for request in receiver.requests)
        self.assertEqual(batches, [[1, 3], [2]])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_the_exit_of_a_child_of_multiprocessing_flushes(self) -> None:
        receiver = self.receiver(OK)
        code = (
            "import multiprocessing\n"
            "fork = multiprocessing.get_context('fork')\n"
            "child = fork.Process(target=client.push, args=({'load': 2},))\n"
            "child.start()\n"
            "child.join()\n"
            "client.push({'load': 1})"
        )
        self.in_a_program(receiver, code)
        batches = [[point["metrics"]["load"] for point in request.points] for request in receiver.requests]
        self.assertEqual(batches, [[2], [1]])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_thread_of_a_child_pushes_also_after_the_end_of_its_target(self) -> None:
        receiver = self.receiver(OK, OK)
        code = (
            "import multiprocessing, threading, time\n"
            "def late():\n"
            "    while client.stats.stored == 0: time.sleep(0.01)\n"
            "    client.push({'load': 3})\n"
            "    client.flush(10)\n"
            "def target():\n"
            "    client.push({'load': 2})\n"
            "    threading.Thread(target=late).start()\n"
            "child = multiprocessing.get_context('fork').Process(target=target)\n"
            "child.start()\n"
            "child.join()"
        )
        self.in_a_program(receiver, code)
        batches = [[point["metrics"]["load"] for point in request.points] for request in receiver.requests]
        self.assertEqual(batches, [[2], [3]])


if __name__ == "__main__":
    unittest.main()
