import { afterAll } from 'vitest';
import { stopSharedStack } from './pages/stack.ts';

// What the pages of the console read, in rooms of one stack, each with data ids of its own.
import './pages/outcomes.ts';
import './pages/activity.ts';
import './pages/tables.ts';
import './pages/diagnosis.ts';
import './pages/retention.ts';
import './pages/snippets.ts';

afterAll(stopSharedStack);
