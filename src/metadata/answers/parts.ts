import { z } from 'zod';

// What several answers have.

export const count = z.int();
export const period = { since: count, until: count };
