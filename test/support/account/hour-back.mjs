// Loaded into a process before its program: its clock is an hour late.
const present = Date.now.bind(Date);
const lateMs = 3_600_000;
Date.now = () => present() - lateMs;
globalThis.Date = new Proxy(Date, {
  construct: (Real, given) => (given.length === 0 ? new Real(present() - lateMs) : new Real(...given)),
});
