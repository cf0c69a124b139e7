"""A small web server and its client, which know nothing of OpenTelemetry: instrumentation is for who starts them."""

import logging
import threading

import requests
from flask import Flask
from werkzeug.serving import make_server

app = Flask("shop")
log = logging.getLogger("shop")


@app.route("/orders/<int:number>")
def order(number):
    log.warning("order %d of é", number, extra={"number": number})
    if number % 5 == 4:
        raise ValueError(f"no order {number}")
    return {"order": number}


def run(requests_count):
    server = make_server("127.0.0.1", 0, app)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    for number in range(requests_count):
        requests.get(f"http://127.0.0.1:{server.server_port}/orders/{number}", timeout=30)
    server.shutdown()
    serving.join()
