import type { IncomingMessage, ServerResponse } from 'node:http';

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Remembers that the client waits for `100 Continue` before it sends the body of this request. */
export const holdContinue = (request: IncomingMessage, response: ServerResponse): void => {
  waiting.set(request, response);
};

/** Tells a client that waits for it to send its body. A request refused before this costs no body at all. */
export const sendContinue = (request: IncomingMessage): void => {
  const response = waiting.get(request);
  if (response === undefined) return;
  waiting.delete(request);
  response.writeContinue();
};
