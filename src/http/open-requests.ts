import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The open requests of each connection. */
export type OpenRequests = {
  /** Counts a request until its answer is sent. Returns the number of open requests on its connection. */
  add(request: IncomingMessage, response: ServerResponse): number;
  count(socket: Duplex): number;
  /** From now on the last answer of each connection says that it is the last (`Connection: close`). */
  endWithAnswers(): void;
  /** Whether the connection ever had a request. */
  hasServed(socket: Duplex): boolean;
  /** Whether the body of the last request is still coming in. */
  isInBody(socket: Duplex): boolean;
  /** The last request, where its body is still coming in and it has no answer. */
  unread(socket: Duplex): IncomingMessage | undefined;
  /** Whether the connection waits for its last answers. */
  isEnding(socket: Duplex): boolean;
  /**
   * Calls `then` once the answers before the malformed bytes are sent: at once when there are none. Those bytes are the
   * body of the last request or come after it; `isAnswered`: the last request has its answer already and its body was
   * malformed.
   */
  afterAnswers(socket: Duplex, then: (isAnswered: boolean) => void): void;
};

type Last = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether its answer would leave the connection open. */
  readonly isKept: boolean;
};

type Connection = {
  open: number;
  last: Last | undefined;
  ending: (() => void) | undefined;
};

const isInBody = ({ last }: Connection): boolean => last !== undefined && !last.request.complete;

export const createOpenRequests = (): OpenRequests => {
  const connections = new WeakMap<Duplex, Connection>();
  const of = (socket: Duplex): Connection => {
    const known = connections.get(socket);
    if (known !== undefined) return known;
    const connection: Connection = { open: 0, last: undefined, ending: undefined };
    connections.set(socket, connection);
    return connection;
  };
  /** Connections with an open request. */
  const busy = new Set<Connection>();
  let isEndingAll = false;
  const sayEnd = ({ last }: Connection): void => {
    if (last?.response.headersSent === false) last.response.shouldKeepAlive = false;
  };
  /** Another request came behind it: its answer is not the last one. */
  const takeBack = ({ open, last }: Connection): void => {
    if (open > 0 && last?.response.headersSent === false) last.response.shouldKeepAlive = last.isKept;
  };

  return {
    add: (request, response) => {
      const connection = of(request.socket);
      if (isEndingAll) takeBack(connection);
      connection.open++;
      connection.last = { request, response, isKept: response.shouldKeepAlive };
      busy.add(connection);
      if (isEndingAll) sayEnd(connection);
      response.once('close', () => {
        connection.open--;
        if (connection.open === 0) busy.delete(connection);
        connection.ending?.();
      });
      return connection.open;
    },
    endWithAnswers: () => {
      isEndingAll = true;
      for (const connection of busy) sayEnd(connection);
    },
    count: (socket) => connections.get(socket)?.open ?? 0,
    hasServed: (socket) => connections.get(socket)?.last !== undefined,
    isInBody: (socket) => {
      const connection = connections.get(socket);
      return connection !== undefined && isInBody(connection);
    },
    unread: (socket) => {
      const connection = connections.get(socket);
      if (connection?.last === undefined || !isInBody(connection)) return undefined;
      return connection.last.response.headersSent ? undefined : connection.last.request;
    },
    isEnding: (socket) => connections.get(socket)?.ending !== undefined,
    afterAnswers: (socket, then) => {
      const connection = of(socket);
      const isBodyBroken = isInBody(connection);
      const isAnswered = isBodyBroken && connection.last?.response.headersSent === true;
      // The malformed request itself gets no other answer.
      const before = isBodyBroken && !isAnswered ? 1 : 0;
      let isDone = false;
      const check = (): void => {
        if (isDone || connection.open > before) return;
        isDone = true;
        then(isAnswered);
      };
      connection.ending = check;
      check();
    },
  };
};
