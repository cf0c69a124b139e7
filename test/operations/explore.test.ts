// Queries of stored points, traces and logs, in rooms of one stack.
import './explore/points.ts';
import './explore/more-dimensions.ts';
import './explore/large-values.ts';
import './explore/traces.ts';
import './explore/logs.ts';
import './explore/red.ts';
import './explore/metrics.ts';
import './explore/limits.ts';
import './explore/sending.ts';
