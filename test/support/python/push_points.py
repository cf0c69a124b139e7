"""Pushes points with the client: url, data id, token, number of points; prints its numbers when they are decided."""

import json
import sys
from dataclasses import asdict

from tidemark import Client

url, data_id, token, points = sys.argv[1:]
losses = []
client = Client(url, int(data_id), token, batch_points=20, interval_s=0.05, on_loss=lambda loss: losses.append(asdict(loss)))
for number in range(int(points)):
    # Equal times and targets: only the number tells the points apart, as the rows must, too.
    client.push({"number": number}, target="a", timestamp_ms=1_700_000_000_000)
client.close(120)
print(json.dumps({**asdict(client.stats), "losses": losses}))
