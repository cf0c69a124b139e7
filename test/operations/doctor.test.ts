import { afterAll } from 'vitest';
import { stopSharedStack } from './operators/stack.ts';

// What operators ask when something is wrong, in rooms of one stack whose account adds up. Transfer is stopped after all tests that need it.
import './operators/questions.ts';
import './operators/doctor.ts';

afterAll(stopSharedStack);
