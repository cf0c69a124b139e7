/** Wall clocks of machines are corrected by less than this without it being a step, ms. */
const stepMin = 1_000;

/**
 * A clock for the time since a thing was last handled, in ms. It never goes back, even if the wall clock does, and it
 * includes the time that a machine slept, which some steady clocks omit. A wall clock that is set ahead advances it
 * too: things then seem older than they are and are handled again, which costs only time.
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
