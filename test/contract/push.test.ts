import { afterAll } from 'vitest';
import { sharedPushStack } from '../support/push/stack.ts';

// Rooms of one stack. The counters of all of them have to agree after those of points.
import './push/points.ts';
import './push/rows.ts';
import './push/bodies.ts';
import './push/clients.ts';

afterAll(async () => (await sharedPushStack()).stop());
