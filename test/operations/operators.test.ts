import { afterAll } from 'vitest';
import { sharedStack } from './operators/stack.ts';

// The tools of operators, in rooms of one stack. Figures are checked to the item before anything else is sent, and
// transfer is stopped after all tests that need it.
import './operators/metrics.ts';
import './operators/dashboards.ts';
import './operators/questions.ts';
import './operators/doctor.ts';

afterAll(async () => (await sharedStack()).stop());
