/**
 * Loaded before the service by `node --import`: shifts the clock of this process by as many milliseconds as a message of the parent
 * process says. Timers run on, as they do when the clock of a machine is set.
 */
const RealDate = Date
let shiftMs = 0
const now = () => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, newTarget) => Reflect.construct(target, args.length ? args : [now()], newTarget),
  get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
})

process.on('message', (message: { shiftMs?: number }) => {
  if (typeof message.shiftMs === 'number') shiftMs = message.shiftMs
})
// If the trial itself is killed, nothing of it goes on.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// The channel alone should not keep the process alive.
process.channel?.unref()
