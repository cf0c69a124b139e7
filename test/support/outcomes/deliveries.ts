import type { Delivery } from '../../../src/bus/puller.ts';

/** The first delivery of a message of points; nobody hears what is answered to it. */
export const firstDelivery: Delivery = {
  payload: new Uint8Array(),
  subject: 'metrics.0',
  version: 1,
  streamSequence: 1,
  redelivered: false,
  redrive: 0,
  ack: () => {},
  nak: () => {},
  working: () => {},
};
