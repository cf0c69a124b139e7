import { afterAll } from 'vitest';
import { sharedStack } from './metadata/stack.ts';

// Rooms of one stack. The export comes first, while there is little to bring over.
import './metadata/changes.ts';
import './metadata/api.ts';
import './metadata/texts.ts';
import './metadata/record-docs.ts';
import './metadata/openapi.ts';
import './metadata/ports.ts';
import './metadata/zipped.ts';

afterAll(async () => (await sharedStack()).stop());
