import { expect, it, onTestFinished } from 'vitest';
import { connectBus } from '../../../src/bus/connection.ts';
import { type Delivery, startPuller } from '../../../src/bus/puller.ts';
import { startHeldNats } from '../../support/stack/held-nats.ts';
import { until } from '../../support/until.ts';

/** What comes of a delivery that is read this long after its pull was sent. */
const readAfter = async (ackWaitMs: number, pausedMs: number, deliveries: number): Promise<Delivery> => {
  const nats = await startHeldNats();
  const bus = await connectBus(nats.url, 'test');
  let now = 0;
  const read: Delivery[] = [];
  const puller = startPuller(bus, {
    ...{ stream: 'S', consumer: 'c', bytesMax: 1_024, ackWaitMs: () => ackWaitMs, elapsed: () => now },
    ...{ hasRoom: () => true, onDelivery: (delivery) => read.push(delivery), onFault: () => {} },
  });
  onTestFinished(async () => {
    const stopped = puller.stop();
    // It ends the open pull.
    nats.disconnect();
    await stopped;
    await bus.nc.close();
    await nats.stop();
  });
  const pull = await until('a pull', () => nats.pulls.at(-1));
  now = pausedMs;
  nats.deliver(pull, 7, deliveries);
  return until('the delivery is read', () => read.at(0));
};

// A worker that was paused reads its first delivery when another one may have stored the message: what is stored without a look at
// the rows that are there would be stored twice. In usual operation such a look is a cost without a use.
it.each([
  ['at once is a first delivery', 30_000, 0, 1, false, 0],
  ['within the time of its pull is a first delivery', 30_000, 2_000, 1, false, 0],
  ['later than its pull lasts may be with another worker', 30_000, 2_001, 1, true, undefined],
  ['within half of a short ack wait is a first delivery', 2_000, 1_000, 1, false, 0],
  ['after half of a short ack wait may be with another worker', 2_000, 1_001, 1, true, undefined],
  ['at its second delivery may be with another worker', 30_000, 0, 2, true, 1],
  ['late at its second delivery may be with a third one', 30_000, 2_001, 2, true, undefined],
])('a message that is read %s', async (_, ackWaitMs, pausedMs, deliveries, redelivered, earlier) => {
  expect(await readAfter(ackWaitMs, pausedMs, deliveries)).toMatchObject({
    streamSequence: 7,
    redelivered,
    earlier,
  });
});
