// Rooms of one NATS server, which is emptied before each test.
import './refresh-http/runs.ts';
import './refresh-http/restores.ts';
import './refresh-http/failures.ts';
import './refresh-http/kills.ts';
import './refresh-http/node-program.ts';
