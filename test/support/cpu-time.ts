/** Measures work by the CPU that it takes, which other programs on the machine hardly change, unlike the time that passes. */

/** @returns the CPU time of this thread since the call, in milliseconds */
export function cpuTime(): () => number {
  const before = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1_000
  }
}
