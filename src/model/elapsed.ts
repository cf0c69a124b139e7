/** Wall clocks of machines are corrected by less than this without it being a step, ms. */
const stepMin = 1_000;

/**
 * A clock for how long something has been left alone, in ms. It never goes back, even if the wall clock does, and it moves on by the
 * time that a machine slept, which the steady clock of some does not count. A wall clock that is set ahead moves it on, too: what is taken
 * for older than it is comes again and is looked at, which costs time and nothing else.
 */
export const createElapsed = (
  wall: () => number = Date.now,
  steady: () => number = () => performance.now(),
): (() => number) => {
  let origin = wall() - steady();
  let ahead = 0;
  return () => {
    const now = steady();
    const drift = wall() - now - origin;
    if (drift > ahead) ahead = drift;
    // It was set back: from here on it counts from there.
    else if (drift < ahead - stepMin) origin += drift - ahead;
    return now + ahead;
  };
};
