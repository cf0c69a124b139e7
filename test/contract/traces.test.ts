import { afterAll } from 'vitest';
import { sharedTraceStack } from '../support/otlp/trace-stack.ts';

// Rooms of one stack.
import './traces/spans.ts';
import './traces/raw.ts';
import './traces/shell.ts';
import './traces/grpc.ts';
import './traces/logs.ts';
import './traces/metrics.ts';

afterAll(async () => (await sharedTraceStack()).stop());
