// Loaded into a process before its program: its clock is an hour early.
const present = Date.now.bind(Date);
const aheadMs = 3_600_000;
Date.now = () => present() + aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (Real, given) => (given.length === 0 ? new Real(present() + aheadMs) : new Real(...given)),
});
