/**
 * The services that run in this process. `afterAll` does nothing when it is called in a test or in `beforeAll`, so a service that is
 * started there and not stopped would go on, with its timers, connections and jobs, in the files that share the process.
 */
const stops = new Set<() => Promise<void>>()

/** @returns stops the service, once */
export function untilStopped(end: () => Promise<void>): () => Promise<void> {
  let stopped: Promise<void> | undefined
  const stop = () => {
    stops.delete(stop)
    stopped ??= end()
    return stopped
  }
  stops.add(stop)
  return stop
}

/** Stops those that still run. */
export async function stopRunningApps(): Promise<void> {
  await Promise.all([...stops].map((stop) => stop()))
}
