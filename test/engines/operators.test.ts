import { afterAll } from 'vitest';
import { sharedStack } from './operators/stack.ts';

// What operators look at, in rooms of one stack. Figures are judged to the item before anything else is sent, and transfer is
// stopped after all that needs it.
import './operators/metrics.ts';
import './operators/dashboards.ts';
import './operators/questions.ts';
import './operators/doctor.ts';

afterAll(async () => (await sharedStack()).stop());
