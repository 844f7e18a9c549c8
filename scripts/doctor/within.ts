/** Servers that take connections and never answer would otherwise keep the doctor waiting for ever. */

/**
 * Runs `work` with a limit on its time.
 * @param work gets a signal that aborts at the limit, to end what it has begun
 * @throws Error at the limit, also if `work` heeds no signal; what `work` throws
 */
export async function within<T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`no answer within ${limitMs / 1000} s`)
    // The abort would reject `work` first, with a text that says less.
    reject(error)
    limit.abort(error)
  }, limitMs)
  try {
    return await Promise.race([work(limit.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
