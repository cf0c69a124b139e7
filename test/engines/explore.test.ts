// Queries of stored points and traces, in rooms of one stack.
import './explore/points.ts';
import './explore/traces.ts';
import './explore/limits.ts';
import './explore/sending.ts';
