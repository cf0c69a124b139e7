import type { TraceStack } from '../otlp/trace-stack.ts';
import { startGrpcTap } from './grpc-tap.ts';
import type { ClientSignal } from './signal.ts';
import { startTap, type Tap } from './tap.ts';

/** An answer by its status, and by the name that the status has in documents. */
export type Answer = { readonly status: number; readonly name: string };

/** Whether answers say how long to wait. */
export type Hint = 'with' | 'without';

/** How a client reaches a receiver, and what the answers are there. */
export type Transport = {
  port(on: TraceStack): number;
  /** Of the receiver of a signal. */
  url(on: TraceStack, signal: ClientSignal): string;
  /** In front of the receiver; one that answers without the hint drops it from each answer. */
  startTap(on: TraceStack, signal: ClientSignal, hint: Hint): Promise<Tap>;
  /** The name of the hint. */
  readonly hint: string;
  /** Whether the tests run with these hints. */
  readonly hints: readonly Hint[];
  readonly stored: Answer;
  readonly unavailable: Answer;
  readonly limited: Answer;
};

const portOf = (on: TraceStack, name: 'otlp' | 'grpc'): number => on.stack.ingress[0]?.ports[name] ?? 0;

export const overHttp: Transport = {
  port: (on) => portOf(on, 'otlp'),
  url: (on, { path }) => `http://127.0.0.1:${portOf(on, 'otlp')}${path}`,
  startTap: (on, { path }) => startTap(portOf(on, 'otlp'), path),
  hint: 'Retry-After',
  hints: ['with'],
  stored: { status: 200, name: '200' },
  unavailable: { status: 503, name: '503' },
  limited: { status: 429, name: '429' },
};

export const overGrpc: Transport = {
  port: (on) => portOf(on, 'grpc'),
  url: (on) => `http://127.0.0.1:${portOf(on, 'grpc')}`,
  startTap: (on, _, hint) => startGrpcTap(portOf(on, 'grpc'), hint === 'without'),
  hint: 'RetryInfo',
  hints: ['with', 'without'],
  stored: { status: 0, name: 'OK' },
  unavailable: { status: 14, name: 'UNAVAILABLE' },
  limited: { status: 8, name: 'RESOURCE_EXHAUSTED' },
};
