/** @returns the value of the promise, or `late` if it takes longer than the limit. The work behind the promise is not cancelled. */
export async function withinTime<Value>(promise: Promise<Value>, limitMs: number, late: Value): Promise<Value> {
  const { promise: timeout, resolve } = Promise.withResolvers<Value>()
  const timer = setTimeout(() => resolve(late), limitMs)
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer))
}
