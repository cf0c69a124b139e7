import type { IncomingMessage, ServerResponse } from 'node:http';

const waiting = new WeakMap<object, ServerResponse>();

/** Remembers that the client waits for `100 Continue` before it sends the body of this request. */
export const holdContinue = (request: IncomingMessage, response: ServerResponse): void => {
  waiting.set(request, response);
};

/** Whether the client asked for `100 Continue` before the body of this request, and has not had it. */
export const awaitsContinue = (request: object): boolean => waiting.has(request);

/** Sends 100 Continue to a client that waits for it. A request refused before this costs no body at all. */
export const sendContinue = (request: object): void => {
  const response = waiting.get(request);
  if (response === undefined) return;
  waiting.delete(request);
  response.writeContinue();
};
