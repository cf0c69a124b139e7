const lookEveryMs = 500;

/**
 * The same stream, which ends within a second after `isAllowed` says no: an endless answer has to end with the token or the
 * session that began it. A question that fails (NATS is away) ends nothing.
 */
export const whileAllowed = <T>(
  stream: ReadableStream<T>,
  isAllowed: () => Promise<boolean>,
): ReadableStream<T> => {
  const reader = stream.getReader();
  let timer: NodeJS.Timeout;
  let isEnded = false;
  const stop = async (reason: unknown): Promise<void> => {
    clearInterval(timer);
    await reader.cancel(reason);
  };
  return new ReadableStream<T>({
    start: (controller) => {
      const look = async (): Promise<void> => {
        if (isEnded || (await isAllowed().catch(() => true))) return;
        isEnded = true;
        controller.close();
        await stop('the caller is no longer allowed to read');
      };
      timer = setInterval(() => void look().catch(() => undefined), lookEveryMs).unref();
    },
    pull: async (controller) => {
      const { done, value } = await reader.read().catch((error: unknown) => {
        clearInterval(timer);
        throw error;
      });
      if (!done) return controller.enqueue(value);
      clearInterval(timer);
      if (!isEnded) controller.close();
    },
    cancel: stop,
  });
};
