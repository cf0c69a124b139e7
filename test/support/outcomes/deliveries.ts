import type { Delivery } from '../../../src/bus/puller.ts';

/** The first delivery of a message of points; its acknowledgement goes nowhere. */
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
  free: () => {},
};
