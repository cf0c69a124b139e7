import { createServer, type ServerResponse, request as send } from 'node:http';
import { onTestFinished } from 'vitest';
import { consoleStack } from './console-stack.ts';

/** The console behind a server that answers the live stream itself, so that a test decides what becomes of it. */
export type LiveProxy = {
  origin: string;
  /** The topics of the streams that are open now. */
  readonly open: string[];
  /** Ends the open streams as a killed process does. */
  cut(): void;
  /** What a new stream gets: events, 503, the end of its connection, or no answer at all. */
  answer: 'events' | 'busy' | 'nothing' | 'silence';
  /** The open streams and their connections stay, and nothing comes: as where the process hangs. */
  isSilent: boolean;
  /** Whether a stream begins with a beat, as those of metadata do. */
  beats: boolean;
};

const eventEveryMs = 100;

/** For the present test. */
export const startLiveProxy = async (): Promise<LiveProxy> => {
  const { hostname, port } = new URL(consoleStack().admin);
  const streams = new Map<ServerResponse, string>();
  const proxy: LiveProxy = {
    answer: 'events',
    isSilent: false,
    beats: true,
    origin: '',
    get open() {
      return [...streams.values()];
    },
    cut: () => {
      for (const response of streams.keys()) response.destroy();
    },
  };
  const stream = (response: ServerResponse, topics: string): void => {
    if (proxy.answer === 'nothing') return void response.destroy();
    if (proxy.answer === 'silence') return;
    if (proxy.answer === 'busy') {
      response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '5' });
      return void response.end('{"code":"too_many_readers","detail":"64 readers","status":503}');
    }
    streams.set(response, topics);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let count = 0;
    const timer = setInterval(() => {
      if (!proxy.isSilent) response.write(`event: line\ndata: {"count":${count++}}\n\n`);
    }, eventEveryMs);
    response.write(`retry: 200\n\n${proxy.beats ? 'event: beat\ndata: {}\n\n' : ''}`);
    response.once('close', () => {
      clearInterval(timer);
      streams.delete(response);
    });
  };
  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '/', 'http://proxy');
    if (url.pathname === '/api/v1/live') return stream(response, url.searchParams.get('topics') ?? '');
    if (url.pathname === '/api/v1/line') return void response.end('{"polled":true}');
    const { method, headers, url: path } = incoming;
    const sent = send({ hostname, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    sent.once('error', () => response.destroy());
    incoming.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  proxy.origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return proxy;
};
