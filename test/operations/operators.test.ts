import { afterAll } from 'vitest';
import { stopSharedStack } from './operators/stack.ts';

// The tools of operators, in rooms of one stack. Figures are checked to the item before anything else is sent.
import './operators/metrics.ts';
import './operators/dashboards.ts';

afterAll(stopSharedStack);
